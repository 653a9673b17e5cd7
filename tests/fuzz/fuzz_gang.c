/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes where sources look: as an environment with one variable in each
 * line, as the file of Grid Engine, kubexec.sh and the ssh plugin's client
 * configuration. Whatever is found has hosts that are all whole; whatever is
 * not found says why. No files are there, and no program is started. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/dialect.h"
#include "hostfile/hostfile.h"
#include "hostfile/mpijob_v1.h"
#include "hostfile/sge.h"
#include "hostfile/volcano.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More digits in a row could mean a million hosts, which is the business of a
 * test of its own. */
#define MAX_DIGITS 3

static int is_cheap(const char *text)
{
    size_t digits = 0, brackets = 0;

    for (; *text != '\0'; text++) {
        digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
        brackets += *text == '[';
        if (digits > MAX_DIGITS) {
            return 0;
        }
    }
    return brackets < 2;
}

static void check(const struct hb_gang *g)
{
    if (g->n == 0 || g->source == NULL || g->detail == NULL) {
        abort();
    }
    for (size_t i = 0; i < g->n; i++) {
        const struct hb_host *h = &g->hosts[i];
        if (h->name == NULL || h->name[0] == '\0' || h->origin == NULL ||
            h->slots < 0 || h->max_slots < 0) {
            abort();
        }
    }
    for (size_t i = 0; i < g->n_mentions; i++) {
        if (g->mentions[i].host >= g->n) {
            abort();
        }
    }
}

static void as_environment(char *text)
{
    struct hb_strv env = HB_STRV_INIT;
    struct hb_gang_request req = {.root = "/nonexistent", .filter = 1};
    struct hb_gang g;
    struct hpcboot_error err = {0};
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (!hb_starts_with(line, "FLUX_")) {
            hb_strv_push(&env, line);
        }
    }
    req.env = hb_strv_view(&env);
    if (hb_gang_gather(&req, &g, &err) >= 0) {
        check(&g);
    } else if (g.n != 0 || err.text[0] == '\0') {
        abort();
    }
    hb_gang_destroy(&g);
    hb_strv_destroy(&env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_gang g = {0};
    int port = hb_vc_ssh_port((const char *)data, size, "a-0.job");

    if (port < 0 || port > 65535) {
        abort();
    }
    free(hb_kubexec_template((const char *)data, size));
    if (is_cheap(text)) {
        (void)hb_form_parse(&hb_form_sge, "fuzz", (const char *)data, size, &g,
                            NULL);
        as_environment(text);
    }
    hb_gang_destroy(&g);
    free(text);
    return 0;
}
