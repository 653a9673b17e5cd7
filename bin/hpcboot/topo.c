/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot topo: what this host looks like inside, what of it this container
 * may use, and where ranks would be. Nobody is contacted. The machine is read
 * whole, so that what is not allowed can be shown too; ranks are placed on the
 * allowed part, as an agent would. topo_view.c writes it down. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/result.h"
#include "bin/hpcboot/topo_view.h"
#include "bin/job/verdict.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/gpu_share.h"

extern char **environ;

struct wanted {
    const char *format, *output, *machine, *np, *map_by, *rank_by, *bind_to;
    int fabric;
};
#define AT(f) offsetof(struct wanted, f)

static const char *format_name(size_t i)
{
    static const char *const names[] = {"text", "json", "svg", "png"};

    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const struct hb_arg args[] = {
    {"format f", "FORM", "text, json, svg or png", AT(format), format_name},
    {"output o", "FILE", "write to FILE, in one step", AT(output), NULL},
    {"machine", "FILE", "hwloc's XML, synthetic:..., or a captured directory",
     AT(machine), NULL},
    {"np n", "N", "show where N ranks would be", AT(np), NULL},
    {"map-by", "POLICY", "as hbrun's", AT(map_by), NULL},
    {"rank-by", "ORDER", "as hbrun's", AT(rank_by), NULL},
    {"bind-to", "OBJECT", "as hbrun's", AT(bind_to), NULL},
    {"fabric", NULL, "also RDMA and net devices, GPUs, what may be opened",
     AT(fabric), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

/* The directory of a captured system, "" for this one, NULL: there is none. */
static const char *root_of(const char *machine)
{
    struct stat st;

    if (machine == NULL) {
        return "";
    }
    return stat(machine, &st) == 0 && S_ISDIR(st.st_mode) ? machine : NULL;
}

/* Without a system to ask everything is allowed. */
static void allow_all(struct hb_topo_view *v)
{
    hb_cpus_zero(&v->cpus);
    for (uint32_t i = 0; i < v->machine->n_pus; i++) {
        hb_cpus_add(&v->cpus, v->machine->pu_os[i]);
    }
    v->allowed.pus = v->machine->n_pus;
    v->allowed.cores = v->machine->level[HB_TOPO_CORE].n;
    v->allowed.slots = v->allowed.cores;
    snprintf(v->allowed.origin, sizeof v->allowed.origin,
             "%u core%s, all of the machine", v->allowed.cores,
             v->allowed.cores == 1 ? "" : "s");
}

/* GPUs that a job would have here. */
static void cut_gpus(struct hb_topo *topo)
{
    struct hb_strv env = HB_STRV_INIT;

    hb_strv_extend(&env, environ);
    hb_gpus_cut(topo, "");
    hb_gpus_keep_listed(topo, &env);
    hb_strv_destroy(&env);
}

static int look(const struct wanted *w, struct hb_topo_view *v,
                struct hpcboot_error *err)
{
    const char *root = root_of(w->machine);
    char *xml = root != NULL && root[0] != '\0'
                    ? hb_xasprintf("%s/topology.xml", root) : NULL;
    struct hb_topo_request req = {
        .source = xml != NULL ? xml : w->machine, .devices = 1};
    int rc = hb_topo_load(&req, &v->machine, err);

    free(xml);
    if (rc >= 0 && w->machine == NULL) {
        cut_gpus(v->machine);
    }
    if (rc >= 0 && w->fabric && root != NULL) {
        v->with_fabric = 1;
        hb_fabric_read(root, 1, &v->fabric, &v->differences);
    }
    if (rc >= 0 && root == NULL) {
        allow_all(v);
    } else if (rc >= 0) {
        rc = hb_allowed_cpus(root, &v->cpus, err);
        if (rc >= 0) {
            rc = hb_topo_allowed(root, &v->allowed, err);
        }
    }
    return rc < 0 ? rc : hb_topo_restrict(v->machine, &v->cpus, &v->part, err);
}

/* As a job would that has this host alone. */
static int check_map(const struct hb_map_policy *map,
                     const struct hb_bind_policy *bind, uint32_t np,
                     const struct hb_topo_view *v, struct hpcboot_error *err)
{
    const struct hb_map_app app = {.np = np, .program = "the job"};
    struct hb_map_host here = {
        .name = "here", .slots = v->allowed.slots,
        .origin = v->allowed.origin,
    };
    struct hb_jobmap *job = NULL;
    uint32_t *host_of_node = NULL;
    int rc;

    if (map->by == HB_MAP_RANKFILE || map->by == HB_MAP_SEQ) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--map-by %s: it puts the ranks "
                       "of a job on hosts, and here is one: see hbrun "
                       "--dry-run", map->by == HB_MAP_SEQ ? "seq" : "rankfile");
    }
    if (hb_map_needs_inside(map)) {
        here.objects = hb_bind_objects(bind, v->part);
        here.room = hb_bind_room(bind, v->part);
    }
    rc = hb_map_ranks(map, &here, 1, &app, 1, &job, &host_of_node, err);
    hb_jobmap_destroy(job);
    free(host_of_node);
    return rc;
}

static int place(const struct wanted *w, struct hb_topo_view *v,
                 struct hpcboot_error *err)
{
    struct hb_map_policy map = {0};
    struct hb_bind_policy bind = {0};
    uint64_t np;
    int rc = 0;

    if (w->np == NULL) {
        return hb_args_go_with(args, w, "map-by rank-by bind-to", "--np", err);
    }
    if (hb_parse_u64(w->np, 1, HB_MAX_CPUS, &np) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--np %s: expected a number "
                       "from 1 to %u", w->np, HB_MAX_CPUS);
    }
    if (w->map_by != NULL) {
        rc = hb_map_by_parse(w->map_by, &map, err);
    }
    if (rc >= 0 && w->rank_by != NULL) {
        rc = hb_rank_by_parse(w->rank_by, &map, err);
    }
    if (rc >= 0) {
        rc = hb_bind_to_parse(w->bind_to, &bind, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_bind_policy_map(&bind, &map);
    rc = check_map(&map, &bind, (uint32_t)np, v, err);
    if (rc < 0) {
        return rc;
    }
    v->n_ranks = (uint32_t)np;
    return hb_bind_plan(&bind, v->part, v->allowed.quota_milli, v->n_ranks,
                        &v->plan, err);
}

/* The exit status; *err where it is not 0. */
static int write_view(const struct wanted *w, const struct hb_topo_view *v,
                      struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_drawing drawing = {0};
    struct hb_buf png;
    int status = 0, rc;

    hb_buf_init(&png, HB_DRAWING_BYTES_MAX);
    if (hb_streq(w->format, "json")) {
        hb_topo_view_json(v, &text);
    } else if (hb_streq(w->format, "svg")) {
        hb_topo_view_draw(v, &drawing);
        hb_drawing_svg(&drawing, &text);
    } else if (hb_streq(w->format, "png")) {
        hb_topo_view_draw(v, &drawing);
        status = hb_drawing_png(&drawing, &png, err) < 0 ? HB_EXIT_USAGE : 0;
    } else {
        hb_topo_view_text(v, &text);
    }
    if (status == 0) {
        rc = png.len > 0
            ? hb_result_write(w->output, (const char *)png.data, png.len, err)
            : hb_result_write(w->output, hb_str_text(&text), text.len, err);
        status = rc < 0 ? HB_EXIT_OUTPUT : 0;
    }
    hb_buf_destroy(&png);
    hb_str_destroy(&text);
    hb_drawing_destroy(&drawing);
    return status;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_topo_view v = {0};
    struct hpcboot_error err = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status = HB_EXIT_USAGE;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (w.machine != NULL) {
        snprintf(v.name, sizeof v.name, "%s", w.machine);
    } else if (gethostname(v.name, sizeof v.name - 1) != 0) {
        snprintf(v.name, sizeof v.name, "this host");
    }
    if (w.fabric && root_of(w.machine) == NULL) {
        rc = hb_fail(&err, HPCBOOT_ERR_USAGE, "--fabric goes with this host "
                     "or a captured directory; %s tells of no fabric",
                     w.machine);
    } else {
        rc = look(&w, &v, &err);
    }
    if (rc >= 0) {
        rc = place(&w, &v, &err);
    }
    if (rc >= 0) {
        status = write_view(&w, &v, &err);
    }
    if (status != 0) {
        hb_log(HB_ERROR, "topo: %s", err.text);
    }
    hb_bind_plan_destroy(&v.plan);
    hb_topo_destroy(v.machine);
    hb_topo_destroy(v.part);
    hb_fabric_clear(&v.fabric);
    hb_strv_destroy(&v.differences);
    return status;
}

const struct hb_command hb_command_topo = {
    .name = "topo",
    .summary = "show this host's inside, and where ranks would be",
    .args = args,
    .run = run,
};
