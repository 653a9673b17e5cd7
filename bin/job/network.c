/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The order of hosts in a network.
 *
 * Trees (Slurm's switches and blocks, labels) become a path for each host,
 * "root/.../leaf" in names; hosts are then gathered by path: the first host,
 * all that share its whole path, those that share one step less, and so on. A
 * matrix is walked: from the first host always to the nearest that is left.
 * Both keep the user's order where the network does not care. */
#include "config.h"

#include "bin/job/network.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/range.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/topo/rankfile.h"

#define MAX_NAMES (1u << 20)
#define MAX_DEPTH 32u

struct place { /* a host or a switch, and the path above it */
    char *name;
    char *parent; /* the switch it hangs on; NULL: a root */
    char *path;   /* of labels; NULL: by parents */
    double *row;  /* of a matrix */
    size_t n_row;
};

struct network {
    const char *file;
    struct place *v;
    size_t n, cap;
    int is_matrix;
};

static struct place *add(struct network *w, char *name)
{
    if (w->n == w->cap) {
        w->cap = w->cap > 0 ? 2 * w->cap : 64;
        w->v = hb_xrealloc(w->v, w->cap * sizeof *w->v);
    }
    w->v[w->n] = (struct place){.name = name};
    return &w->v[w->n++];
}

static void destroy(struct network *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->v[i].name);
        free(w->v[i].parent);
        free(w->v[i].path);
        free(w->v[i].row);
    }
    free(w->v);
}

static int expected(const struct network *w, unsigned line, size_t column,
                    const char *what, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%u:%zu: expected %s", w->file,
                   line, column + 1, what);
}

/* --- topology.conf ------------------------------------------------- */

/* The value of KEY= in a line, as a copy; NULL: not there. */
static char *value_of(const char *line, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = line; *p != '\0'; p += strcspn(p, " \t")) {
        p += strspn(p, " \t");
        if (strncasecmp(p, key, n) == 0 && p[n] == '=') {
            return hb_xstrndup(p + n + 1, strcspn(p + n + 1, " \t"));
        }
    }
    return NULL;
}

/* Everything a list names hangs on the switch. */
static int hang(struct network *w, const char *list, const char *on,
                unsigned line, struct hpcboot_error *err)
{
    struct hb_strv names = HB_STRV_INIT;
    const char *p = list, *what = "";
    size_t at = 0;
    int rc = 0, depth = 0;

    while (rc == 0 && *p != '\0') {
        size_t len = 0;
        char *one;

        for (; p[len] != '\0' && (p[len] != ',' || depth > 0); len++) {
            depth += (p[len] == '[') - (p[len] == ']');
        }
        one = hb_xstrndup(p, len);
        if (hb_range_expand(one, MAX_NAMES, &names, &at, &what) < 0) {
            rc = expected(w, line, (size_t)(p - list) + at, what, err);
        }
        free(one);
        p += len + (p[len] == ',');
    }
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        struct place *place = add(w, hb_xstrdup(names.v[i]));
        place->parent = hb_xstrdup(on);
    }
    hb_strv_destroy(&names);
    return rc;
}

#define BLOCK_SIZES "BlockSizes="

/* Does a line begin with the word, as with any of Slurm's keys? */
static int begins(const char *line, const char *word)
{
    return strncasecmp(line, word, strlen(word)) == 0;
}

/* Hosts of a block are as near as those behind a switch. */
static int read_switch(struct network *w, const char *line, unsigned number,
                       struct hpcboot_error *err)
{
    char *name = value_of(line, begins(line, "BlockName") ? "BlockName"
                                                          : "SwitchName");
    char *nodes = value_of(line, "Nodes");
    char *switches = value_of(line, "Switches");
    int rc = 0;

    if (name == NULL || (nodes == NULL && switches == NULL)) {
        rc = expected(w, number, 0, "SwitchName=NAME with Nodes= or Switches=",
                      err);
    }
    if (rc == 0 && nodes != NULL) {
        rc = hang(w, nodes, name, number, err);
    }
    if (rc == 0 && switches != NULL) {
        rc = hang(w, switches, name, number, err);
    }
    free(name);
    free(nodes);
    free(switches);
    return rc;
}

/* --- labels and matrices -------------------------------------------- */

static int read_row(struct network *w, const char *line, unsigned number,
                    struct hpcboot_error *err)
{
    size_t name = strcspn(line, " \t");
    const char *p = line + name;
    struct place *place = add(w, hb_xstrndup(line, name));
    char *end;

    p += strspn(p, " \t");
    if (*p == '\0') {
        return expected(w, number, name, "labels (zone/rack/switch) or "
                        "distances after the host", err);
    }
    (void)strtod(p, &end);
    if (end == p || (*end != '\0' && *end != ' ' && *end != '\t')) {
        place->path = hb_xstrndup(p, strcspn(p, " \t"));
        return 0;
    }
    w->is_matrix = 1;
    while (*p != '\0') {
        double v = strtod(p, &end);
        if (end == p || !(v >= 0)) { /* nor is NAN one */
            return expected(w, number, (size_t)(p - line), "a distance", err);
        }
        place->row = hb_xrealloc(place->row,
                                 (place->n_row + 1) * sizeof *place->row);
        place->row[place->n_row++] = v;
        p = end + strspn(end, " \t");
    }
    return 0;
}

static int read_line(struct network *w, char *line, unsigned number,
                     struct hpcboot_error *err)
{
    size_t len = strcspn(line, "#\r");

    while (len > 0 && isspace((unsigned char)line[len - 1])) {
        len--;
    }
    line[len] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0' || begins(line, BLOCK_SIZES)) {
        return 0;
    }
    return begins(line, "SwitchName") || begins(line, "BlockName")
               ? read_switch(w, line, number, err)
               : read_row(w, line, number, err);
}

/* Cuts a line off, which a backslash at its end joins with the next one, and
 * counts those. Where the rest begins, or NULL. */
static char *cut_line(char *line, unsigned *number)
{
    char *end = strchr(line, '\n');

    (*number)++;
    while (end != NULL && end > line && end[-1] == '\\') {
        end[-1] = *end = ' ';
        (*number)++;
        end = strchr(end, '\n');
    }
    if (end != NULL) {
        *end++ = '\0';
    }
    return end;
}

static int read_network(struct network *w, const char *text,
                        struct hpcboot_error *err)
{
    char *copy = hb_xstrdup(text), *line = copy;
    unsigned number = 1;
    int rc = 0;

    while (rc == 0 && line != NULL) {
        unsigned first = number;
        char *rest = cut_line(line, &number);
        rc = read_line(w, line, first, err);
        line = rest;
    }
    free(copy);
    for (size_t i = 0; rc == 0 && w->is_matrix && i < w->n; i++) {
        if (w->v[i].n_row != w->n) {
            rc = hb_fail(err, HPCBOOT_ERR_PARSE,
                         "%s: host %s has %zu distances, expected %zu, one to "
                         "each host in the order of the rows", w->file,
                         w->v[i].name, w->v[i].n_row, w->n);
        }
    }
    return rc;
}

/* --- order ------------------------------------------------------------ */

static int by_name(const void *va, const void *vb)
{
    const struct place *a = va, *b = vb;

    return strcmp(a->name, b->name);
}

static struct place *find(const struct network *w, const char *name)
{
    struct place key = {.name = (char *)name};
    struct place *p;
    size_t n = strcspn(name, ".");

    if (w->n == 0) {
        return NULL;
    }
    p = bsearch(&key, w->v, w->n, sizeof *w->v, by_name);
    if (p == NULL && name[n] == '.' && strspn(name, "0123456789.") !=
                                           strlen(name)) {
        key.name = hb_xstrndup(name, n);
        p = bsearch(&key, w->v, w->n, sizeof *w->v, by_name);
        free(key.name);
    }
    return p;
}

/* "root/switch/": from far to near; free() it. A circle ends at MAX_DEPTH. */
static char *path_of(const struct network *w, const struct place *p)
{
    const char *steps[MAX_DEPTH];
    struct hb_str o = HB_STR_INIT;
    unsigned n = 0;

    if (p->path != NULL) {
        return hb_xasprintf("%s/", p->path);
    }
    while (p != NULL && p->parent != NULL && n < MAX_DEPTH) {
        steps[n++] = p->parent;
        p = find(w, p->parent);
    }
    while (n > 0) {
        hb_str_putf(&o, "%s/", steps[--n]);
    }
    hb_str_put(&o, "");
    return hb_str_steal(&o);
}

struct spot {
    char *path;      /* NULL: not known */
    uint32_t *ranks; /* [depth] first index under the same prefix */
    uint32_t depth, index;
};

/* The length of a path's first k steps. */
static size_t prefix(const char *path, uint32_t k)
{
    const char *p = path;

    while (k-- > 0 && *p != '\0') {
        p += strcspn(p, "/");
        p += *p == '/';
    }
    return (size_t)(p - path);
}

static uint32_t depth_of(const char *path)
{
    uint32_t n = 0;

    for (; *path != '\0'; path++) {
        n += *path == '/';
    }
    return n;
}

struct first_seen { /* the lowest index of a host under a prefix */
    const char *path;
    size_t len;
    uint32_t index;
};

static int by_prefix(const void *va, const void *vb)
{
    const struct first_seen *a = va, *b = vb;
    size_t n = a->len < b->len ? a->len : b->len;
    int order = strncmp(a->path, b->path, n);

    if (order == 0 && a->len != b->len) {
        order = a->len < b->len ? -1 : 1;
    }
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int same_prefix(const struct first_seen *a, const struct first_seen *b)
{
    return a->len == b->len && strncmp(a->path, b->path, a->len) == 0;
}

/* Hosts stand by the first mention of their outermost group, within it by that
 * of the next, and so on. */
static int by_groups(const void *va, const void *vb)
{
    const struct spot *a = va, *b = vb;

    if ((a->path == NULL) != (b->path == NULL)) {
        return a->path == NULL ? 1 : -1;
    }
    for (uint32_t k = 0; k < a->depth && k < b->depth; k++) {
        if (a->ranks[k] != b->ranks[k]) {
            return a->ranks[k] < b->ranks[k] ? -1 : 1;
        }
    }
    return (a->index > b->index) - (a->index < b->index);
}

static void rank_level(struct spot *spots, uint32_t n, uint32_t level,
                       struct first_seen *seen)
{
    uint32_t m = 0, first = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (spots[i].path != NULL && level < spots[i].depth) {
            seen[m++] = (struct first_seen){
                spots[i].path, prefix(spots[i].path, level + 1), i};
        }
    }
    qsort(seen, m, sizeof *seen, by_prefix);
    for (uint32_t i = 0; i < m; i++) {
        first = i > 0 && same_prefix(&seen[i], &seen[i - 1])
                    ? first : seen[i].index;
        spots[seen[i].index].ranks[level] = first;
    }
}

static int same_group(const struct spot *a, const struct spot *b,
                      uint32_t level)
{
    size_t len;

    if (a->path == NULL || b->path == NULL) {
        return a->path == b->path;
    }
    len = prefix(a->path, level);
    return len == prefix(b->path, level) &&
           strncmp(a->path, b->path, len) == 0;
}

/* Of spots in their order: by as many steps of the path as leave any two of
 * them together. */
static void find_leaves(const struct spot *spots, uint32_t n, uint32_t deepest,
                        uint32_t *leaf)
{
    uint32_t together = 0;

    for (uint32_t level = deepest; level > 0 && together == 0; level--) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < n; i++) {
            int same = i > 0 && same_group(&spots[i - 1], &spots[i], level);

            count += !same;
            leaf[i] = spots[i].path != NULL ? count : 0;
            together += same && spots[i].path != NULL;
        }
    }
}

static void order_by_paths(const struct network *w, const char *const *names,
                           uint32_t n, uint32_t *order, uint32_t *leaf)
{
    struct spot *spots = hb_xcalloc(n, sizeof *spots);
    struct first_seen *seen = hb_xcalloc(n, sizeof *seen);
    uint32_t deepest = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct place *p = find(w, names[i]);
        spots[i].index = i;
        spots[i].path = p != NULL ? path_of(w, p) : NULL;
        spots[i].depth = p != NULL ? depth_of(spots[i].path) : 0;
        spots[i].ranks = hb_xcalloc(spots[i].depth + 1,
                                    sizeof *spots[i].ranks);
        deepest = spots[i].depth > deepest ? spots[i].depth : deepest;
    }
    for (uint32_t level = 0; level < deepest; level++) {
        rank_level(spots, n, level, seen);
    }
    qsort(spots, n, sizeof *spots, by_groups);
    if (leaf != NULL) {
        find_leaves(spots, n, deepest, leaf);
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = spots[i].index;
        free(spots[i].path);
        free(spots[i].ranks);
    }
    free(seen);
    free(spots);
}

/* The row of each host, or -1. Rows keep the file's order in their length. */
static void order_by_matrix(const struct network *w, const int64_t *row_of,
                            uint32_t n, uint32_t *order)
{
    char *done = hb_xcalloc(n, 1);
    uint32_t count = 0, last = 0;

    while (last < n && row_of[last] < 0) {
        last++;
    }
    while (last < n) {
        const double *row = w->v[row_of[last]].row;
        uint32_t best = n;

        done[last] = 1;
        order[count++] = last;
        for (uint32_t i = 0; i < n; i++) {
            if (!done[i] && row_of[i] >= 0 &&
                (best == n || row[row_of[i]] < row[row_of[best]])) {
                best = i;
            }
        }
        last = best;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!done[i]) {
            order[count++] = i;
        }
    }
    free(done);
}

static int64_t row_named(const struct network *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++) {
        if (hb_rankfile_same_host(w->v[i].name, name)) {
            return (int64_t)i;
        }
    }
    return -1;
}

int hb_network_order(const char *file, const char *text,
                     const char *const *names, uint32_t n,
                     uint32_t *order_out, uint32_t *leaf_out,
                     uint32_t *unknown_out,
                     struct hpcboot_error *err)
{
    struct network w = {.file = file};
    int64_t *row_of = NULL;
    int rc = read_network(&w, text, err);

    if (rc < 0) {
        goto done;
    }
    *unknown_out = 0;
    if (leaf_out != NULL) {
        memset(leaf_out, 0, n * sizeof *leaf_out);
    }
    if (w.is_matrix) {
        row_of = hb_xcalloc(n, sizeof *row_of);
        for (uint32_t i = 0; i < n; i++) {
            row_of[i] = row_named(&w, names[i]);
            *unknown_out += row_of[i] < 0;
        }
        order_by_matrix(&w, row_of, n, order_out);
        goto done;
    }
    if (w.n > 0) {
        qsort(w.v, w.n, sizeof *w.v, by_name);
    }
    for (uint32_t i = 0; i < n; i++) {
        *unknown_out += w.n == 0 || find(&w, names[i]) == NULL;
    }
    order_by_paths(&w, names, n, order_out, leaf_out);
done:
    free(row_of);
    destroy(&w);
    return rc;
}
