/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Do the ranks of a framework meet at all? A script that names another master
 * than the one it was given makes of N ranks N worlds of their own, which may
 * all end well. The kernel's table of TCP connections knows: this looks, now
 * and then and once more when the ranks have ended (connections that were
 * closed stay there for a minute), whether anything here listens at one of the
 * places where ranks are to meet or is connected with one of them, and tells
 * the launcher. What was there before the ranks is of a job before. */
#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcbootd/agent.h"
#include "bin/recipe/recipe.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define LOOK_MS 250
#define TABLE_BYTES_MAX (16u << 20)
#define STATE_LISTEN 0x0a
#define END_TEXT 80 /* of an address and a port in the table */

/* One end of a connection, or a place; IPv4 as IPv6 has it. */
struct end {
    struct in6_addr address;
    uint16_t port, pad;
};

struct agent_meet {
    struct event *timer;
    struct end *places; /* sorted */
    size_t n;
    unsigned seen;         /* HB_MET_* */
    struct hb_strv before; /* connections of jobs before */
};

static void put_v4(struct in6_addr *out, const void *four)
{
    memset(out, 0, sizeof *out);
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(&out->s6_addr[12], four, 4);
}

/* "0100007F:1F90" or 32 digits: words in network order in memory. */
static int read_end(const char *text, struct end *out)
{
    size_t digits = strspn(text, "0123456789ABCDEFabcdef");
    uint32_t words[4];

    if ((digits != 8 && digits != 32) || text[digits] != ':') {
        return -1;
    }
    for (size_t i = 0; i < digits / 8; i++) {
        char word[9] = "";

        memcpy(word, text + 8 * i, 8);
        words[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    if (digits == 8) {
        put_v4(&out->address, words);
    } else {
        memcpy(&out->address, words, sizeof words);
    }
    out->port = (uint16_t)strtoul(text + digits + 1, NULL, 16);
    out->pad = 0;
    return 0;
}

static int order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct end));
}

static int is_place(const struct agent_meet *m, const struct end *e)
{
    return bsearch(e, m->places, m->n, sizeof *m->places, order) != NULL;
}

static int listens_at_place(const struct agent_meet *m, const struct end *e)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->places[i].port == e->port) {
            return 1;
        }
    }
    return 0;
}

/* What one connection says of the places. */
static unsigned judge(const struct agent_meet *m, const char *line)
{
    char local[END_TEXT], remote[END_TEXT];
    struct end l, r;
    unsigned state;

    if (sscanf(line, " %*u: %79s %79s %x", local, remote, &state) != 3 ||
        read_end(local, &l) < 0 || read_end(remote, &r) < 0) {
        return 0;
    }
    if (state == STATE_LISTEN) {
        return listens_at_place(m, &l) ? HB_MET_LISTENER : 0;
    }
    if (!is_place(m, &l) && !is_place(m, &r)) {
        return 0;
    }
    return memcmp(&l.address, &r.address, sizeof l.address) == 0
               ? HB_MET_NEAR : HB_MET_FAR;
}

/* The two ends of a line, which name the connection; free() it. */
static char *ends_of(const char *line)
{
    char local[END_TEXT] = "", remote[END_TEXT] = "";

    (void)sscanf(line, " %*u: %79s %79s", local, remote);
    return hb_xasprintf("%s %s", local, remote);
}

static int was_there(const struct hb_strv *before, const char *ends)
{
    for (size_t i = 0; i < before->n; i++) {
        if (hb_streq(before->v[i], ends)) {
            return 1;
        }
    }
    return 0;
}

/* What a table says is added to `seen`; the first time it is kept as what was
 * there before. */
static void judge_table(struct agent_meet *m, const char *table, int begin)
{
    for (const char *line = table; line != NULL && *line != '\0';) {
        unsigned one = judge(m, line);
        char *ends = one != 0 ? ends_of(line) : NULL;

        if (one != 0 && begin) {
            hb_strv_push(&m->before, ends);
        } else if (one != 0 && !was_there(&m->before, ends)) {
            m->seen |= one;
        }
        free(ends);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

static void look(struct agent_meet *m, int begin)
{
    static const char *const tables[] = {"/proc/self/net/tcp",
                                         "/proc/self/net/tcp6"};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *text = NULL;
        size_t len;

        if (hb_file_read(tables[i], TABLE_BYTES_MAX, &text, &len, NULL) >= 0) {
            judge_table(m, text, begin);
        }
        free(text);
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval again = {0, LOOK_MS * 1000};
    struct agent_meet *m = arg;

    look(m, 0);
    if (!(m->seen & HB_MET_FAR)) { /* once is enough */
        event_add(m->timer, &again);
    }
}

static void add_place(struct agent_meet *m, const char *address, uint32_t port)
{
    struct end *e = &m->places[m->n];
    unsigned char four[4];

    memset(e, 0, sizeof *e);
    e->port = (uint16_t)port;
    if (inet_pton(AF_INET, address, four) == 1) {
        put_v4(&e->address, four);
        m->n++;
    } else {
        m->n += inet_pton(AF_INET6, address, &e->address) == 1;
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
            add_place(m, agent_recipe_address(a, places[i].node),
                      places[i].port);
        }
        qsort(m->places, m->n, sizeof *m->places, order);
        look(m, 1);
        m->timer = evtimer_new(a->base, on_look, m);
        on_look(-1, 0, m);
    }
    free(places);
}

void agent_meet_tell(struct agent *a)
{
    if (a->meet != NULL) {
        look(a->meet, 0);
        AGENT_SEND(a, met, .seen = a->meet->seen);
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
    hb_strv_destroy(&m->before);
    free(m->places);
    free(m);
}
