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
/* Of names and values: as much as the ranks of a job put for a fence. */
#define MAX_BYTES ((size_t)256 << 20)
#define MAX_WAITING (1u << 18) /* questions, at one time */
#define OURS "hpcboot/"
#define MODEX OURS "modex/"
#define MAX_TURNS 16384u  /* as many may come to ports at one time */
#define WHO_MAX 512u      /* a name and a rank, packed by libpmix */
#define LEFT_MAX 1024u    /* names that are kept after their jobs */

struct name { /* one that is published */
    char *name;
    void *value;
    size_t len;
    uint32_t n_read; /* so many have removed it */
    int is_left;     /* a job has ended that took part */
    int once;        /* it goes when it has been looked up */
    uint64_t number; /* in the order of publication */
};

/* Somebody has published a name for one, and was not answered since. */
struct turn {
    struct turn *next; /* in the order in which they were published */
    char *name;
    const void *who; /* through whom it came */
    size_t len;
    unsigned char by[WHO_MAX]; /* begins with who has published it */
};

struct waiting { /* for a name; in the order in which they came */
    struct waiting *next;
    char *name;
    struct turn *turn; /* its own; or NULL */
    int meets;         /* it had one when it began to wait */
    uint64_t id;
    kept_names_told told;
    void *who;
    uint32_t src;
};

/* The oldest of that name. */
static struct name *find(struct kept_names *all, const char *name)
{
    struct name *found = NULL;

    for (size_t i = 0; i < all->n; i++) {
        if (hb_streq(all->v[i].name, name) &&
            (found == NULL || all->v[i].number < found->number)) {
            found = &all->v[i];
        }
    }
    return found;
}

static void take_away(struct kept_names *all, struct name *n)
{
    all->n_left -= n->is_left != 0;
    all->bytes -= strlen(n->name) + n->len;
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

static int has_room(const struct kept_names *all, size_t bytes)
{
    return all->n < MAX_NAMES && bytes <= MAX_BYTES - all->bytes;
}

/* HPCBOOT_ERR_LIMIT: not even what is left of others makes room. */
static int make_room(struct kept_names *all, const char *name, size_t bytes)
{
    if (!has_room(all, bytes)) {
        take_away_left(all);
    }
    if (has_room(all, bytes)) {
        return 0;
    }
    if (!all->full_said) {
        hb_log(HB_WARN, "%zu names of %zu bytes are published "
               "(MPI_Publish_name), and no more can be until some are "
               "removed, nor can jobs be connected (MPI_Comm_spawn): \"%s\" of "
               "%zu bytes is the first that is refused", all->n, all->bytes,
               name, bytes);
        all->full_said = 1;
    }
    return HPCBOOT_ERR_LIMIT;
}

static int publish(struct kept_names *all, const struct hb_msg_name *m)
{
    int once = m->op == HB_NAME_PUBLISH_ONCE, rc;
    size_t bytes = strlen(m->name) + m->value.len;
    struct name *n = find(all, m->name);

    if (n != NULL && !(n->once && once)) {
        return HPCBOOT_ERR_USAGE;
    }
    rc = make_room(all, m->name, bytes);
    if (rc < 0) {
        return rc;
    }
    all->bytes += bytes;
    all->v = hb_xrealloc(all->v, (all->n + 1) * sizeof *all->v);
    n = &all->v[all->n++];
    *n = (struct name){.name = hb_xstrdup(m->name),
                       .once = once, .number = ++all->n_published};
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

/* The status of the answer. */
static int say(struct kept_names *all, const struct hb_msg_name *m,
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

static void unpublish_own(struct kept_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);

    if (is_theirs(n, m)) {
        take_away(all, n);
    }
}

/* ---- who asks ------------------------------------------------------------ */

static void end_turn(struct kept_names *all, struct turn *turn)
{
    struct turn **at = &all->turns;

    if (turn == NULL) {
        return;
    }
    for (struct waiting *w = all->first; w != NULL; w = w->next) {
        w->turn = w->turn == turn ? NULL : w->turn;
    }
    while (*at != turn) {
        at = &(*at)->next;
    }
    *at = turn->next;
    all->n_turns--;
    free(turn->name);
    free(turn);
}

static void take_turn(struct kept_names *all, const struct hb_msg_name *m,
                      const void *who)
{
    struct turn **at = &all->turns, *t = hb_xcalloc(1, sizeof *t);

    while (*at != NULL) {
        at = &(*at)->next;
    }
    t->name = hb_xstrdup(m->name);
    t->who = who;
    t->len = m->value.len < WHO_MAX ? m->value.len : WHO_MAX;
    memcpy(t->by, m->value.data, t->len);
    *at = t;
    if (++all->n_turns > MAX_TURNS) { /* those who look nothing up have none */
        end_turn(all, all->turns);
    }
}

static int is_by(const struct turn *t, struct hb_bytes by)
{
    return by.len > 0 && by.len <= t->len &&
           memcmp(t->by, by.data, by.len) == 0;
}

/* The last of who asks. */
static struct turn *turn_of(struct kept_names *all, struct hb_bytes by)
{
    struct turn *found = NULL;

    for (struct turn *t = all->turns; t != NULL; t = t->next) {
        found = is_by(t, by) ? t : found;
    }
    return found;
}

/* Whether who has it waits: for `name`, or where that is NULL for anything. */
static int waits_for(const struct kept_names *all, const struct turn *t,
                     const char *name)
{
    const struct waiting *w = all->first;

    while (w != NULL && (w->turn != t ||
                         (name != NULL && !hb_streq(w->name, name)))) {
        w = w->next;
    }
    return w != NULL;
}

/* Those with which `by` does not wait: of one name, or where that is NULL of
 * all. */
static void end_turns_of(struct kept_names *all, struct hb_bytes by,
                         const char *name)
{
    struct turn *t = all->turns, *next;

    for (; t != NULL; t = next) {
        next = t->next;
        if (is_by(t, by) && !waits_for(all, t, NULL) &&
            (name == NULL || hb_streq(t->name, name))) {
            end_turn(all, t);
        }
    }
}

/* That of who has published it, unless he waits. */
static void end_turn_at(struct kept_names *all, const struct name *n)
{
    struct turn *t = all->turns;

    while (t != NULL &&
           (!hb_streq(t->name, n->name) || n->len < t->len ||
            memcmp(n->value, t->by, t->len) != 0)) {
        t = t->next;
    }
    if (t != NULL && !waits_for(all, t, NULL)) {
        end_turn(all, t);
    }
}

/* Not if it waits for something else; who waits for nothing may be about to. */
static int is_before(const struct kept_names *all, const struct turn *t,
                     const struct waiting *w)
{
    return hb_streq(t->name, w->turn->name) &&
           (waits_for(all, t, w->name) || !waits_for(all, t, NULL));
}

/* Whether nobody who has published the same is to be served before. */
static int is_next(const struct kept_names *all, const struct waiting *w)
{
    const struct turn *t = w->turn != NULL ? all->turns : NULL;

    while (t != w->turn && !is_before(all, t, w)) {
        t = t->next;
    }
    return t == w->turn;
}

/* What goes with nobody who reads it is there for all at once. */
static int may_have(struct kept_names *all, const struct waiting *w)
{
    const struct name *n = find(all, w->name);

    return n != NULL && (!n->once || is_next(all, w));
}

static struct waiting *wait_for(struct kept_names *all,
                                const struct hb_msg_name *m,
                                kept_names_told told, void *who, uint32_t src)
{
    struct waiting *w = hb_xcalloc(1, sizeof *w);

    all->n_waiting++;
    *w = (struct waiting){.name = hb_xstrdup(m->name), .id = m->id,
                          .turn = turn_of(all, m->value), .told = told,
                          .who = who, .src = src};
    *(all->first != NULL ? &all->last->next : &all->first) = w;
    all->last = w;
    w->meets = w->turn != NULL;
    if (w->meets) {
        end_turns_of(all, m->value, w->turn->name);
    }
    return w;
}

/* Its turn is over, and with it that of other questions of the same. */
static void wait_no_more(struct kept_names *all, struct waiting *gone)
{
    struct waiting **at = &all->first, *before = NULL;

    while (*at != gone) {
        before = *at;
        at = &before->next;
    }
    *at = gone->next;
    all->last = all->last == gone ? before : all->last;
    all->n_waiting--;
    end_turn(all, gone->turn);
    free(gone->name);
    free(gone);
}

/* Who takes the word of another and has given his own before (`meets`) is one
 * end of a meeting, and the other is about to wait for that word. Anybody else
 * just reads. */
static void looked_up(struct kept_names *all, const char *name, int meets)
{
    struct name *n = find(all, name);

    if (n == NULL || !n->once) {
        return;
    }
    if (!meets) {
        end_turn_at(all, n);
    }
    take_away(all, n);
}

/* It has been answered: what it removes goes, and what was there for it. */
static void said(struct kept_names *all, const struct hb_msg_name *m)
{
    if (m->op == HB_NAME_LOOKUP) {
        looked_up(all, m->name, 0);
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

static void answer(struct kept_names *all, struct waiting *w)
{
    const struct hb_msg_name m = {.op = HB_NAME_LOOKUP, .name = w->name};
    struct hb_msg_name_reply reply = {.id = w->id};

    reply.status = say(all, &m, &reply.value);
    w->told(w->who, w->src, &reply);
    looked_up(all, w->name, w->meets);
    wait_no_more(all, w);
}

/* Those who wait for the name, and where a turn has ended by that, or the name
 * is NULL, all. */
static void serve(struct kept_names *all, const char *name)
{
    struct waiting *w = all->first;

    while (w != NULL) {
        size_t turns = all->n_turns;

        if ((name == NULL || hb_streq(w->name, name)) && may_have(all, w)) {
            answer(all, w);
            name = all->n_turns < turns ? NULL : name;
            w = all->first;
        } else {
            w = w->next;
        }
    }
}

/* Whether others who have published the same wait for something else, so that
 * it is not before them. */
static int lets_by(const struct kept_names *all, const struct waiting *mine)
{
    const struct waiting *w = mine->turn != NULL ? all->first : NULL;

    while (w != NULL && (w->turn == NULL || hb_streq(w->name, mine->name) ||
                         !hb_streq(w->turn->name, mine->turn->name))) {
        w = w->next;
    }
    return w != NULL;
}

/* For those who came before nothing changes, unless a turn ends. */
static void ask_and_wait(struct kept_names *all, const struct hb_msg_name *m,
                         kept_names_told told, void *who, uint32_t src)
{
    size_t turns = all->n_turns;
    struct waiting *w = wait_for(all, m, told, who, src);
    int frees = lets_by(all, w);

    if (may_have(all, w)) {
        answer(all, w);
    }
    if (frees || all->n_turns < turns) {
        serve(all, NULL);
    }
}

/* One that is answered already has its answer on the way. */
static void give_up(struct kept_names *all, uint64_t id, const void *who,
                    uint32_t src)
{
    const struct hb_msg_name_reply reply = {.id = id,
                                            .status = HPCBOOT_ERR_NOT_FOUND};
    struct waiting *w = all->first;

    while (w != NULL && (w->id != id || w->who != who || w->src != src)) {
        w = w->next;
    }
    if (w != NULL) {
        w->told(w->who, w->src, &reply);
        wait_no_more(all, w);
        serve(all, NULL);
    }
}

/* Who looks up without waiting is not about to meet anybody. */
static void ask(struct kept_names *all, const struct hb_msg_name *m,
                kept_names_told told, void *who, uint32_t src)
{
    struct hb_msg_name_reply reply = {.id = m->id};
    size_t turns = all->n_turns;

    reply.status = say(all, m, &reply.value);
    told(who, src, &reply);
    said(all, m);
    if (m->op == HB_NAME_LOOKUP) {
        end_turns_of(all, m->value, NULL);
    }
    if (all->n_turns < turns) {
        serve(all, NULL);
    }
    if (reply.status == 0 && m->op == HB_NAME_PUBLISH_ONCE) {
        take_turn(all, m, who);
    }
    if (m->op == HB_NAME_PUBLISH || m->op == HB_NAME_PUBLISH_ONCE) {
        serve(all, m->name);
    }
}

void kept_names_ask(struct kept_names *all, const struct hb_msg_name *m,
                    kept_names_told told, void *who, uint32_t src)
{
    const struct hb_msg_name_reply refused = {.id = m->id,
                                              .status = HPCBOOT_ERR_LIMIT};

    if (m->op == HB_NAME_GIVE_UP) {
        give_up(all, m->id, who, src);
    } else if (m->op == HB_NAME_GONE) {
        end_turns_of(all, m->value, NULL);
        serve(all, NULL);
    } else if (m->op == HB_NAME_WAIT && all->n_waiting >= MAX_WAITING) {
        told(who, src, &refused);
    } else if (m->op == HB_NAME_WAIT) {
        ask_and_wait(all, m, told, who, src);
    } else {
        ask(all, m, told, who, src);
    }
}

void kept_names_forget(struct kept_names *all, const void *who)
{
    struct waiting *w = all->first, *next_w;
    struct turn *t, *next_t;

    for (; w != NULL; w = next_w) {
        next_w = w->next;
        if (w->who == who) {
            wait_no_more(all, w);
        }
    }
    for (t = all->turns; t != NULL; t = next_t) {
        next_t = t->next;
        if (t->who == who) {
            end_turn(all, t);
        }
    }
    serve(all, NULL);
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
    while (all->first != NULL) {
        wait_no_more(all, all->first);
    }
    while (all->turns != NULL) {
        end_turn(all, all->turns);
    }
}
