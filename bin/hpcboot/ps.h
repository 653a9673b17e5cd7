/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_PS_H
#define HB_HPCBOOT_PS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"

/* What the files of `hpcboot ps` share. */

#define HB_PS_HOST_MAX 64
#define HB_PS_CPUS_MAX 64
#define HB_PS_PROGRAM_MAX 160
#define HB_PS_LINE_MAX 512

/* One rank with all processes below it, as its host shows it. */
struct hb_ps_rank {
    uint32_t job;        /* names it, as hpcboot stuck does */
    uint32_t rank, size; /* size 0: not known */
    int pid;             /* of its first process */
    char state;          /* of that one, as ps shows it */
    unsigned cpu;        /* percent of one CPU while it was looked at */
    unsigned processes;
    uint64_t kib;        /* resident; what they share counts for each */
    uint64_t age_s;
    int is_lost;         /* no agent is above it: nobody will end it */
    char host[HB_PS_HOST_MAX];
    char cpus[HB_PS_CPUS_MAX]; /* that it may run on: "0-3,8" */
    char program[HB_PS_PROGRAM_MAX];
};

struct hb_ps_list {
    struct hb_ps_rank *v;
    size_t n;
};
void hb_ps_add(struct hb_ps_list *l, const struct hb_ps_rank *r);
/* Sorts by job and rank, and forgets all jobs but one (0: none). */
void hb_ps_arrange(struct hb_ps_list *l, uint32_t job);
/* Of a list that is arranged: ranks that were seen twice, where several names
 * lead to one host, stand there once. */
void hb_ps_merge(struct hb_ps_list *l);
void hb_ps_destroy(struct hb_ps_list *l);

/* ps_host.c: the ranks of this user on this host. */
void hb_ps_look(struct hb_ps_list *out);

/* One rank as a line without its end; fields with tabs between. */
void hb_ps_line(const struct hb_ps_rank *r, char *out, size_t size);
/* 0: it is no such line. */
int hb_ps_parse(struct hb_ps_rank *out, const char *line);

/* A line for each job; a line for each rank, under its job's; or JSON. */
void hb_ps_jobs(const struct hb_ps_list *l, struct hb_str *out);
void hb_ps_ranks(const struct hb_ps_list *l, struct hb_str *out);
void hb_ps_json(const struct hb_ps_list *l, struct hb_str *out);
/* A sentence for each rank that is lost. */
void hb_ps_lost(const struct hb_ps_list *l, struct hb_str *out);

#endif
