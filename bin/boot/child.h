/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_CHILD_H
#define HB_BOOT_CHILD_H

#include <sys/types.h>

#include "lib/base/error.h"

struct event_base;

/* Watches one child process and reaps it. */
struct hb_child;

/* `gone` is called from the loop once the child has been reaped; `how` is its
 * end in words: "ssh exited with status 255", "ssh was killed by signal 9
 * (KILL)", and exit_status the number, 0 where it did not exit. NULL: only
 * reap it. */
typedef void (*hb_child_gone)(void *arg, const char *how, int exit_status);

int hb_child_watch(struct hb_child **out, struct event_base *base, pid_t pid,
                   hb_child_gone gone, void *arg, struct hpcboot_error *err);

/* The owner has no more interest: `gone` will not be called. The child is
 * still reaped while the loop runs, and gets SIGTERM when it has not ended
 * term_after_ms later (< 0: never; it only goes on if it was stopped).
 * NULL-safe. */
void hb_child_release(struct hb_child *child, int term_after_ms);

/* Waits a moment for released children, ends those that had a time set and
 * what they have started, and reaps them. Blocks, 2.5 s at most. */
void hb_children_settle(void);

#define HB_CHILD_KEPT_FD 3

/* What the starter of a child gives it. */
struct hb_child_spec {
    char *const *argv; /* argv[0] is looked up in PATH */
    char *const *env;  /* NULL: this process's own */
    int in, out, err;  /* become 0, 1, 2 */
    int keep;          /* becomes HB_CHILD_KEPT_FD; 0: there is none */
    int death_signal;  /* what it gets when this process ends; 0: nothing */
};

/* Starts a program in a session of its own (a terminal's ^C is for the
 * launcher to handle), with no signal blocked or ignored. Blocks until the
 * program runs or could not be executed. */
int hb_child_spawn(const struct hb_child_spec *spec, pid_t *pid_out,
                   struct hpcboot_error *err);

#endif
