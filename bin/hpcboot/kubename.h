/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_KUBENAME_H
#define HB_HPCBOOT_KUBENAME_H

#include <stddef.h>

#include "lib/base/error.h"

#define KUBE_LABEL_MAX 63 /* of one label of a name: RFC 1123 */
#define KUBE_LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define KUBE_UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* n characters of `set`, neither the first nor the last of them a mark. */
int kube_is_label(const char *text, size_t n, const char *set);
/* A label of a-z, 0-9 and -; several with dots between where `is_dotted`. */
int kube_is_name(const char *text, size_t n, int is_dotted);
/* The same of the value of an option, NULL where it was not given: ERR_USAGE
 * in words. */
int kube_check_name(const char *option, const char *value, int is_dotted,
                    struct hpcboot_error *err);

#endif
