/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What `hpcboot ps` and `hpcboot stuck` take from other hosts, a line for each
 * rank. What is taken is written as a line that is taken again as the same, and
 * nothing of what is shown is a word to the terminal. */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/hpcboot/ps.h"
#include "bin/hpcboot/stuck.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines of letters, of any script. */
static void check_text(const char *text)
{
    while (*text != '\0') {
        size_t n = *text == '\n' ? 1 : hb_utf8_len((const unsigned char *)text);

        if (n == 0 || (*text != '\n' && hb_control_len(text) > 0)) {
            abort();
        }
        text += n;
    }
}

static void take_ps(struct hb_ps_list *l, const char *line)
{
    struct hb_ps_rank r, again;
    char text[HB_PS_LINE_MAX], twice[HB_PS_LINE_MAX];

    if (hb_ps_parse(&r, line)) {
        hb_ps_line(&r, text, sizeof text);
        if (!hb_ps_parse(&again, text)) {
            abort();
        }
        hb_ps_line(&again, twice, sizeof twice);
        if (strcmp(text, twice) != 0) {
            abort();
        }
        hb_ps_add(l, &r);
    }
}

static void take_stuck(struct hb_stuck_list *l, const char *line)
{
    struct hb_stuck_rank r, again;
    char text[HB_STUCK_LINE_MAX], twice[HB_STUCK_LINE_MAX];

    if (hb_stuck_parse(&r, line)) {
        hb_stuck_line(&r, text, sizeof text);
        if (!hb_stuck_parse(&again, text)) {
            abort();
        }
        hb_stuck_line(&again, twice, sizeof twice);
        if (strcmp(text, twice) != 0) {
            abort();
        }
        hb_stuck_add(l, &r);
    }
}

static void show_ps(struct hb_ps_list *l)
{
    struct hb_str out = HB_STR_INIT;

    hb_ps_arrange(l, 0);
    hb_ps_jobs(l, &out);
    hb_ps_ranks(l, &out);
    hb_ps_lost(l, &out);
    check_text(hb_str_text(&out));
    hb_str_destroy(&out);
    hb_ps_json(l, &out);
    hb_str_destroy(&out);
    hb_ps_destroy(l);
}

static void show_stuck(struct hb_stuck_list *l)
{
    FILE *before = stdout;
    char *text = NULL;
    size_t n = 0;

    if (l->n > 0) {
        if ((stdout = open_memstream(&text, &n)) == NULL) {
            abort();
        }
        (void)hb_stuck_show(l, 0);
        fclose(stdout);
        stdout = before;
        if (strlen(text) != n) {
            abort();
        }
        check_text(text);
        free(text);
    }
    hb_stuck_destroy(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_ps_list ps = {0};
    struct hb_stuck_list stuck = {0};
    char *text = hb_xmalloc(size + 1), *save = NULL;

    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        take_ps(&ps, line);
        take_stuck(&stuck, line);
    }
    free(text);
    show_ps(&ps);
    show_stuck(&stuck);
    return 0;
}
