/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_ELASTIC_H
#define HB_RECIPE_ELASTIC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* Who is who among the ranks of an elastic Horovod job, after some of them
 * were lost. A state machine without I/O. A rank whose collectives fail asks
 * for its number anew, as HOST:LOCAL_RANK; when all that are left have asked,
 * they are the new world, in the order of the old one, so that rank 0 is one
 * that has the state of the training. */
struct hb_elastic;

/* slots: a line HOST:LOCAL_RANK for each rank, in order. ERR_PARSE. */
int hb_elastic_create(struct hb_elastic **out, const char *slots,
                      struct hpcboot_error *err);
void hb_elastic_destroy(struct hb_elastic *e); /* NULL-safe */

/* The rank of the job that calls itself so in this world, marked as one that
 * waits; -1: there is none. */
int64_t hb_elastic_ask(struct hb_elastic *e, const char *key);
void hb_elastic_unask(struct hb_elastic *e, uint32_t rank);
void hb_elastic_lose(struct hb_elastic *e, uint32_t rank);
const char *hb_elastic_host(const struct hb_elastic *e, uint32_t rank);
uint32_t hb_elastic_size(const struct hb_elastic *e); /* that are left */
/* 1: all that are left wait, and are the new world from now on. */
int hb_elastic_turn(struct hb_elastic *e);
/* "rank,size,local_rank,local_size,cross_rank,cross_size" in this world. */
void hb_elastic_numbers(const struct hb_elastic *e, uint32_t rank,
                        struct hb_str *out);

#endif
