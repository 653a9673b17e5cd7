/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* One line that is drawn over itself.
 *
 * The line is kept shorter than the terminal is wide, so that a carriage
 * return and "erase to the end" remove it. It is written only when poll()
 * says that the terminal takes it: a stopped terminal must not stop the
 * launcher. */
#include "config.h"

#include "bin/cli/progress.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

#define LINE_MAX_BYTES 512
#define USUAL_WIDTH 80u
#define QUIET_NS 500000000    /* a start this quick needs no line */
#define REDRAW_NS 1000000000  /* the seconds shown change */
#define SECOND_NS 1000000000

#define ERASE "\r\033[K"

struct hb_progress {
    int fd;
    int shown, over;
    int64_t begun_ns, drawn_ns;
    char text[LINE_MAX_BYTES];
};

struct hb_progress *hb_progress_create(int fd)
{
    const char *term = getenv("TERM");
    struct hb_progress *p;

    if (!isatty(fd) || !term || !term[0] || !strcmp(term, "dumb")) {
        return NULL;
    }
    p = hb_xcalloc(1, sizeof *p);
    p->fd = fd;
    p->begun_ns = hb_now_ns();
    return p;
}

void hb_progress_destroy(struct hb_progress *p)
{
    hb_progress_done(p);
    free(p);
}

static unsigned width_of(int fd)
{
    struct winsize w;

    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col
                                                      : USUAL_WIDTH;
}

static void put(const struct hb_progress *p, const char *text)
{
    struct pollfd fd = {.fd = p->fd, .events = POLLOUT};

    if (poll(&fd, 1, 0) == 1 && write(p->fd, text, strlen(text)) < 0) {
        return; /* a line that is only decoration */
    }
}

/* What a remote side or a file said may hold bytes that move a cursor. */
static void plain(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            *text = ' ';
        }
    }
}

void hb_progress_text(char *out, size_t size, unsigned width,
                      const struct hb_progress_view *view,
                      int64_t elapsed_ns, int64_t whole_ns)
{
    char where[LINE_MAX_BYTES] = "", limit[32] = "";

    if (view->slowest) {
        snprintf(where, sizeof where, "; %s: %s", view->slowest,
                 view->why ? view->why : "?");
    }
    if (whole_ns > 0) {
        snprintf(limit, sizeof limit, " of %lld s",
                 (long long)(whole_ns / SECOND_NS));
    }
    snprintf(out, size < width ? size : width, "hosts: %u of %u ready%s%s, "
             "%lld s%s%s", view->n_ready, view->n_wanted,
             view->stages && *view->stages ? ", " : "",
             view->stages ? view->stages : "",
             (long long)(elapsed_ns / SECOND_NS), limit, where);
    plain(out);
}

void hb_progress_update(struct hb_progress *p,
                        const struct hb_progress_view *view)
{
    int64_t now = hb_now_ns(), whole = 0;
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + sizeof ERASE];

    if (!p || p->over || now - p->begun_ns < QUIET_NS) {
        return;
    }
    if (view->deadline_ns != HB_NEVER) {
        whole = view->deadline_ns - view->begun_ns;
    }
    hb_progress_text(text, sizeof text, width_of(p->fd), view,
                     now - view->begun_ns, whole);
    if (p->shown && !strcmp(text, p->text)
        && now - p->drawn_ns < REDRAW_NS) {
        return;
    }
    memcpy(p->text, text, sizeof text);
    snprintf(line, sizeof line, ERASE "%s", text);
    put(p, line);
    p->shown = 1;
    p->drawn_ns = now;
}

void hb_progress_erase(struct hb_progress *p)
{
    if (p && p->shown) {
        put(p, ERASE);
        p->shown = 0;
    }
}

void hb_progress_done(struct hb_progress *p)
{
    hb_progress_erase(p);
    if (p) {
        p->over = 1;
    }
}
