/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A gang as a value: emptied, marked, and the gang that is this host alone. */

#include "config.h"

#include "hostfile/hostfile.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/build.h"
#include "hostfile/hostname.h"
#include "hostfile/source.h"
#include "lib/base/str.h"

static void host_destroy(struct hb_host *h)
{
    free(h->name);
    free(h->user);
    free(h->origin);
    memset(h, 0, sizeof(*h));
}

void hb_gang_destroy(struct hb_gang *gang)
{
    if (gang == NULL) {
        return;
    }
    for (size_t i = 0; i < gang->n; i++) {
        host_destroy(&gang->hosts[i]);
    }
    for (size_t i = 0; i < gang->n_passed; i++) {
        free(gang->passed_over[i]);
    }
    for (size_t i = 0; i < gang->n_notes; i++) {
        free(gang->notes[i]);
    }
    free(gang->notes);
    free(gang->launch_with);
    free(gang->if_missed);
    free(gang->hosts);
    free(gang->mentions);
    free(gang->passed_over);
    free(gang->source);
    free(gang->detail);
    free(gang->gang_key);
    memset(gang, 0, sizeof(*gang));
}

int hb_slots_word(const char *text, int *slots_out, enum hb_count *count_out)
{
    static const struct {
        const char *word;
        enum hb_count count;
    } words[] = {
        {"auto", HB_COUNT_CORES}, {"cpu", HB_COUNT_CORES},
        {"*", HB_COUNT_CORES},    {"gpu", HB_COUNT_GPUS},
    };
    uint64_t n;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i].word) == 0) {
            *slots_out = 0;
            *count_out = words[i].count;
            return 1;
        }
    }
    if (hb_parse_u64(text, 1, HB_MAX_SLOTS, &n) < 0) {
        return 0;
    }
    *slots_out = (int)n;
    *count_out = HB_COUNT_UNSAID;
    return 1;
}

void hb_gang_default_slots(struct hb_gang *gang, int slots,
                           enum hb_count count)
{
    for (size_t i = 0; i < gang->n; i++) {
        struct hb_host *h = &gang->hosts[i];
        if (h->slots == 0 && h->count == HB_COUNT_UNSAID) {
            h->slots = slots;
            h->count = count;
        }
    }
}

void hb_gang_default_word(struct hb_gang *gang, const char *text)
{
    enum hb_count count;
    int slots;

    if (hb_streq(text, HB_SLOTS_DEVICES)) {
        hb_gang_default_slots(gang, 0, HB_COUNT_GPUS_ELSE_CORES);
    } else if (text != NULL && hb_slots_word(text, &slots, &count)) {
        hb_gang_default_slots(gang, slots, count);
    }
}

void hb_gang_note(struct hb_gang *gang, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    gang->notes = hb_xrealloc(gang->notes,
                              (gang->n_notes + 1) * sizeof(*gang->notes));
    gang->notes[gang->n_notes++] = hb_str_steal(&text);
}

void hb_gang_cut(struct hb_gang *gang, size_t n)
{
    size_t kept = 0;

    for (size_t i = n; i < gang->n; i++) {
        host_destroy(&gang->hosts[i]);
    }
    for (size_t i = 0; i < gang->n_mentions; i++) {
        if (gang->mentions[i].host < n) {
            gang->mentions[kept++] = gang->mentions[i];
        }
    }
    gang->n_mentions = kept;
    gang->n = n < gang->n ? n : gang->n;
}

void hb_gang_mark_local(struct hb_gang *gang, const char *root)
{
    struct hb_self *self = hb_self_create(root);

    for (size_t i = 0; i < gang->n; i++) {
        gang->hosts[i].is_local = hb_self_is(self, gang->hosts[i].name);
    }
    hb_self_destroy(self);
}

void hb_gang_add_local_at(struct hb_gang *out, const char *root)
{
    struct hb_self *self = hb_self_create(root);
    struct hb_host *h;

    out->hosts = hb_xrealloc(out->hosts, (out->n + 1) * sizeof(*out->hosts));
    h = &out->hosts[out->n];
    memset(h, 0, sizeof(*h));
    h->name = hb_xstrdup(hb_self_name(self));
    h->is_local = 1;
    h->origin = hb_xstrdup(HB_ORIGIN_THIS_HOST);
    out->mentions = hb_xrealloc(out->mentions, (out->n_mentions + 1) *
                                                   sizeof(*out->mentions));
    out->mentions[out->n_mentions++] = (struct hb_mention){
        .host = (uint32_t)out->n};
    out->n++;
    hb_self_destroy(self);
}
