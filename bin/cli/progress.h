/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_PROGRESS_H
#define HB_CLI_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* One quiet line on a terminal while hosts connect; nothing elsewhere. It is
 * erased before anything else is printed (the log sink does that). All calls
 * accept NULL. */
struct hb_progress;

/* NULL when fd is no terminal, or one that cannot erase a line. */
struct hb_progress *hb_progress_create(int fd);
void hb_progress_destroy(struct hb_progress *p);
struct hb_progress_view {
    unsigned n_ready, n_wanted;
    const char *stages;  /* of the others: "2 at connect, 1 at resolve"; "" */
    const char *slowest; /* the one that is furthest back, or NULL */
    const char *why;     /* what it is waited for */
    int64_t begun_ns;    /* of the waiting */
    int64_t deadline_ns; /* or HB_NEVER */
};

/* "hosts: 5 of 8 ready, 3 at connect, 4 s of 60 s; pod-3: refuses". Drawn
 * again when something has changed or a second has passed, and not in the
 * first moment: a quick start shows nothing. */
void hb_progress_update(struct hb_progress *p,
                        const struct hb_progress_view *view);
void hb_progress_erase(struct hb_progress *p); /* may be shown again */
void hb_progress_done(struct hb_progress *p);  /* is not shown again */

/* The line itself, cut to width - 1 columns; for tests. */
void hb_progress_text(char *out, size_t size, unsigned width,
                      const struct hb_progress_view *view,
                      int64_t elapsed_ns, int64_t whole_ns);

#endif
