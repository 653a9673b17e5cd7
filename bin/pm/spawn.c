/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A request for a spawned job, put together piece by piece and bounded. */
#include "config.h"

#include "bin/pm/spawn.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

enum { RANKS, WORDS, HINTS, PER_APP = HB_SPAWN_COUNTS };

/* `len` bytes of one text, without its NUL. */
static int has_room(struct hb_pm_spawn *s, size_t len,
                    struct hpcboot_error *err)
{
    if (len > HB_SPAWN_TEXT_MAX) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "a request for processes has a "
                       "word of more than %u bytes", HB_SPAWN_TEXT_MAX);
    }
    len += 1 + sizeof(char *);
    if (s->bytes > HB_SPAWN_BYTES_MAX - len) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "a request for processes has "
                       "more than %u bytes of words", HB_SPAWN_BYTES_MAX);
    }
    s->bytes += len;
    return HPCBOOT_OK;
}

int hb_pm_spawn_app(struct hb_pm_spawn *s, const char *program, uint32_t ranks,
                    struct hpcboot_error *err)
{
    int rc;

    if (*program == '\0' || s->n_apps == HB_MAX_APPS) {
        return hb_fail(err, HPCBOOT_ERR_SPAWN, "program %u, \"%s\", of one "
                       "request cannot be started", s->n_apps + 1, program);
    }
    if (ranks == 0 || ranks > HB_MAX_RANKS - hb_pm_spawn_ranks(s)) {
        return hb_fail(err, HPCBOOT_ERR_SPAWN, "%u processes of \"%s\" cannot "
                       "be started", ranks, program);
    }
    rc = has_room(s, strlen(program), err);
    if (rc < 0) {
        return rc;
    }
    s->counts = hb_xrealloc(s->counts, ((size_t)s->n_apps + 1) * PER_APP *
                                           sizeof *s->counts);
    s->counts[s->n_apps * PER_APP + RANKS] = ranks;
    s->counts[s->n_apps * PER_APP + WORDS] = 1;
    s->counts[s->n_apps * PER_APP + HINTS] = 0;
    s->n_apps++;
    hb_strv_push(&s->words, program);
    return HPCBOOT_OK;
}

int hb_pm_spawn_arg(struct hb_pm_spawn *s, const char *word,
                    struct hpcboot_error *err)
{
    int rc = has_room(s, strlen(word), err);

    if (rc == 0) {
        s->counts[(s->n_apps - 1) * PER_APP + WORDS]++;
        hb_strv_push(&s->words, word);
    }
    return rc;
}

int hb_pm_spawn_hint(struct hb_pm_spawn *s, const char *key,
                     const char *value, struct hpcboot_error *err)
{
    int rc = has_room(s, strlen(key) + strlen(value) + 1, err);

    if (rc == 0) {
        s->counts[(s->n_apps - 1) * PER_APP + HINTS]++;
        hb_strv_pushf(&s->hints, "%s=%s", key, value);
    }
    return rc;
}

int hb_pm_spawn_preput(struct hb_pm_spawn *s, const char *key,
                       const char *value, struct hpcboot_error *err)
{
    int rc = has_room(s, strlen(key) + strlen(value) + 1, err);

    if (rc == 0) {
        hb_strv_pushf(&s->preput, "%s=%s", key, value);
    }
    return rc;
}

uint32_t hb_pm_spawn_ranks(const struct hb_pm_spawn *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_apps; i++) {
        n += s->counts[i * PER_APP + RANKS];
    }
    return n;
}

void hb_pm_spawn_clear(struct hb_pm_spawn *s)
{
    free(s->counts);
    hb_strv_destroy(&s->words);
    hb_strv_destroy(&s->hints);
    hb_strv_destroy(&s->preput);
    memset(s, 0, sizeof *s);
}
