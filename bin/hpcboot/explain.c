/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot explain: which way a collective of so many bytes would take among
 * the ranks of this host, or between hosts (explain_net.c), what each way is
 * expected to cost, and why the one was chosen. Asks the same functions as
 * libhpcboot does; starts nothing. */

#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/doctor/doctor.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/explain.h"
#include "bin/job/verdict.h"
#include "lib/base/log.h"
#include "lib/coll/model.h"
#include "lib/coll/net_explain.h"

#define BYTES_MOST (UINT64_C(1) << 40)
#define RANKS_MOST 1024 /* of a team on one host */
#define HOSTS_MOST 65536
#define RANKS_OF_ALL 1048576
#define MBPS_MOST 100000000
#define PATH_ROOM 4096

struct wanted {
    const char *coll, *bytes, *ranks, *cpus, *nodes, *network, *mbps;
    int alloc, typical, pods;
};
#define AT(f) offsetof(struct wanted, f)

static const char *network_name(size_t i)
{
    return i <= HB_COLL_NET_SOFT ? hb_net_kind_name((enum hb_coll_net_kind)i)
                                 : NULL;
}

static const struct hb_arg args[] = {
    {"bytes n", "SIZE", "bytes of the vector, or of one block (8)", AT(bytes),
     NULL},
    {"ranks", "RANKS", "so many ranks on this host, or on each (2)", AT(ranks),
     NULL},
    {"cpus", "CPUS", "CPUs they have together (those of this host)", AT(cpus),
     NULL},
    {"alloc", NULL, "buffers of hpcboot_alloc", AT(alloc), NULL},
    {"nodes", "HOSTS", "the choice between so many hosts", AT(nodes), NULL},
    {"network", "KIND", "tcp, rdma, or soft: by the kernel (as this host has)",
     AT(network), network_name},
    {"mbps", "RATE", "which carries so many Mb/s (as this host's devices)",
     AT(mbps), NULL},
    {"pods", NULL, "they are pods of one machine, which has the CPUs",
     AT(pods), NULL},
    {"typical", NULL, "figures of a typical machine, not of this one",
     AT(typical), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    static char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "COLLECTIVE: one of");

    for (int k = 0; k < HPCBOOT_COLLS; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s",
                              k == 0 ? "" : ",", k % 5 == 0 ? "\n  " : " ",
                              hb_coll_name(k));
    }
    snprintf(text + n, sizeof text - n, "\n");
    return text;
}

static const char *collective_name(size_t i)
{
    return i < HPCBOOT_COLLS ? hb_coll_name((enum hpcboot_coll)i) : NULL;
}

/* `such`: "" or an example of what else is understood. */
static int number(const char *option, const char *text, uint64_t most,
                  const char *such, uint64_t *out, struct hpcboot_error *err)
{
    if (text == NULL) {
        return HPCBOOT_OK;
    }
    if (hb_model_bytes(text, strlen(text), out) < 0 || *out > most ||
        *out < 1) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s %s: expected a number from "
                       "1 to %llu%s", option, text,
                       (unsigned long long)most, such);
    }
    return HPCBOOT_OK;
}

static int no_collective(const char *word, struct hpcboot_error *err)
{
    const char *names[HPCBOOT_COLLS];

    if (word == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "the collective is missing; "
                       "hpcboot explain --help lists them");
    }
    for (int k = 0; k < HPCBOOT_COLLS; k++) {
        names[k] = hb_coll_name((enum hpcboot_coll)k);
    }
    return hb_args_no_such("collective", word, names, HPCBOOT_COLLS,
                           "hpcboot explain --help", err);
}

/* What was said, and decides nothing about what is asked. */
static int check_words(const struct wanted *w,
                       const struct explain_question *q,
                       struct hpcboot_error *err)
{
    int rc = 0;

    if (q->coll == HPCBOOT_COLL_BARRIER) {
        rc = hb_args_go_with(args, w, "bytes alloc", "a collective that has "
                             "bytes", err);
    }
    if (rc == 0 && q->nodes == 1) {
        rc = hb_args_go_with(args, w, "network mbps pods", "--nodes, two or "
                             "more", err);
    }
    if (rc == 0 && q->nodes > 1) {
        rc = hb_args_go_with(args, w, "alloc", "the choice on one host, "
                             "without --nodes", err);
    }
    if (rc == 0 && q->nodes > 1 && !q->pods) {
        rc = hb_args_go_with(args, w, "cpus", "--pods where there is --nodes",
                             err);
    }
    return rc;
}

static int read_hosts(const struct wanted *w, struct explain_question *q,
                      struct hpcboot_error *err)
{
    int rc = number("--nodes", w->nodes, HOSTS_MOST, "", &q->nodes, err);

    rc = rc < 0 ? rc : number("--mbps", w->mbps, MBPS_MOST, "", &q->mbps, err);
    if (rc == 0 && q->nodes * q->ranks > RANKS_OF_ALL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%llu hosts of %llu ranks: there "
                     "may be %d ranks in all", (unsigned long long)q->nodes,
                     (unsigned long long)q->ranks, RANKS_OF_ALL);
    }
    return rc < 0 ? rc : check_words(w, q, err);
}

static int read_question(const struct wanted *w, struct explain_question *q,
                         struct hpcboot_error *err)
{
    int coll = 0, rc;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    *q = (struct explain_question){
        .bytes = 8, .ranks = 2, .nodes = 1, .alloc = w->alloc,
        .network = w->network, .pods = w->pods, .typical = w->typical,
        .cpus = online > 0 ? (uint64_t)online : 1};
    while (coll < HPCBOOT_COLLS &&
           (w->coll == NULL || strcmp(w->coll, hb_coll_name(coll)) != 0)) {
        coll++;
    }
    if (coll == HPCBOOT_COLLS) {
        return no_collective(w->coll, err);
    }
    q->coll = coll;
    rc = number("--bytes", w->bytes, BYTES_MOST, ", such as 64 or 1M",
                &q->bytes, err);
    rc = rc < 0 ? rc : number("--ranks", w->ranks, RANKS_MOST, "", &q->ranks,
                              err);
    rc = rc < 0 ? rc : number("--cpus", w->cpus, RANKS_MOST, "", &q->cpus, err);
    return rc < 0 ? rc : read_hosts(w, q, err);
}

/* `refused`: errno with which the kernel refuses ranks. */
static void show_cma(const struct hb_coll_model *m, int refused)
{
    if (refused != 0) {
        printf("  through the kernel: ranks may not read each other here: %s "
               "(hpcboot doctor)\n", strerror(refused));
    } else if (m->cma_ns > 0 && m->cma_ps > 0) {
        printf("  through the kernel: a call %u ns, %.1f GB/s\n", m->cma_ns,
               1000.0 / m->cma_ps);
    } else if (m->source != HB_MODEL_TYPICAL) {
        printf("  through the kernel: not measured, so never\n");
    }
}

static void show_figures(const struct hb_coll_model *m, const char *path,
                         int refused)
{
    static const char *const sources[] = {
        [HB_MODEL_TYPICAL] = "of a typical machine",
        [HB_MODEL_KEPT] = "of this machine, kept in ",
        [HB_MODEL_PROBED] = "of this machine, measured now, kept in ",
    };
    bool kept = m->source != HB_MODEL_TYPICAL;

    printf("figures %s%s\n", sources[m->source],
           !kept ? "" : *path != '\0' ? path : "no file");
    printf("  a round %u ns; on a shared core %u ns for each rank\n",
           m->round_ns, m->switch_ns);
    printf("  GB/s: put %.1f, get %.1f, both at once %.1f, fold %.1f, "
           "copy %.1f\n", 1000.0 / m->put_ps, 1000.0 / m->get_ps,
           1000.0 / m->stream_ps, 1000.0 / m->fold_ps, 1000.0 / m->copy_ps);
    show_cma(m, refused);
    if (m->send_ns > 0 && m->recv_ns > 0) {
        printf("  between hosts, a short message by TCP: %u ns to send, %u ns "
               "to receive\n", m->send_ns, m->recv_ns);
    }
}

void explain_subject(const struct explain_question *q)
{
    printf("%s, ", hb_coll_name(q->coll));
    if (q->coll != HPCBOOT_COLL_BARRIER) {
        printf("%llu bytes, ", (unsigned long long)q->bytes);
    }
}

static void show_row(const struct hb_candidate *c)
{
    char piece[24] = "-";

    if (c->piece != 0) {
        snprintf(piece, sizeof piece, "%zu", c->piece);
    }
    printf("%-8s %7s %8llu %12.2f%s\n", hb_way_name(c->way), piece,
           (unsigned long long)c->rounds, c->ns / 1000,
           c->chosen ? "  chosen" : "");
}

static void show_reason(const struct hb_coll_model *m,
                        const struct explain_question *q,
                        const struct hb_candidate *c, size_t n)
{
    const struct hb_candidate *chosen = NULL, *second = NULL;

    for (size_t i = 0; i < n; i++) {
        chosen = c[i].chosen ? &c[i] : chosen;
    }
    for (size_t i = 0; chosen != NULL && i < n; i++) {
        if (&c[i] != chosen && (second == NULL || c[i].ns < second->ns)) {
            second = &c[i];
        }
    }
    if (chosen == NULL) {
        return;
    }
    printf("\n%s: %s; ", hb_way_name(chosen->way), hb_way_text(chosen->way));
    if (hb_model_choose(m, q->coll, (int)q->ranks, q->bytes).ruled) {
        printf("a rule of HPCBOOT_COLL_TUNE says so\n");
    } else if (second == NULL) {
        printf("there is no other way\n");
    } else if (second->ns <= chosen->ns) {
        printf("no other is cheaper\n");
    } else {
        printf("the next would cost %.2f us more\n",
               (second->ns - chosen->ns) / 1000);
    }
}

static void show(struct hb_coll_model *m, const struct explain_question *q,
                 const char *path)
{
    struct hb_candidate c[HB_CANDIDATES];
    size_t n;
    int refused = q->typical ? 0 : hb_exam_ranks_read();

    explain_subject(q);
    printf("%llu rank%s on %llu CPU%s\n",
           (unsigned long long)q->ranks, q->ranks == 1 ? "" : "s",
           (unsigned long long)q->cpus, q->cpus == 1 ? "" : "s");
    show_figures(m, path, refused);
    m->cma_ns = refused != 0 ? 0 : m->cma_ns;
    if (q->ranks == 1) {
        printf("\na rank alone copies, if at all\n");
        return;
    }
    printf("\n%-8s %7s %8s %12s\n", "way", "piece", "rounds", "predicted us");
    n = hb_model_candidates(m, q->coll, (int)q->ranks, q->bytes, q->alloc, c);
    for (size_t i = 0; i < n; i++) {
        show_row(&c[i]);
    }
    show_reason(m, q, c, n);
}

static int explain_on_host(const struct wanted *w,
                           const struct explain_question *q,
                           struct hpcboot_error *err)
{
    struct hb_coll_model m;
    char path[PATH_ROOM] = "";
    int rc = 0;

    if (q->typical) {
        hb_model_typical(&m);
    } else {
        rc = hb_model_here(&m, true, path, sizeof path, err);
    }
    if (rc < 0) {
        return rc;
    }
    if (!q->typical) {
        hb_coll_net_costs(true, &m.send_ns, &m.recv_ns);
    }
    m.cpus = w->cpus != NULL || m.cpus == 0 ? (uint32_t)q->cpus : m.cpus;
    show(&m, q, path);
    return 0;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct explain_question q;
    struct hpcboot_error err;
    int rc = hb_command_scan(self, &w, argc, argv);

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    rc = read_question(&w, &q, &err);
    if (rc == 0) {
        rc = q.nodes > 1 ? explain_between_hosts(&q, &err)
                         : explain_on_host(&w, &q, &err);
    }
    if (rc < 0) {
        hb_log(HB_ERROR, "explain: %s", err.text);
        return HB_EXIT_USAGE;
    }
    return 0;
}

const struct hb_command hb_command_explain = {
    .name = "explain",
    .summary = "show which way a collective takes here, and why",
    .operand = "COLLECTIVE",
    .operand_at = AT(coll),
    .operand_name = collective_name,
    .args = args,
    .more = more,
    .run = run,
};
