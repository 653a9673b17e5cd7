/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_FABRIC_SYSREAD_H
#define HB_FABRIC_SYSREAD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"
#include "lib/fabric/fabric.h"

/* Small files of sysfs, below a root that tests move. A path is given as
 * printf's words. A file that is not there, or that the kernel does not let
 * read, as those of empty slots (EINVAL), is empty. */

/* The first line without its end. Returns its length, -1: cannot be read. */
int hb_sys_text(char *out, size_t size, const char *root, const char *fmt, ...)
    HB_PRINTF(4, 5);
/* A number in the C forms, or `otherwise`. */
int64_t hb_sys_number(int64_t otherwise, const char *root, const char *fmt,
                      ...) HB_PRINTF(3, 4);
/* The last part of what a link leads to; "" without one. */
void hb_sys_link(char *out, size_t size, const char *root, const char *fmt,
                 ...) HB_PRINTF(4, 5);
/* Names in a directory, sorted as numbers where they differ in one. */
void hb_sys_list(struct hb_strv *out, const char *root, const char *fmt, ...)
    HB_PRINTF(3, 4);
int hb_sys_exists(const char *root, const char *fmt, ...) HB_PRINTF(2, 3);
/* Fills what is known of where the device whose directory is `dir` stands. */
void hb_sys_place(struct hb_place *out, const char *root, const char *dir);

/* As much of a text as there is room for. */
void hb_copy(char *out, size_t size, const char *text);

/* Parts of hb_fabric_read. */
void hb_sys_rdma(const char *root, struct hb_fabric *out);
void hb_sys_netdevs(const char *root, struct hb_fabric *out);
void hb_sys_gpus(const char *root, struct hb_fabric *out);
/* What libibverbs adds to what sysfs says; `notes` as of hb_fabric_read. */
void hb_fabric_merge(struct hb_fabric *sys, const struct hb_fabric *verbs,
                     struct hb_strv *notes);

#endif
