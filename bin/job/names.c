/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The job's name service: what ranks publish is kept at the launcher. A spawned
 * job shares the names of the one that has started it, so its launcher keeps
 * none and asks the one above; the answer goes to whoever has asked here.
 * Launchers themselves ask it for numbers for the jobs that they start. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"
#include "lib/base/str.h"

#define MAX_NAMES 65536u /* published at one time; far above any program's */
#define FIRST_SPAWNED 2u

struct name { /* one that is published */
    char *name;
    void *value;
    size_t len;
};

struct asked { /* of the launcher above */
    struct asked *next;
    uint64_t id, their_id;
    job_name_told told;
    void *who;
    uint32_t src;
};

struct job_names {
    struct name *names;
    size_t n;
    struct asked *asked;
    uint64_t last_id;
    uint32_t n_jobs; /* that were numbered, without the first */
};

static struct job_names *names_of(struct job *j)
{
    if (j->names == NULL) {
        j->names = hb_xcalloc(1, sizeof *j->names);
    }
    return j->names;
}

static struct name *find(struct job_names *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (hb_streq(all->names[i].name, name)) {
            return &all->names[i];
        }
    }
    return NULL;
}

static void take_away(struct job_names *all, struct name *n)
{
    free(n->name);
    free(n->value);
    *n = all->names[--all->n];
}

static int publish(struct job_names *all, const struct hb_msg_name *m)
{
    struct name *n = find(all, m->name);

    if (n != NULL || all->n >= MAX_NAMES) {
        return n != NULL ? HPCBOOT_ERR_USAGE : HPCBOOT_ERR_LIMIT;
    }
    all->names = hb_xrealloc(all->names, (all->n + 1) * sizeof *all->names);
    n = &all->names[all->n++];
    n->name = hb_xstrdup(m->name);
    n->len = m->value.len;
    n->value = hb_xmalloc(n->len + 1);
    memcpy(n->value, m->value.data, n->len);
    return 0;
}

static void ask_above(struct job *j, const struct hb_msg_name *m,
                      job_name_told told, void *who, uint32_t src)
{
    struct job_names *all = names_of(j);
    struct asked *a = hb_xcalloc(1, sizeof *a);
    struct hb_msg_name ours = *m;

    *a = (struct asked){.next = all->asked, .id = ++all->last_id,
                        .their_id = m->id, .told = told, .who = who,
                        .src = src};
    all->asked = a;
    ours.id = a->id;
    job_ancestry_name(j, &ours);
}

/* The job that nobody has spawned is the first, as labels have it. */
static void count(struct job_names *all, const struct hb_msg_name *m,
                  job_name_told told, void *who, uint32_t src)
{
    struct hb_msg_name_reply reply = {.id = m->id};
    struct hb_buf number;

    hb_buf_init(&number, sizeof all->n_jobs);
    hb_buf_put_u32(&number, FIRST_SPAWNED + all->n_jobs++);
    reply.value = (struct hb_bytes){number.data, number.len};
    told(who, src, &reply);
    hb_buf_destroy(&number);
}

void job_name_ask(struct job *j, const struct hb_msg_name *m,
                  job_name_told told, void *who, uint32_t src)
{
    struct hb_msg_name_reply reply = {.id = m->id};
    struct job_names *all = names_of(j);
    struct name *n;

    if (j->ancestry != NULL) {
        ask_above(j, m, told, who, src);
        return;
    }
    if (m->op == HB_NAME_COUNT) {
        count(all, m, told, who, src);
        return;
    }
    n = find(all, m->name);
    if (m->op == HB_NAME_PUBLISH) {
        reply.status = publish(all, m);
    } else {
        reply.status = n != NULL ? 0 : HPCBOOT_ERR_NOT_FOUND;
    }
    if (m->op == HB_NAME_LOOKUP && n != NULL) {
        reply.value = (struct hb_bytes){n->value, n->len};
    }
    told(who, src, &reply);
    if (m->op == HB_NAME_UNPUBLISH && n != NULL) {
        take_away(all, n);
    }
}

static void host_told(void *who, uint32_t src,
                      const struct hb_msg_name_reply *reply)
{
    struct job_host *h = who;

    HOST_SEND(h, name_reply, .id = reply->id, .status = reply->status,
              .value = reply->value);
}

int job_name_frame(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_name m;
    int rc = hb_wire_get_name(f, &m, err);

    if (rc == 0) {
        job_name_ask(h->job, &m, host_told, h, 0);
    }
    return rc;
}

int job_name_answered(struct job *j, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct asked **at = &names_of(j)->asked, *a;
    struct hb_msg_name_reply m;
    int rc = hb_wire_get_name_reply(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    while (*at != NULL && (*at)->id != m.id) {
        at = &(*at)->next;
    }
    a = *at;
    if (a != NULL) {
        *at = a->next;
        m.id = a->their_id;
        if (a->who != NULL) {
            a->told(a->who, a->src, &m);
        }
        free(a);
    }
    return 0;
}

void job_names_forget(struct job *j, const void *who)
{
    struct asked *a = j->names != NULL ? j->names->asked : NULL;

    for (; a != NULL; a = a->next) {
        a->who = a->who == who ? NULL : a->who;
    }
}

void job_names_close(struct job *j)
{
    struct job_names *all = j->names;

    if (all == NULL) {
        return;
    }
    while (all->n > 0) {
        take_away(all, &all->names[0]);
    }
    while (all->asked != NULL) {
        struct asked *a = all->asked;

        all->asked = a->next;
        free(a);
    }
    free(all->names);
    free(all);
    j->names = NULL;
}
