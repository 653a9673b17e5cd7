/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_STUCK_H
#define HB_HPCBOOT_STUCK_H

#include <stddef.h>
#include <stdint.h>

/* What the files of `hpcboot stuck` share. */

#define HB_STUCK_HOST_MAX 64
#define HB_STUCK_WHAT_MAX 200
/* At the end of what a rank waits for that asked for several threads: one of
 * them is seen, and another may end the wait of others. */
#define HB_STUCK_THREAD " (in one of its threads)"

/* One rank, as its host shows it. */
struct hb_stuck_rank {
    uint32_t job;   /* names it: a digest of what its ranks have in common */
    uint32_t rank, size;
    int on;         /* the rank it waits for; -1: nobody, or not known */
    int pid;
    char state;     /* as ps shows it */
    unsigned cpu;   /* percent of one CPU while it was looked at */
    char host[HB_STUCK_HOST_MAX];
    char what[HB_STUCK_WHAT_MAX];
};

struct hb_stuck_list {
    struct hb_stuck_rank *v;
    size_t n;
};
void hb_stuck_add(struct hb_stuck_list *l, const struct hb_stuck_rank *r);
void hb_stuck_destroy(struct hb_stuck_list *l);

/* stuck_host.c: the ranks of this user on this host. */
void hb_stuck_look(struct hb_stuck_list *out);

/* One rank as a line without its end; fields with tabs between. */
void hb_stuck_line(const struct hb_stuck_rank *r, char *out, size_t size);
#define HB_STUCK_LINE_MAX 512
/* 0: it is no such line. */
int hb_stuck_parse(struct hb_stuck_rank *out, const char *line);

/* Sorts the list, and writes a table of each job to stdout with a sentence
 * about who holds up the others. job 0: all. Returns how many ranks. */
size_t hb_stuck_show(struct hb_stuck_list *l, uint32_t job);

#endif
