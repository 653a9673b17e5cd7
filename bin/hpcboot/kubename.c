/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Names of Kubernetes' objects, so that what it would refuse is refused before
 * it is written down. */

#include "config.h"

#include "bin/hpcboot/kubename.h"

#include <string.h>

#define NAME_MAX_ALL 253 /* of all labels of a name */

int kube_is_label(const char *text, size_t n, const char *set)
{
    return n > 0 && n <= KUBE_LABEL_MAX && strspn(text, set) >= n &&
           strchr("-._", text[0]) == NULL && strchr("-._", text[n - 1]) == NULL;
}

int kube_is_name(const char *text, size_t n, int is_dotted)
{
    const char *dot = is_dotted ? memchr(text, '.', n) : NULL;
    size_t first = dot != NULL ? (size_t)(dot - text) : n;

    return n <= NAME_MAX_ALL && kube_is_label(text, first, KUBE_LOWER "-") &&
           (dot == NULL || kube_is_name(dot + 1, n - first - 1, 1));
}

int kube_check_name(const char *option, const char *value, int is_dotted,
                    struct hpcboot_error *err)
{
    if (value != NULL && !kube_is_name(value, strlen(value), is_dotted)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--%s %s: not a name for "
                       "Kubernetes (a-z, 0-9%s and -)", option, value,
                       is_dotted ? ", ." : "");
    }
    return 0;
}
