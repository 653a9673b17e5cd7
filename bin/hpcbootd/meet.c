/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Do the ranks of a framework meet at all? A script that names another master
 * than the one it was given makes of N ranks N worlds of their own, which may
 * all end well. The kernel's table of TCP connections knows: this looks, now
 * and then and once more when the ranks have ended (connections that were
 * closed stay there for a minute), whether anything here listens at the
 * meeting place or is connected with it, and tells the launcher. What was
 * there before the ranks is of a job before. */
#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define LOOK_MS 250
#define TABLE_BYTES_MAX (16u << 20)
#define STATE_LISTEN 0x0a
#define WORDS 4 /* of an IPv6 address */

struct end {
    uint32_t word[WORDS]; /* as in /proc: network order in memory */
    unsigned n_words, port;
};

/* "0100007F:1F90" or 32 digits. */
static int read_end(const char *text, struct end *out)
{
    size_t digits = strspn(text, "0123456789ABCDEFabcdef");

    if ((digits != 8 && digits != 32) || text[digits] != ':') {
        return -1;
    }
    out->n_words = (unsigned)(digits / 8);
    for (unsigned i = 0; i < out->n_words; i++) {
        char word[9] = "";

        memcpy(word, text + 8 * i, 8);
        out->word[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    out->port = (unsigned)strtoul(text + digits + 1, NULL, 16);
    return 0;
}

/* The address of an end as text; IPv4 in IPv6 as IPv4. */
static void end_text(const struct end *e, char text[INET6_ADDRSTRLEN])
{
    int mapped = e->n_words == WORDS && e->word[0] == 0 && e->word[1] == 0 &&
                 e->word[2] == htonl(0xffff);

    text[0] = '\0';
    if (e->n_words == 1 || mapped) {
        inet_ntop(AF_INET, &e->word[mapped ? 3 : 0], text, INET6_ADDRSTRLEN);
    } else {
        inet_ntop(AF_INET6, e->word, text, INET6_ADDRSTRLEN);
    }
}

/* What one connection says of the place. */
static unsigned judge(const char *line, const char *address, unsigned port)
{
    char local[80], remote[80], from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
    struct end l, r;
    unsigned state;
    int there, here;

    if (sscanf(line, " %*u: %79s %79s %x", local, remote, &state) != 3 ||
        read_end(local, &l) < 0 || read_end(remote, &r) < 0) {
        return 0;
    }
    if (state == STATE_LISTEN) {
        return l.port == port ? HB_MET_LISTENER : 0;
    }
    end_text(&l, from);
    end_text(&r, to);
    here = l.port == port && hb_streq(from, address);
    there = r.port == port && hb_streq(to, address);
    if (here && hb_streq(to, address)) {
        return HB_MET_NEAR;
    }
    return here || there ? (hb_streq(from, to) ? HB_MET_NEAR : HB_MET_FAR)
                         : 0;
}

/* The two ends of a line, which name the connection; free() it. */
static char *ends_of(const char *line)
{
    char local[80] = "", remote[80] = "";

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

/* HB_MET_* of a table. `before`: connections that do not count; where `begin`
 * is set, those of this table are put there instead. */
static unsigned judge_table(const char *table, const char *address,
                            unsigned port, struct hb_strv *before, int begin)
{
    unsigned seen = 0;

    for (const char *line = table; line != NULL && *line != '\0';) {
        unsigned one = judge(line, address, port);
        char *ends = one != 0 ? ends_of(line) : NULL;

        if (one != 0 && begin) {
            hb_strv_push(before, ends);
        } else if (one != 0 && !was_there(before, ends)) {
            seen |= one;
        }
        free(ends);
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return seen;
}

static void look(struct agent *a, int begin)
{
    static const char *const tables[] = {"/proc/self/net/tcp",
                                         "/proc/self/net/tcp6"};
    const char *address;
    uint32_t port;

    if (!agent_recipe_meeting(a, &address, &port)) {
        return;
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *text = NULL;
        size_t len;

        if (hb_file_read(tables[i], TABLE_BYTES_MAX, &text, &len, NULL) >= 0) {
            a->met |= judge_table(text, address, port, &a->met_before, begin);
        }
        free(text);
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval again = {0, LOOK_MS * 1000};
    struct agent *a = arg;

    look(a, 0);
    if (!(a->met & HB_MET_FAR)) { /* once is enough */
        event_add(a->meet_timer, &again);
    }
}

void agent_meet_watch(struct agent *a)
{
    const char *address;
    uint32_t port;

    if (agent_recipe_meeting(a, &address, &port)) {
        look(a, 1);
        a->meet_timer = evtimer_new(a->base, on_look, a);
        on_look(-1, 0, a);
    }
}

void agent_meet_tell(struct agent *a)
{
    const char *address;
    uint32_t port;

    if (agent_recipe_meeting(a, &address, &port)) {
        look(a, 0);
        AGENT_SEND(a, met, .seen = a->met);
    }
}
