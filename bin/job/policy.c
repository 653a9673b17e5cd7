/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the options say about placement, read once and before anybody is
 * contacted: the policy of the mapping, that of the binding, which goes to the
 * agents as a text, and the files that they name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/framework.h"
#include "bin/job/job_impl.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define SEQ_FILE_MAX (64u << 20)

/* What is wrong with it is told where the policy is read. */
void job_map_by(const struct hb_options *o, struct hb_map_policy *out)
{
    memset(out, 0, sizeof *out);
    if (o->map_by != NULL && hb_map_by_parse(o->map_by, out, NULL) < 0) {
        memset(out, 0, sizeof *out);
    }
}

static int is_object(enum hb_map_by by)
{
    return by >= HB_MAP_HWTHREAD && by <= HB_MAP_PACKAGE;
}

int job_map_orders(const struct hb_map_policy *p)
{
    return p->by <= HB_MAP_NODE || is_object(p->by);
}

int job_map_counts(const struct hb_options *o)
{
    struct hb_map_policy p;

    job_map_by(o, &p);
    return !job_map_orders(&p) && p.by != HB_MAP_PE_LIST;
}

/* An object orders the ranks within a host; what is behind it stays. */
void job_map_per_node(struct hb_options *o, uint32_t n)
{
    struct hb_map_policy p;

    job_map_by(o, &p);
    o->per_node = n;
    if (is_object(p.by)) {
        const char *rest = strchr(o->map_by, ':');
        char *word = hb_xstrndup(o->map_by, strcspn(o->map_by, ":"));
        char *kept = rest != NULL ? hb_xstrdup(rest) : NULL;

        free(o->map_inside);
        free(o->map_by);
        o->map_inside = word;
        o->map_by = kept;
    }
}

/* What srun takes as the most for each host, where the tasks are counted and
 * not packed. */
static int is_most(const struct hb_options *o, const struct hb_map_policy *p)
{
    int counted = 1;

    for (uint32_t i = 0; i < o->n_apps; i++) {
        counted &= o->apps[i].np > 0 && o->apps[i].np_min == 0;
    }
    return counted && o->dialect == HB_DIALECT_SRUN && o->grid == NULL &&
           (p->by == HB_MAP_DEFAULT || p->by == HB_MAP_NODE);
}

/* So many ranks on each host, which --map-by may have something to say about
 * too. Its slot and node fit with that: they say in which order. What was typed
 * goes before what stands in a file or a variable. */
static int read_per_node(const struct hb_options *o, struct hb_map_policy *p,
                         struct hpcboot_error *err)
{
    int orders = p->by <= HB_MAP_NODE;
    int typed = hb_options_is_typed(o, "npernode");
    int other_typed = hb_options_is_typed(o, "map-by");

    if (o->per_node == 0 || (!orders && !typed) ||
        (p->by == HB_MAP_PPR_NODE && p->ppr == o->per_node)) {
        return 0;
    }
    if (is_most(o, p)) { /* they are dealt over the hosts, see read_map */
        p->ppr = o->per_node;
        return 0;
    }
    if (!orders && other_typed) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%u rank%s for each host and "
                       "--map-by %s: both say where ranks go; give one of "
                       "them, or --map-by ppr:N:OBJECT", o->per_node,
                       o->per_node == 1 ? "" : "s", o->map_by);
    }
    if (p->by == HB_MAP_NODE) {
        p->rank_by = HB_RANK_NODE;
    }
    p->by = HB_MAP_PPR_NODE;
    p->ppr = o->per_node;
    return 0;
}

/* A modifier of --map-by that was typed goes before an option of its own that
 * was not. */
static int modifier_counts(const struct hb_options *o, int has_it,
                           const char *option)
{
    return has_it && hb_options_is_typed(o, "map-by") &&
           !hb_options_is_typed(o, option);
}

/* A grid says itself which host a rank is on. Inside of hosts ranks are where
 * --map-by puts them, and --npernode is the most on each. */
static int read_grid(const struct hb_options *o, struct hb_map_policy *p,
                     struct hpcboot_error *err)
{
    int rc = hb_grid_parse(o->grid, p, err);
    int other = p->by == HB_MAP_NODE || p->by == HB_MAP_SEQ ||
                p->by == HB_MAP_RANKFILE || p->by == HB_MAP_PPR_OBJECT;

    if (rc < 0 || !other) {
        return rc;
    }
    if (hb_options_is_typed(o, "grid") && !hb_options_is_typed(o, "map-by")) {
        p->by = HB_MAP_DEFAULT;
        return 0;
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, "--grid %.60s and --map-by %.100s: "
                   "both say on which hosts ranks go; give one of them",
                   o->grid, o->map_by);
}

static int read_map(const struct job *j, struct hb_map_policy *p,
                    struct hpcboot_error *err)
{
    const struct hb_options *o = j->opt;
    int rc = 0;

    memset(p, 0, sizeof *p);
    if (o->map_by != NULL) {
        rc = hb_map_by_parse(o->map_by, p, err);
    }
    if (rc == 0) {
        rc = read_per_node(o, p, err);
    }
    if (p->by == HB_MAP_DEFAULT && o->dialect == HB_DIALECT_SRUN &&
        o->grid == NULL) { /* all its hosts are used, in blocks of ranks */
        p->by = HB_MAP_NODE;
        p->rank_by = HB_RANK_FILL;
    }
    if (rc == 0 && o->rank_by != NULL) {
        rc = hb_rank_by_parse(o->rank_by, p, err);
    }
    if (rc == 0 && o->grid != NULL) {
        rc = read_grid(o, p, err);
    }
    if (o->oversubscribe != 0 &&
        !modifier_counts(o, p->oversubscribe != 0, "oversubscribe")) {
        p->oversubscribe = o->oversubscribe;
    }
    if (o->cpus_per_rank > 0 &&
        !modifier_counts(o, p->pe > 0, "cpus-per-rank")) {
        p->pe = o->cpus_per_rank;
    }
    p->nolocal |= o->nolocal;
    p->wrap = o->dialect == HB_DIALECT_HYDRA;
    return rc;
}

static int read_memory(const char *text, enum hb_bind_memory *out,
                       struct hpcboot_error *err)
{
    static const char *const names[] = {
        [HB_MEM_NONE] = "none", [HB_MEM_PREFERRED] = "preferred",
        [HB_MEM_BIND] = "bind",
    };

    for (int i = HB_MEM_NONE; text != NULL && i <= HB_MEM_BIND; i++) {
        if (hb_streq(text, names[i])) {
            *out = (enum hb_bind_memory)i;
            return 0;
        }
    }
    return text == NULL ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE,
                                      "--mem-bind %s: expected none, preferred "
                                      "or bind", text);
}

/* Hydra and srun deal ranks to the objects that they bind to in turn, those of
 * all programs as if they were of one. */
static void bind_in_turn(struct hb_bind_policy *b)
{
    if (b->to > HB_BIND_CORE && b->by <= HB_MAP_PPR_NODE) {
        b->by = HB_MAP_DEFAULT;
        b->rank_by = HB_RANK_SPAN;
    }
}

/* Hydra's --map-by: on whatever host they are, ranks are dealt to its objects
 * one by one. By objects no larger than those of which each has several
 * (core:2) they would overlap there, and sit side by side here. */
static int map_inside(const struct hb_options *o, struct hb_bind_policy *b,
                      struct hpcboot_error *err)
{
    struct hb_map_policy p = {0};
    int rc = hb_map_by_parse(o->map_inside, &p, err);

    if (rc == 0 && (b->pe < 2 || p.by - HB_MAP_HWTHREAD >
                                     b->to - HB_BIND_HWTHREAD)) {
        b->by = p.by;
        b->rank_by = HB_RANK_SLOT;
    }
    return rc;
}

/* Which CPUs a rank gets is decided on its host; the wish is checked here. */
static int read_binding(struct job *j, struct hpcboot_error *err)
{
    int rc = hb_bind_to_parse(j->opt->bind_to, &j->bind, err);

    if (rc == 0) {
        rc = read_memory(j->opt->mem_bind, &j->bind.memory, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_bind_policy_map(&j->bind, &j->policy);
    if (j->opt->map_inside != NULL && j->bind.to > HB_BIND_NONE) {
        rc = map_inside(j->opt, &j->bind, err);
    } else if (j->opt->dialect != HB_DIALECT_OPENMPI) {
        bind_in_turn(&j->bind);
    }
    if (rc < 0) {
        return rc;
    }
    if (j->opt->dialect == HB_DIALECT_HYDRA && j->bind.to > HB_BIND_NONE) {
        j->bind.overload_allowed = 1; /* it begins again when each has one */
    }
    j->bind.hwtcpus |= j->opt->use_hwthreads;
    if (j->opt->gpus_per_rank > HB_MAX_GPUS) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--gpus-per-rank %u: expected "
                       "GPUs of one host, 1 to %u", j->opt->gpus_per_rank,
                       HB_MAX_GPUS);
    }
    j->bind.gpus = j->opt->gpus_per_rank;
    j->bind_text = hb_bind_policy_text(&j->bind);
    return 0;
}

static int host_named(const struct job *j, const char *name)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (hb_rankfile_names(name, j->gang.hosts[i].name,
                              j->gang.hosts[i].is_local)) {
            return (int)i;
        }
    }
    return -1;
}

/* A line a rank, the first word is its host; '#' begins a comment. */
static int read_seq(struct job *j, char *text, struct hpcboot_error *err)
{
    const char *file = j->policy.file;
    char *line, *save = NULL;
    uint32_t number = 0;

    for (line = text + hb_bom_len(text, strlen(text)); line != NULL;
         line = save) {
        size_t blanks;
        int host;

        number++;
        save = strchr(line, '\n');
        if (save != NULL) {
            *save++ = '\0';
        }
        line[strcspn(line, "#\r")] = '\0';
        blanks = strspn(line, " \t");
        line += blanks;
        line[strcspn(line, " \t")] = '\0';
        if (line[0] == '\0') {
            continue;
        }
        host = host_named(j, line);
        if (host < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s:%u:%zu: %.80s is no host of this job", file,
                           number, blanks + 1, line);
        }
        j->seq = hb_xrealloc(j->seq, (j->n_seq + 1) * sizeof *j->seq);
        j->seq[j->n_seq++] = (struct hb_map_turn){(uint32_t)host, 0};
    }
    return j->n_seq > 0 ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE,
                                      "%s: no host in it; --map-by seq wants "
                                      "one a line", file);
}

static int read_files(struct job *j, struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc = 0;

    if (j->policy.by == HB_MAP_RANKFILE) {
        rc = hb_rankfile_read(j->policy.file, &j->rankfile, err);
        j->policy.rankfile = &j->rankfile;
    } else if (j->policy.by == HB_MAP_SEQ && j->policy.file[0] != '\0') {
        rc = hb_file_read_lasting(j->policy.file, SEQ_FILE_MAX, &text, &len,
                                  err);
        rc = rc >= 0 ? read_seq(j, text, err)
                     : hb_error_prefix(err, rc, "--map-by seq");
        free(text);
    }
    if (rc < 0) { /* nothing was started: the request is wrong */
        err->code = HPCBOOT_ERR_USAGE;
        return HPCBOOT_ERR_USAGE;
    }
    return 0;
}

int job_policy_read(struct job *j, struct hpcboot_error *err)
{
    int rc = read_map(j, &j->policy, err);

    if (rc == 0) {
        rc = read_binding(j, err);
    }
    return rc == 0 ? read_files(j, err) : rc;
}

void job_policy_destroy(struct job *j)
{
    hb_rankfile_clear(&j->rankfile);
    free(j->seq);
    free(j->bind_text);
}

void job_policy_slots(const struct job *j, struct hb_strv *out)
{
    for (uint32_t r = 0; r < j->rankfile.n && r < j->map->n_ranks; r++) {
        if (j->rankfile.v[r].slots != NULL) {
            hb_strv_pushf(out, "%u %s", r, j->rankfile.v[r].slots);
        }
    }
}
