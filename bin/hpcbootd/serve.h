/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_SERVE_H
#define HB_HPCBOOTD_SERVE_H

#include <stddef.h>

#include "lib/base/error.h"

struct event_base;

/* How all commands of hpcbootd end; hpcbootd(8). */
#define EXIT_USAGE 2
#define EXIT_OUTPUT 74 /* EX_IOERR */
#define EXIT_HOST 75   /* EX_TEMPFAIL: worth another try */

/* main.c: prints what was asked for (--help). Returns the exit status. */
int hpcbootd_answer(const char *text);

/* serve.c: `hpcbootd serve`, a pod's entry point. argv[0] is the command's
 * name. Returns the exit status. */
int serve_main(int argc, char **argv);
/* kv.c: `hpcbootd kv`, where ranks of Horovod with Gloo meet. */
int kv_main(int argc, char **argv);
/* In the session's directory: a number in a line for each rank that was lost
 * while the job goes on. */
#define HB_RANKS_LOST "ranks_lost"
/* tell.c: rank 0 has put `value`; it is told that others have come. */
void kv_tell(const char *value, size_t len);
/* join.c: `hpcbootd join`, a rank until it knows its number there. */
int join_main(int argc, char **argv);
/* crew.c: `hpcbootd crew`, a rank with commands around it. */
int crew_main(int argc, char **argv);
/* `hpcbootd health`: asks the server of this pod how it is. */
int health_main(int argc, char **argv);

/* health.c: a socket that whoever connects to reads a line from. It has a name
 * and no file, so that nothing need be writable, and is seen in this network
 * namespace alone. */
struct health;

/* What the line says; 1: well. */
typedef int (*health_words)(void *arg, char *text, size_t size);

int health_open(struct health **out, struct event_base *base, unsigned port,
                health_words words, void *arg, struct hpcboot_error *err);
void health_close(struct health *h); /* NULL-safe */

#endif
