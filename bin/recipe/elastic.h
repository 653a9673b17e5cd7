/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_ELASTIC_H
#define HB_RECIPE_ELASTIC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* Who is who among the ranks of an elastic Horovod job, when some of them have
 * come or were lost. A state machine without I/O. A rank that begins, whose
 * collectives fail or that was told of others asks for its number; when all
 * that are there have asked, they are the new world, in the order of the job,
 * so that rank 0 is one that has the state of the training. */
struct hb_elastic;

/* slots: a line HOST:LOCAL_RANK for each rank, in order. ERR_PARSE. */
int hb_elastic_create(struct hb_elastic **out, const char *slots,
                      struct hpcboot_error *err);
void hb_elastic_destroy(struct hb_elastic *e); /* NULL-safe */

/* The rank of the job that asks, marked as one that waits; -1: there is none.
 * HOST:LOCAL_RANK: that calls itself so in this world; RANK/HOST:LOCAL_RANK:
 * a process that begins. */
int64_t hb_elastic_ask(struct hb_elastic *e, const char *key);
void hb_elastic_unask(struct hb_elastic *e, uint32_t rank);
void hb_elastic_lose(struct hb_elastic *e, uint32_t rank);
uint32_t hb_elastic_size(const struct hb_elastic *e); /* that are left */
/* Somebody waits that those in this world do not know. */
int hb_elastic_grows(const struct hb_elastic *e);
/* 1: all that are left wait, are so many at the least, and are the new world
 * from now on. */
int hb_elastic_turn(struct hb_elastic *e, uint32_t least);
/* "rank,size,local_rank,local_size,cross_rank,cross_size" in this world. */
void hb_elastic_numbers(const struct hb_elastic *e, uint32_t rank,
                        struct hb_str *out);

#endif
