/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What Hydra says in words of its own of hosts, and of where ranks are inside
 * of them. Its --bind-to says what they are bound to, and its --map-by in which
 * order they are dealt to cores; neither says on which host a rank is. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/base/str.h"

static const struct {
    const char *hydra, *ours;
} hydra_binds[] = {
    {"none", "none"},       {"hwthread", "hwthread"}, {"core", "core"},
    {"socket", "package"},  {"board", "package"},     {"package", "package"},
    {"numa", "numa"},       {"machine", "none"},      {"rr", "hwthread"},
    {"l1cache", "l1cache"}, {"l2cache", "l2cache"},   {"l3cache", "l3cache"},
};

/* core:N, hwthread:N: so many of them for each rank. */
static int bind_several(struct hb_scan *s, const char *object,
                        const char *count, struct hpcboot_error *err)
{
    int rc = hb_opt_apply_key(s, "cpus-per-rank", count, err);

    if (rc >= 0 && !strcmp(object, "hwthread")) {
        rc = hb_opt_apply_key(s, "use-hwthread-cpus", "yes", err);
    }
    return rc < 0 ? rc : hb_opt_apply_key(s, "bind-to", object, err);
}

HB_SETTER(bind_hydra)
{
    size_t len = strcspn(values[0], ":");
    const char *count = values[0][len] ? values[0] + len + 1 : "1";

    for (size_t i = 0; i < sizeof hydra_binds / sizeof hydra_binds[0]; i++) {
        const char *ours = hydra_binds[i].ours;

        if (strlen(hydra_binds[i].hydra) != len ||
            strncmp(values[0], hydra_binds[i].hydra, len) != 0) {
            continue;
        }
        if (!strcmp(count, "1")) {
            return hb_opt_apply_key(s, "bind-to", ours, err);
        }
        if (!strcmp(ours, "core") || !strcmp(ours, "hwthread")) {
            return bind_several(s, ours, count, err);
        }
    }
    return hb_opt_bad(s, err,
                      "\"%s\" is not known; none, core, hwthread, core:N, "
                      "hwthread:N, socket, numa are", values[0]);
}

/* One object. Of several (socket:2), and what Hydra alone knows, it does
 * without. */
HB_SETTER(map_hydra)
{
    static const char *const objects[] = {
        "hwthread", "core", "socket", "package", "numa", "l1cache", "l2cache",
        "l3cache",
    };

    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        if (hb_streq(values[0], objects[i])) {
            hb_opt_replace(&s->o->map_inside, values[0]);
            return 0;
        }
    }
    hb_opt_warn(s, "%s %s is ignored: hwthread, core, l1cache, l2cache, "
                "l3cache, numa and socket are known", s->spelling, values[0]);
    return 0;
}

/* MPICH's is a list of hosts, and Intel MPI's a file of them. */
HB_SETTER(machine)
{
    struct stat st;
    int is_file = stat(values[0], &st) == 0 && !S_ISDIR(st.st_mode);

    return hb_opt_apply_key(s, is_file ? "hostfile" : "host", values[0], err);
}
