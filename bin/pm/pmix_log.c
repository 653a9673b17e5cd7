/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMIx_Log: text that a rank has its server write for it goes the way of the
 * rank's output. Where too much of that waits for whoever reads it, the rank's
 * answer waits, too. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

struct hb_pmix_logged {
    struct hb_pmix_logged *next; /* the latest first */
    pmix_op_cbfunc_t op;
    void *cbdata;
};

static unsigned log_stream(const pmix_info_t *info)
{
    if (info->value.type != PMIX_STRING || info->value.data.string == NULL) {
        return 0;
    }
    return PMIX_CHECK_KEY(info, PMIX_LOG_STDERR)   ? STDERR_FILENO
           : PMIX_CHECK_KEY(info, PMIX_LOG_STDOUT) ? STDOUT_FILENO
                                                   : 0;
}

static void answer_later(struct hb_pm *pm, const struct hb_pmix_event *ev)
{
    struct hb_pmix_logged *l = hb_xcalloc(1, sizeof *l);

    *l = (struct hb_pmix_logged){pm->logged, ev->op, ev->cbdata};
    pm->logged = l;
}

void hb_pmix_run_log(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    int local = hb_pmix_is_local(pm, &ev->proc), room = 1;
    pmix_status_t rc = PMIX_ERR_NOT_SUPPORTED;

    for (size_t i = 0; local && i < ev->n_infos; i++) {
        unsigned stream = log_stream(&ev->infos[i]);

        if (stream != 0) {
            const char *text = ev->infos[i].value.data.string;

            rc = PMIX_SUCCESS;
            room = pm->host.output(pm->arg, ev->proc.rank, stream,
                                   (struct hb_bytes){text, strlen(text)});
        }
    }
    if (room) {
        hb_pmix_answer(ev->op, rc, ev->cbdata);
    } else if (ev->op != NULL) {
        answer_later(pm, ev);
    }
}

void hb_pmix_output_room(struct hb_pm *pm)
{
    struct hb_pmix_logged *l = pm->logged, *next;

    pm->logged = NULL;
    for (; l != NULL; l = next) {
        next = l->next;
        hb_pmix_answer(l->op, PMIX_SUCCESS, l->cbdata);
        free(l);
    }
}

void hb_pmix_logged_destroy(struct hb_pm *pm)
{
    while (pm->logged != NULL) {
        struct hb_pmix_logged *l = pm->logged;

        pm->logged = l->next;
        free(l);
    }
}
