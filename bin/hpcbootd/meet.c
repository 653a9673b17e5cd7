/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Do the ranks of a framework meet at all? A script that names another master
 * than the one it was given makes of N ranks N worlds of their own, which may
 * all end well. The kernel knows all TCP connections: this looks, now and then
 * and once more when the ranks have ended (connections that were closed stay
 * there for a minute), whether anything here listens at one of the
 * places where ranks are to meet or is connected with one of them, and tells
 * the launcher, and also with which nodes: of a connection that was over
 * between two looks only the end that closed it first has kept a trace. What
 * was there before the ranks is of a job before. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "bin/hpcbootd/tcplinks.h"
#include "bin/recipe/recipe.h"
#include "lib/base/str.h"

#define LOOK_MS 250

struct agent_meet {
    struct event *timer;
    struct tcp_end *places; /* sorted */
    size_t n;
    unsigned seen;           /* HB_MET_* */
    struct in6_addr *of_node; /* [n_nodes] */
    unsigned char *met;      /* [n_nodes]: a connection from there, or to it */
    uint32_t n_nodes;
    struct tcp_link *before; /* connections of jobs before */
    size_t n_before;
    int begins; /* what is seen now was there before */
};

static int order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tcp_end));
}

static int is_place(const struct agent_meet *m, const struct tcp_end *e)
{
    return bsearch(e, m->places, m->n, sizeof *m->places, order) != NULL;
}

static int listens_at_place(const struct agent_meet *m,
                            const struct tcp_end *e)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->places[i].port == e->port) {
            return 1;
        }
    }
    return 0;
}

/* What one connection says of the places. */
static unsigned judge(const struct agent_meet *m, const struct tcp_link *l)
{
    if (l->listens) {
        return listens_at_place(m, &l->local) ? HB_MET_LISTENER : 0;
    }
    if (!is_place(m, &l->local) && !is_place(m, &l->remote)) {
        return 0;
    }
    return memcmp(&l->local.address, &l->remote.address,
                  sizeof l->local.address) == 0
               ? HB_MET_NEAR : HB_MET_FAR;
}

/* A rank may call from the port of one before, whose trace it takes away. */
static int was_there(const struct agent_meet *m, const struct tcp_link *l)
{
    for (size_t i = 0; i < m->n_before; i++) {
        if (order(&m->before[i].local, &l->local) == 0 &&
            order(&m->before[i].remote, &l->remote) == 0 &&
            m->before[i].cookie == l->cookie) {
            return 1;
        }
    }
    return 0;
}

/* Nodes of one address cannot be told apart. */
static void meet_node(struct agent_meet *m, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (memcmp(&m->of_node[i], address, sizeof *address) == 0) {
            m->met[i] = 1;
        }
    }
}

static void see(const struct tcp_link *l, void *arg)
{
    struct agent_meet *m = arg;
    unsigned one = judge(m, l);

    if (one != 0 && m->begins) {
        m->before = hb_xrealloc(m->before,
                                (m->n_before + 1) * sizeof *m->before);
        m->before[m->n_before++] = *l;
    } else if (one != 0 && !was_there(m, l)) {
        m->seen |= one;
        if (one == HB_MET_FAR) {
            meet_node(m, &l->remote.address);
        }
    }
}

static void look_again(struct agent_meet *m)
{
    static const struct timeval again = {0, LOOK_MS * 1000};

    sure_add(m->timer, &again);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct agent_meet *m = arg;

    tcp_links(see, m);
    if (!(m->seen & HB_MET_FAR)) { /* once is enough */
        look_again(m);
    }
}

static void know_nodes(struct agent *a, struct agent_meet *m)
{
    m->n_nodes = agent_recipe_nodes(a);
    m->of_node = hb_xcalloc(m->n_nodes, sizeof *m->of_node);
    m->met = hb_xcalloc(m->n_nodes, sizeof *m->met);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct tcp_end e;

        if (tcp_end_parse(agent_recipe_address(a, i), 0, &e) == 0) {
            m->of_node[i] = e.address;
        }
    }
}

void agent_meet_watch(struct agent *a)
{
    struct hb_recipe_place *places;
    size_t n = agent_recipe_meeting(a, &places);
    struct agent_meet *m;

    if (n > 0 && a->meet == NULL) {
        m = a->meet = hb_xcalloc(1, sizeof *m);
        m->places = hb_xcalloc(n, sizeof *m->places);
        for (size_t i = 0; i < n; i++) {
            m->n += tcp_end_parse(agent_recipe_address(a, places[i].node),
                                  (uint16_t)places[i].port,
                                  &m->places[m->n]) == 0;
        }
        qsort(m->places, m->n, sizeof *m->places, order);
        know_nodes(a, m);
        m->begins = 1;
        tcp_links(see, m);
        m->begins = 0;
        m->timer = sure_timer(a->base, on_look, m);
        look_again(m);
    }
    free(places);
}

void agent_meet_tell(struct agent *a)
{
    struct agent_meet *m = a->meet;

    if (m != NULL) {
        uint32_t *nodes = hb_xcalloc(m->n_nodes, sizeof *nodes), n = 0;

        tcp_links(see, m);
        for (uint32_t i = 0; i < m->n_nodes; i++) {
            nodes[n] = i;
            n += m->met[i];
        }
        AGENT_SEND(a, met, .seen = m->seen, .nodes = {.v = nodes, .n = n});
        free(nodes);
    }
}

void agent_meet_destroy(struct agent_meet *m)
{
    if (m == NULL) {
        return;
    }
    if (m->timer != NULL) {
        event_free(m->timer);
    }
    free(m->before);
    free(m->of_node);
    free(m->met);
    free(m->places);
    free(m);
}
