/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Parameters and variables that are meant for another launcher.
 *
 * --mca NAME VALUE means the ranks, unless NAME belongs to a framework of
 * Open MPI's launcher; then mca.def says which option of ours it is, or that
 * it needs none, and any other is noted once. The same parameters come as
 * OMPI_MCA_NAME and PRTE_MCA_NAME from operators, and Hydra's and Intel's
 * variables from theirs; what is wrong in a variable that was not meant for
 * us becomes a warning, never an error. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const struct parameter {
    const char *name, *value; /* NULL: any */
    const char *key;
} parameters[] = {
#define HB_MCA(name, key) {name, NULL, key},
#define HB_MCA_IS(name, value, key) {name, value, key},
#define HB_MCA_COUNT(name, key) {name, "0", NULL}, {name, NULL, key},
#include "bin/cli/mca.def"
#undef HB_MCA
#undef HB_MCA_IS
#undef HB_MCA_COUNT
};
#define N_PARAMETERS (sizeof parameters / sizeof parameters[0])

/* Frameworks that only the launcher has. */
static const char *const launcher_prefixes[] = {
    "plm_",  "orte_", "prte_", "rmaps_", "oob_",    "routed_", "ras_",
    "odls_", "ess_",  "rml_",  "iof_",   "errmgr_", "state_",  "grpcomm_",
    "filem_", "schizo_", "snapc_", "rtc_", "dfs_",  "prtereachable_",
};

/* KEY, KEY=TEXT, KEY=TEXT%TEXT: see mca.def. */
static int apply_key(struct hb_scan *s, const char *key, const char *value,
                     int is_value, struct hpcboot_error *err)
{
    const char *text = strchr(key, '='), *at;
    char *option, *whole;
    int rc;

    if (text == NULL) {
        return hb_opt_apply_key(s, key, value, err);
    }
    at = strchr(++text, '%');
    if (at == NULL && !is_value && hb_opt_bool(value) <= 0) {
        return 0;
    }
    option = hb_xstrndup(key, (size_t)(text - 1 - key));
    whole = at == NULL ? hb_xstrdup(text)
                       : hb_xasprintf("%.*s%s%s", (int)(at - text), text, value,
                                      at + 1);
    rc = hb_opt_apply_key(s, option, whole, err);
    free(option);
    free(whole);
    return rc;
}

static int apply(struct hb_scan *s, const struct parameter *p,
                 const char *value, struct hpcboot_error *err)
{
    const char *outer = s->spelling;
    char *spelling = hb_xasprintf("parameter %s", p->name);
    int rc;

    s->spelling = spelling;
    rc = apply_key(s, p->key, value, p->value != NULL, err);
    s->spelling = outer;
    free(spelling);
    return rc < 0 ? rc : 1;
}

/* The first that has the name and takes the value, or NULL. */
static const struct parameter *find(const char *name, const char *value)
{
    for (size_t i = 0; i < N_PARAMETERS; i++) {
        const struct parameter *p = &parameters[i];

        if (!strcmp(p->name, name) &&
            (p->value == NULL || !strcmp(p->value, value))) {
            return p;
        }
    }
    return NULL;
}

int hb_mca_launcher(struct hb_scan *s, const char *name, const char *value,
                    struct hpcboot_error *err)
{
    const struct parameter *p = find(name, value);

    if (p != NULL) {
        return p->key ? apply(s, p, value, err) : 1;
    }
    for (size_t i = 0;
         i < sizeof launcher_prefixes / sizeof launcher_prefixes[0]; i++) {
        if (hb_starts_with(name, launcher_prefixes[i])) {
            hb_opt_warn(s, "the parameter %s is ignored: it concerns Open "
                        "MPI's own launcher", name);
            return 1;
        }
    }
    return 0;
}

/* --- variables --------------------------------------------------- */

/* In this order; what comes later wins. Both spellings of Hydra's extra
 * arguments are in the field: an operator writes the first, Hydra reads the
 * second. */
static const struct {
    const char *name, *key;
} variables[] = {
    {"MPIEXEC_TIMEOUT", "timeout"},
    {"I_MPI_JOB_TIMEOUT", "timeout"},
    {"I_MPI_PERHOST", "npernode"},
    {"HYDRA_LAUNCHER", "launcher"},
    {"I_MPI_HYDRA_BOOTSTRAP", "launcher"},
    {"HYDRA_LAUNCHER_EXEC", "launcher-exec"},
    {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "launcher-exec"},
    {"HYDRA_LAUNCH_EXTRA_ARGS", "ssh-args"},
    {"HYDRA_LAUNCHER_EXTRA_ARGS", "ssh-args"},
    {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "ssh-args"},
};

/* Values that other launchers know and that ask for what is done anyway, or
 * that a resource manager sets for launchers of its own. Variables that name
 * a hostfile are read where hosts are gathered: one left over from elsewhere
 * must not count as a choice of the user. */
static int means_nothing(const char *key, const char *value)
{
    if (!strcmp(key, "default-hostfile")) {
        return 1;
    }
    if (!strcmp(key, "npernode")) {
        return !strcmp(value, "all") || !strcmp(value, "allcores");
    }
    if (!strcmp(key, "launcher")) {
        return !strcmp(value, "slurm");
    }
    return !strcmp(value, "--external-launcher");
}

static void take_variable(struct hb_scan *s, const char *name,
                          const char *key, int is_value)
{
    const char *value = hb_scan_getenv(s, name);
    struct hpcboot_error err = {0};
    char *origin;

    if (!value || !value[0] || means_nothing(key, value)) {
        return;
    }
    origin = hb_xasprintf("variable %s", name);
    s->origin = s->spelling = origin;
    if (apply_key(s, key, value, is_value, &err) < 0) {
        hb_opt_warn(s, "%s; the variable is ignored", err.text);
    }
    s->origin = s->spelling = "";
    free(origin);
}

void hb_foreign_variables(struct hb_scan *s)
{
    static const char *const prefixes[] = {"OMPI_MCA_", "PRTE_MCA_"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        take_variable(s, variables[i].name, variables[i].key, 0);
    }
    for (size_t i = 0; i < N_PARAMETERS; i++) {
        const struct parameter *p = &parameters[i];

        for (size_t j = 0; p->key && j < 2; j++) {
            char *name = hb_xasprintf("%s%s", prefixes[j], p->name);
            const char *value = hb_scan_getenv(s, name);

            if (value != NULL && find(p->name, value) == p) {
                take_variable(s, name, p->key, p->value != NULL);
            }
            free(name);
        }
    }
}
