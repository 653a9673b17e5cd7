/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_SPAWN_H
#define HB_PM_SPAWN_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* What a rank wants started (MPI_Comm_spawn), as plain data: programs in the
 * order in which they were named. They become a job of their own, whose ranks
 * meet each other as those of any job do, and know who has started them.
 *
 * Hints are "KEY=VALUE" of a program's info, under the keys that the MPIs
 * share; whoever starts the job reads those it knows:
 *     wdir=DIR   path=DIRS   host=a,b   env=NAME=VALUE (may come often)
 * and HB_SPAWN_ALONE, where the ranks are not waited for. */
#define HB_SPAWN_ALONE_KEY "hpcboot-alone"
#define HB_SPAWN_ALONE HB_SPAWN_ALONE_KEY "=yes"
#define HB_SPAWN_COUNTS 3u
struct hb_pm_spawn {
    uint32_t n_apps;
    uint32_t *counts; /* [n_apps][HB_SPAWN_COUNTS] ranks, words, hints */
    struct hb_strv words;
    struct hb_strv hints;
    struct hb_strv preput; /* "KEY=VALUE" in the new job's store */
    size_t bytes;          /* of all texts, and what names each of them */
};
/* Of all; arguments of a program may be 2 MiB, counted in the same way. So
 * there are never more texts than a message can list. */
#define HB_SPAWN_BYTES_MAX (4u << 20)
/* Of one text: what a message can carry. An argument may be 128 KiB. */
#define HB_SPAWN_TEXT_MAX (1u << 20)

/* ERR_LIMIT where it grows beyond any program's needs, ERR_SPAWN where nobody
 * can start what is asked for: a program without a name, so many programs, so
 * many or so few ranks; nothing was added. */
int hb_pm_spawn_app(struct hb_pm_spawn *s, const char *program, uint32_t ranks,
                    struct hpcboot_error *err);
/* Of the program that was added last. */
int hb_pm_spawn_arg(struct hb_pm_spawn *s, const char *word,
                    struct hpcboot_error *err);
int hb_pm_spawn_hint(struct hb_pm_spawn *s, const char *key,
                     const char *value, struct hpcboot_error *err);
int hb_pm_spawn_preput(struct hb_pm_spawn *s, const char *key,
                       const char *value, struct hpcboot_error *err);
uint32_t hb_pm_spawn_ranks(const struct hb_pm_spawn *s); /* of all programs */
void hb_pm_spawn_clear(struct hb_pm_spawn *s); /* leaves it empty */

#endif
