/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which nodes hang on one switch of the network: HPCBOOT_LEAVES has the
 * numbers of the nodes at which a leaf begins, "0,16,32", as hbrun --order
 * topology gives it to all ranks. The same at all of them: which messages a
 * collective sends follows from it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/api/api.h"
#include "lib/base/str.h"

#define LEAVES "HPCBOOT_LEAVES"

/* The next number, which must be greater than the one before. */
static int next_start(const char **text, long *start)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(*text, &end, 10);
    if (errno != 0 || **text < '0' || **text > '9' || n <= *start ||
        n > INT32_MAX || (*end != ',' && *end != '\0') ||
        (*end == ',' && end[1] == '\0')) {
        return -1;
    }
    *start = n;
    *text = end + (*end == ',');
    return 0;
}

int hb_api_leaves_check(struct hpcboot_error *err)
{
    const char *all = getenv(LEAVES), *text = all;
    long start = -1;

    while (text != NULL && *text != '\0') {
        if (next_start(&text, &start) < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, LEAVES ": \"%.64s\" is no "
                           "list of nodes at which leaves begin, such as "
                           "0,16,32", all);
        }
    }
    return 0;
}

void hb_api_leaves_open(void)
{
    const char *text = getenv(LEAVES);
    long start = -1;
    int leaf = 0, node = 0;

    if (text == NULL || *text == '\0' || hb_api.nodes < 2) {
        return;
    }
    hb_api.leaf = hb_xcalloc((size_t)hb_api.nodes, sizeof *hb_api.leaf);
    while (*text != '\0' && next_start(&text, &start) == 0) {
        for (; node < start && node < hb_api.nodes; node++) {
            hb_api.leaf[node] = leaf;
        }
        leaf++;
    }
    for (; node < hb_api.nodes; node++) {
        hb_api.leaf[node] = leaf;
    }
}

void hb_api_leaves_close(void)
{
    free(hb_api.leaf);
    hb_api.leaf = NULL;
}
