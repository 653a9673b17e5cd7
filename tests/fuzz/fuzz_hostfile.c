/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes as a hostfile, in every dialect. What was understood and can be
 * written must be understood again, with the same hosts in the same order. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ranges can make a million hosts out of a few bytes; that is one test's
 * business, not each input's. */
#define MAX_DIGITS 4
/* A host list is one line, and no line of a file is longer. */
#define MAX_LIST_BYTES (512u << 10)

static int is_cheap(const uint8_t *data, size_t size)
{
    size_t digits = 0, brackets = 0;

    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        brackets += data[i] == '[';
        if (brackets > 0 && digits > MAX_DIGITS) {
            return 0;
        }
    }
    return brackets < 2;
}

/* A node file has a line per slot. */
#define MAX_NODE_FILE_SLOTS 10000

static int is_long(const struct hb_form *d, const struct hb_gang *gang)
{
    long slots = 0;

    for (size_t i = 0; i < gang->n; i++) {
        slots += gang->hosts[i].slots;
    }
    return d == &hb_form_pbs && slots > MAX_NODE_FILE_SLOTS;
}

static void check_again(const struct hb_form *d, const struct hb_gang *gang)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_strv dropped = HB_STRV_INIT;
    struct hb_gang again = {0};

    d->write(gang, &text, &dropped);
    if ((d == &hb_form_list || d == &hb_form_slurm ||
         d == &hb_form_horovod) &&
        text.len > MAX_LIST_BYTES) {
        goto done;
    }
    if (hb_form_parse(d, "again", text.s, text.len, &again, NULL) < 0 ||
        again.n != gang->n) {
        abort();
    }
    for (size_t i = 0; i < gang->n; i++) {
        if (strcmp(again.hosts[i].name, gang->hosts[i].name) != 0) {
            abort();
        }
    }
done:
    hb_gang_destroy(&again);
    hb_str_destroy(&text);
    hb_strv_destroy(&dropped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!is_cheap(data, size)) {
        return 0;
    }
    for (const struct hb_form *const *d = hb_forms(); *d != NULL; d++) {
        struct hb_gang gang = {0};
        struct hpcboot_error err;
        if (hb_form_parse(*d, "fuzz", (const char *)data, size, &gang,
                             &err) >= 0 && !is_long(*d, &gang)) {
            check_again(*d, &gang);
        }
        hb_gang_destroy(&gang);
    }
    hb_form_guess((const char *)data, size);
    return 0;
}
