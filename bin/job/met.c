/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Did the ranks of a framework meet? At the end each agent says what it saw at
 * the places where ranks were to meet (bin/hpcbootd/meet.c): ranks that ended
 * well and never met were worlds of their own, which is told. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/job/framework.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define HOST_TEXT 320 /* a sentence with a host name in it */

#define TOLD 1
#define MET 2 /* by its own word, or that of who was connected with it */

static void note(struct job *j, uint32_t node, unsigned char what)
{
    struct job_framework *f = j->framework;

    if (node < j->map->n_nodes && node >= f->n_met) { /* some come later */
        f->met = hb_xrealloc(f->met, j->map->n_nodes);
        memset(f->met + f->n_met, 0, j->map->n_nodes - f->n_met);
        f->n_met = j->map->n_nodes;
    }
    if (node < f->n_met) {
        f->met[node] |= what;
    }
}

int job_meeting_met(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct job_framework *fw = h->job->framework;
    struct hb_msg_met m;
    int rc = hb_wire_get_met(f, &m, err);

    if (rc < 0 || fw == NULL || h->node == HB_NODE_UNSET) {
        return rc;
    }
    fw->met_told++;
    if (h->node == job_meeting_head(h->job)) {
        fw->head_met = m.seen;
    }
    note(h->job, h->node, TOLD | (m.seen & HB_MET_FAR ? MET : 0));
    for (uint32_t i = 0; i < m.nodes.n; i++) {
        note(h->job, hb_wire_u32s_at(&m.nodes, i), MET);
    }
    return 0;
}

/* Nodes besides the head's that have told, and that nobody was connected with;
 * and one of them. */
static uint32_t apart(const struct job *j, uint32_t *one)
{
    const struct job_framework *f = j->framework;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_met; i++) {
        if (i != job_meeting_head(j) && f->met[i] == TOLD) {
            *one = i;
            n++;
        }
    }
    return n;
}

static int is_this_host(const char *place)
{
    return strstr(place, "localhost") != NULL ||
           hb_starts_with(place, "=::1") || strstr(place, "[::1]") != NULL ||
           strstr(place, "127.0.0.1") != NULL;
}

/* The user has named another place to all ranks (-x MASTER_ADDR=...), and not
 * to each its own host. */
static int names_place(const struct job *j, const struct hb_strv *rules)
{
    int yes = 0;

    for (size_t i = 0; !yes && i < rules->n; i++) {
        const char *rule = rules->v[i];
        size_t len = strcspn(rule, "=");
        char *name = hb_xstrndup(rule + 1, len - 1);

        yes = rule[0] == '+' && !is_this_host(rule + len) &&
              hb_recipe_says_where(j->framework->recipe, name);
        free(name);
    }
    return yes;
}

/* Ranks that ended well and never met were worlds of one. */
void job_meeting_judge(const struct job *j)
{
    const struct job_framework *f = j->framework;
    const char *at;
    char who[HOST_TEXT];
    uint32_t n_apart, one = 0;
    int lonely, is_v6;

    if (f == NULL || j->map == NULL || j->map->n_ranks < 2 ||
        f->met_told < j->map->n_nodes || j->verdict.kind != HB_CAUSE_NONE) {
        return;
    }
    lonely = !(f->head_met & (HB_MET_LISTENER | HB_MET_NEAR | HB_MET_FAR));
    n_apart = apart(j, &one);
    if (f->n_places == 0 || (!lonely && n_apart == 0) ||
        names_place(j, &j->rules) ||
        names_place(j, &j->opt->apps[0].env_rules)) {
        return;
    }
    if (lonely) {
        snprintf(who, sizeof who, "none of your %u ranks", j->map->n_ranks);
    } else {
        snprintf(who, sizeof who, "no rank on %s%s",
                 j->map->node_names[one], n_apart > 1 ? " and on others" : "");
    }
    at = f->addresses.v[f->places[0].node];
    is_v6 = strchr(at, ':') != NULL;
    hb_log(HB_WARN, "%s ever connected to %s%s%s:%u%s, where the ranks of %s "
           "meet: they were worlds of their own, or met elsewhere; does the "
           "program name a master itself (localhost)?", who,
           is_v6 ? "[" : "", at, is_v6 ? "]" : "", f->places[0].port,
           f->n_places > 1 ? " or to those of others" : "", f->name);
}
