/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_PROC_WORLD_H
#define HB_TESTS_PROC_WORLD_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

/* What tests of guard and sweep share: processes that do what they can to
 * stay, and a page of memory in which they enter themselves. The program that
 * runs the tests is a subreaper, so nothing can escape it. */
#define MAX_PIDS 64
#define PATIENCE_MS 60000 /* when a test has failed, not how long it takes */
#define COOKIE "0123456789abcdef0123456789abcdef"

/* Shared with all processes of a test. */
struct world {
    atomic_int n;
    pid_t pids[MAX_PIDS];
    atomic_int expected; /* so many enter themselves */
    atomic_int flag, count;
    pid_t agent, guard;
};
extern struct world *world;

/* Set-up and tear-down of each test; the latter kills what is left. */
int make_world(void **state);
int drop_world(void **state);

/* In the processes. */
void child(void (*run)(void)); /* forks one that runs it */
void enter(void);
void stay(void) __attribute__((noreturn));
void wait_entered(void); /* until all that are expected have entered */
void sleeper(void);
void stubborn(void);        /* ignores every signal it can */
void stopped(void);
void session_sleeper(void); /* two, in a session of their own */
void daemon_way(void);      /* the same two, their parent gone */
void headless(void);        /* its first thread has ended */

/* In the tests. */
void short_pause(void);
int open_pid(pid_t pid);                /* a pidfd */
int gone(int pidfd, int timeout_ms);    /* 1: it has ended */
void reap_status(pid_t pid, int *status);
/* Runs `body` in a process that is a subreaper of its own; its exit status
 * is the verdict. */
void in_agent(int (*body)(void), int verdict);
/* A process that is nobody's descendant but this program's, with `entry` in
 * its environment after `padding` bytes. */
pid_t stray(const char *entry, size_t padding);
void end_stray(pid_t pid, int expected_signal);

#endif
