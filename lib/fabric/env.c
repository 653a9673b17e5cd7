/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The choice in the words of each library.
 *
 * A row is a variable, for which kinds it is set, and what makes its value;
 * NULL as a value: not this time. What the user has set stays. UCX and
 * libhpcboot are told the rails of the rank; NCCL all of the host, as it knows
 * its GPUs better; a GID index is told where one index fits all rails named
 * beside it, else the library looks for itself.
 *
 * Open MPI's UCX component takes devices it does not know only when told to,
 * and without it Open MPI would open the ports by an older component. MPICH is
 * told through UCX and libfabric, whichever it was built with. Naming devices
 * to UCX keeps it off all others, TCP's as well. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/fabric/choose.h"

#define KIND_VAR "HPCBOOT_FABRIC"
#define NO_OTHER_BTLS "^openib,uct,ofi,usnic,portals4"

struct value_of {
    const struct hb_wiring *w;
    const struct hb_rails_of *mine;
    const struct hb_strv *env;
};

/* NAME:PORT of rails, behind a prefix; NULL: none. */
static char *devices(const struct hb_wiring *w, const uint32_t *v, uint32_t n,
                     const char *prefix)
{
    struct hb_str o = HB_STR_INIT;

    for (uint32_t i = 0; i < n; i++) {
        const struct hb_rail *r = &w->rails[v != NULL ? v[i] : i];
        hb_str_putf(&o, "%s%s:%u", i > 0 ? "," : prefix, r->device, r->port);
    }
    return n > 0 ? hb_str_steal(&o) : NULL;
}

static char *gid_index(const struct hb_wiring *w, const uint32_t *v,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (w->rails[v != NULL ? v[i] : i].gid_index !=
            w->rails[v != NULL ? v[0] : 0].gid_index) {
            return NULL;
        }
    }
    return n > 0 ? hb_xasprintf("%u", w->rails[v != NULL ? v[0] : 0].gid_index)
                 : NULL;
}

static char *of_kind(const struct value_of *o)
{
    return hb_xstrdup(hb_fabric_kind_name(o->w->kind));
}

/* A kind that the rank's environment names on its own stays a demand. */
static char *of_wish(const struct value_of *o)
{
    return hb_env_get(o->env, KIND_VAR) != NULL ? NULL
           : o->w->is_found ? hb_xstrdup("auto")
           : o->w->is_named ? hb_xstrdup("device") : NULL;
}

static char *my_devices(const struct value_of *o)
{
    return devices(o->w, o->mine->v, o->mine->n, "");
}

static char *my_first(const struct value_of *o)
{
    return o->mine->n > 0 ? hb_xstrdup(o->w->rails[o->mine->v[0]].device)
                          : NULL;
}

/* A device that libfabric alone can use, as Open MPI does by its component of
 * that name, is not to be lost because verbs cannot: only a demand for TCP
 * keeps libraries off it. */
static char *unless_other(const struct value_of *o, const char *value)
{
    return o->w->has_other && o->w->is_found ? NULL : hb_xstrdup(value);
}

static char *tcp_provider(const struct value_of *o)
{
    return unless_other(o, "tcp");
}

static char *tcp_pml(const struct value_of *o)
{
    return unless_other(o, "ob1");
}

static char *tcp_btls(const struct value_of *o)
{
    return unless_other(o, NO_OTHER_BTLS);
}

static char *my_gid(const struct value_of *o)
{
    return gid_index(o->w, o->mine->v, o->mine->n);
}

/* The same for all of them (agree.c). */
static char *my_partition(const struct value_of *o)
{
    for (uint32_t i = 0; i < o->mine->n; i++) {
        uint32_t partition = o->w->rails[o->mine->v[i]].partition;

        if (partition != 0) {
            return hb_xasprintf("0x%x", partition);
        }
    }
    return NULL;
}

/* NCCL takes a partition by its place in a port's table, which differs from
 * port to port: it keeps to TCP, unless the user has told it. */
static char *no_nccl_partition(const struct value_of *o)
{
    for (uint32_t i = 0; i < o->w->n_rails; i++) {
        if (o->w->rails[i].partition != 0 &&
            hb_env_get(o->env, "NCCL_IB_PKEY") == NULL) {
            return hb_xstrdup("1");
        }
    }
    return NULL;
}

static char *all_devices(const struct value_of *o)
{
    return devices(o->w, NULL, o->w->n_rails, "=");
}

static char *all_gid(const struct value_of *o)
{
    return gid_index(o->w, NULL, o->w->n_rails);
}

static char *family(const struct value_of *o)
{
    return hb_xstrdup(o->w->is_ipv6 ? "AF_INET6" : "AF_INET");
}

static char *tcp(const struct value_of *o)
{
    return o->w->tcp[0] != '\0' ? hb_xstrdup(o->w->tcp) : NULL;
}

static char *tcp_exact(const struct value_of *o)
{
    return o->w->tcp[0] != '\0' ? hb_xasprintf("=%s", o->w->tcp) : NULL;
}

static char *no_if_soft(const struct value_of *o)
{
    for (uint32_t i = 0; i < o->mine->n; i++) {
        if (o->w->rails[o->mine->v[i]].is_soft) {
            return hb_xstrdup("n");
        }
    }
    return NULL;
}

#define BIT(kind) (1u << HB_FABRIC_##kind)
#define RDMA (BIT(IB) | BIT(ROCE))
#define ANY (RDMA | BIT(TCP))
static const struct row {
    const char *name;
    unsigned kinds;
    char *(*make)(const struct value_of *o);
    const char *constant; /* where make is NULL */
} rows[] = {
    {"HPCBOOT_FABRIC_WISH", ANY, of_wish, NULL}, /* before the kind is set */
    {KIND_VAR, ANY, of_kind, NULL},
    {"HPCBOOT_FABRIC_DEVICES", RDMA, my_devices, NULL},
    {"HPCBOOT_FABRIC_GID_INDEX", BIT(ROCE), my_gid, NULL},
    {"HPCBOOT_FABRIC_PKEY", BIT(IB), my_partition, NULL},
    {"HPCBOOT_FABRIC_TCP", ANY, tcp, NULL},
    {"UCX_NET_DEVICES", RDMA, my_devices, NULL},
    {"UCX_NET_DEVICES", BIT(TCP), tcp, NULL},
    {"UCX_IB_GID_INDEX", BIT(ROCE), my_gid, NULL},
    {"UCX_IB_PKEY", BIT(IB), my_partition, NULL},
    {"UCX_UD_VERBS_ETH_DGID_CHECK", BIT(ROCE), no_if_soft, NULL},
    {"OMPI_MCA_pml", RDMA, NULL, "ucx"},
    {"OMPI_MCA_opal_common_ucx_tls", RDMA, NULL, "any"},
    {"OMPI_MCA_opal_common_ucx_devices", RDMA, NULL, "any"},
    {"OMPI_MCA_pml", BIT(TCP), tcp_pml, NULL},
    {"OMPI_MCA_btl", RDMA, NULL, NO_OTHER_BTLS},
    {"OMPI_MCA_btl", BIT(TCP), tcp_btls, NULL},
    {"OMPI_MCA_btl_tcp_if_include", ANY, tcp, NULL},
    {"MPIR_CVAR_CH3_NETWORK_IFACE", ANY, tcp, NULL},
    {"FI_PROVIDER", RDMA, NULL, "verbs"},
    {"FI_VERBS_DEVICE_NAME", RDMA, my_first, NULL},
    {"FI_PROVIDER", BIT(TCP), tcp_provider, NULL},
    {"FI_TCP_IFACE", ANY, tcp, NULL},
    {"NCCL_IB_HCA", RDMA, all_devices, NULL},
    {"NCCL_IB_GID_INDEX", BIT(ROCE), all_gid, NULL},
    {"NCCL_IB_ROCE_VERSION_NUM", BIT(ROCE), NULL, "2"},
    {"NCCL_IB_ADDR_FAMILY", BIT(ROCE), family, NULL},
    {"NCCL_IB_DISABLE", BIT(TCP), NULL, "1"},
    {"NCCL_IB_DISABLE", BIT(IB), no_nccl_partition, NULL},
    {"NCCL_SOCKET_IFNAME", ANY, tcp_exact, NULL},
    {"GLOO_SOCKET_IFNAME", ANY, tcp, NULL},
    {"TP_SOCKET_IFNAME", ANY, tcp, NULL},
};

void hb_fabric_env(const struct hb_wiring *w, const struct hb_rails_of *mine,
                   struct hb_strv *env, struct hb_strv *kept)
{
    const struct value_of o = {w, mine, env};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        char *value;

        if ((r->kinds >> w->kind & 1) == 0) {
            continue;
        }
        value = r->make != NULL ? r->make(&o) : hb_xstrdup(r->constant);
        if (value != NULL && hb_env_get(env, r->name) != NULL) {
            if (kept != NULL && strcmp(hb_env_get(env, r->name), value) != 0) {
                hb_strv_push(kept, r->name);
            }
        } else if (value != NULL) {
            hb_env_set(env, r->name, value);
        }
        free(value);
    }
}
