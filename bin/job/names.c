/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The job's name service: what ranks publish is kept at the launcher. A spawned
 * job shares the names of the one that has started it, so its launcher keeps
 * none and asks the one above; the answer goes to whoever has asked here.
 * Launchers themselves ask it for numbers for the jobs that they start. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/ancestry.h"
#include "bin/job/job_impl.h"
#include "bin/job/kept_names.h"
#include "lib/base/str.h"

#define FIRST_SPAWNED 2u

struct asked { /* of the launcher above */
    struct asked *next;
    uint64_t id, their_id;
    job_name_told told;
    void *who;
    uint32_t src;
    int waits;
};

struct job_names {
    struct kept_names kept;
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

static void say_above(struct job *j, const struct hb_msg_name *m, uint64_t id)
{
    struct hb_msg_name ours = *m;

    ours.id = id;
    job_ancestry_name(j, &ours);
}

/* What is answered says so below, too. */
static void give_up_above(struct job *j, const struct hb_msg_name *m,
                          const void *who, uint32_t src)
{
    const struct asked *a = names_of(j)->asked;

    while (a != NULL &&
           (a->their_id != m->id || a->who != who || a->src != src)) {
        a = a->next;
    }
    if (a != NULL) {
        say_above(j, m, a->id);
    }
}

static void ask_above(struct job *j, const struct hb_msg_name *m,
                      job_name_told told, void *who, uint32_t src)
{
    struct job_names *all = names_of(j);
    struct asked *a = hb_xcalloc(1, sizeof *a);

    *a = (struct asked){.next = all->asked, .id = ++all->last_id,
                        .their_id = m->id, .told = told, .who = who,
                        .src = src, .waits = m->op == HB_NAME_WAIT};
    all->asked = a;
    say_above(j, m, a->id);
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
    struct job_names *all = names_of(j);

    if (j->ancestry != NULL && m->op == HB_NAME_GIVE_UP) {
        give_up_above(j, m, who, src);
    } else if (j->ancestry != NULL && m->op == HB_NAME_GONE) {
        say_above(j, m, 0);
    } else if (j->ancestry != NULL) {
        ask_above(j, m, told, who, src);
    } else if (m->op == HB_NAME_COUNT) {
        count(all, m, told, who, src);
    } else {
        kept_names_ask(&all->kept, m, told, who, src);
    }
}

static void nobody_told(void *who, uint32_t src,
                        const struct hb_msg_name_reply *reply)
{
}

void job_names_over(struct job *j, const char *job_id)
{
    char *name = hb_xasprintf(KEPT_NAMES_OVER "%s", job_id);
    const struct hb_msg_name m = {.op = HB_NAME_UNPUBLISH, .name = name};

    job_name_ask(j, &m, nobody_told, NULL, 0);
    free(name);
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
    const struct hb_msg_name no_more = {.op = HB_NAME_GIVE_UP};
    struct asked *a = j->names != NULL ? j->names->asked : NULL;

    for (; a != NULL; a = a->next) {
        if (a->who == who) {
            a->who = NULL;
            if (a->waits) {
                say_above(j, &no_more, a->id);
            }
        }
    }
    if (j->names != NULL) {
        kept_names_forget(&j->names->kept, who);
    }
}

void job_names_close(struct job *j)
{
    struct job_names *all = j->names;

    if (all == NULL) {
        return;
    }
    kept_names_clear(&all->kept);
    while (all->asked != NULL) {
        struct asked *a = all->asked;

        all->asked = a->next;
        free(a);
    }
    free(all);
    j->names = NULL;
}
