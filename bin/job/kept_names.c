/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Servers of PMIx publish by themselves what jobs must know of each other
 * (bin/pm/pmix_join.c). Such a name goes when all have read it who wait for it:
 * each removes it, with their number as the value. What a rank has put goes
 * with its job. What is left then of joins in which that job took part is kept
 * for a while: others may be about to read it. */
#include "config.h"

#include "bin/job/kept_names.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"

#define MAX_NAMES 65536u /* published at one time; far above any program's */
#define OURS "hpcboot/"
#define MODEX OURS "modex/"
#define LEFT_MAX 1024u    /* names that are kept after their jobs */

struct name { /* one that is published */
    char *name;
    void *value;
    size_t len;
    uint32_t n_read; /* so many have removed it */
    int is_left;     /* a job has ended that took part */
    int once;        /* it goes when it has been looked up */
};

static struct name *find(struct kept_names *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (hb_streq(all->v[i].name, name)) {
            return &all->v[i];
        }
    }
    return NULL;
}

static void take_away(struct kept_names *all, struct name *n)
{
    all->n_left -= n->is_left != 0;
    free(n->name);
    free(n->value);
    *n = all->v[--all->n];
}

static void take_away_left(struct kept_names *all)
{
    for (size_t i = all->n; i-- > 0 && all->n_left > 0;) {
        if (all->v[i].is_left) {
            take_away(all, &all->v[i]);
        }
    }
}

/* HPCBOOT_ERR_LIMIT: not even what is left of others makes room. */
static int make_room(struct kept_names *all, const char *name)
{
    if (all->n >= MAX_NAMES) {
        take_away_left(all);
    }
    if (all->n < MAX_NAMES) {
        return 0;
    }
    if (!all->full_said) {
        hb_log(HB_WARN, "%u names are published (MPI_Publish_name), and no "
               "more can be until some are removed, nor can jobs be connected "
               "(MPI_Comm_spawn): '%s' is the first that is refused",
               MAX_NAMES, name);
        all->full_said = 1;
    }
    return HPCBOOT_ERR_LIMIT;
}

static int publish(struct kept_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);
    int rc = n != NULL ? HPCBOOT_ERR_USAGE : make_room(all, m->name);

    if (rc < 0) {
        return rc;
    }
    all->v = hb_xrealloc(all->v, (all->n + 1) * sizeof *all->v);
    n = &all->v[all->n++];
    *n = (struct name){.name = hb_xstrdup(m->name),
                       .once = m->op == HB_NAME_PUBLISH_ONCE};
    n->len = m->value.len;
    n->value = hb_xmalloc(n->len + 1);
    memcpy(n->value, m->value.data, n->len);
    return 0;
}

/* Names end with the job that speaks, those of joins after "JOB:RANKS;" of all
 * that take part. */
static int is_of_job(const char *name, const char *job)
{
    size_t len = strlen(job);

    for (const char *at = strstr(name, job); at != NULL;
         at = strstr(at + 1, job)) {
        if ((at[-1] == '/' || at[-1] == ';') &&
            (at[len] == ':' || at[len] == '/' || at[len] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* The names of a job that ended before go: who waited for them has seen them by
 * now. */
static void end_job(struct kept_names *all, const char *job)
{
    if (all->n_left > LEFT_MAX) {
        take_away_left(all);
    }
    for (size_t i = all->n; i-- > 0 && job[0] != '\0';) {
        struct name *n = &all->v[i];

        if (!hb_starts_with(n->name, OURS) || !is_of_job(n->name + 1, job)) {
            continue;
        }
        if (hb_starts_with(n->name, MODEX)) {
            take_away(all, n);
        } else if (!n->is_left) {
            n->is_left = 1;
            all->n_left++;
        }
    }
}

static void unpublish(struct kept_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);
    uint32_t readers = 0;
    struct hb_buf b;

    if (n == NULL) {
        return;
    }
    if (m->value.len > 0) {
        hb_buf_view(&b, m->value.data, m->value.len);
        readers = hb_buf_get_u32(&b);
    }
    if (++n->n_read >= readers) {
        take_away(all, n);
    }
}

/* Whether it begins with who asks, as what servers of PMIx publish does. */
static int is_theirs(const struct name *n, const struct hb_msg_name *m)
{
    return n != NULL && m->value.len <= n->len &&
           memcmp(n->value, m->value.data, m->value.len) == 0;
}

int kept_names_say(struct kept_names *all, const struct hb_msg_name *m,
                   struct hb_bytes *value_out)
{
    struct name *n = find(all, m->name);

    if (m->op == HB_NAME_PUBLISH || m->op == HB_NAME_PUBLISH_ONCE) {
        return publish(all, m);
    }
    if (m->op == HB_NAME_LOOKUP && n != NULL) {
        *value_out = (struct hb_bytes){n->value, n->len};
    }
    if (m->op == HB_NAME_UNPUBLISH_OWN && !is_theirs(n, m)) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    return n != NULL ? 0 : HPCBOOT_ERR_NOT_FOUND;
}

static void looked_up(struct kept_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);

    if (n != NULL && n->once) {
        take_away(all, n);
    }
}

static void unpublish_own(struct kept_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);

    if (is_theirs(n, m)) {
        take_away(all, n);
    }
}

void kept_names_said(struct kept_names *all, const struct hb_msg_name *m)
{
    if (m->op == HB_NAME_LOOKUP) {
        looked_up(all, m);
    } else if (m->op == HB_NAME_UNPUBLISH_OWN) {
        unpublish_own(all, m);
    }
    if (m->op != HB_NAME_UNPUBLISH) {
        return;
    }
    if (hb_starts_with(m->name, KEPT_NAMES_OVER)) {
        end_job(all, m->name + strlen(KEPT_NAMES_OVER));
    } else {
        unpublish(all, m);
    }
}

static void tell_left(const struct kept_names *all)
{
    size_t ours = 0;

    for (size_t i = 0; i < all->n; i++) {
        ours += hb_starts_with(all->v[i].name, OURS);
    }
    if (all->n > 0) {
        hb_log(HB_DEBUG, "published names that are left: %zu, and %zu of "
               "servers of PMIx", all->n - ours, ours);
    }
}

void kept_names_clear(struct kept_names *all)
{
    tell_left(all);
    while (all->n > 0) {
        take_away(all, &all->v[0]);
    }
    free(all->v);
    all->v = NULL;
}
