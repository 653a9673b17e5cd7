/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The options by which a command says which hosts it goes to, as the line of
 * an hbrun that would go there. */

#include "config.h"

#include "bin/hpcboot/gang_args.h"

#include <stdlib.h>

#include "bin/cli/logsink.h"
#include "bin/cli/options.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

extern char **environ;

const char *hb_gang_host_keys(size_t i)
{
    static const char *const words[] = {"strict", "pin"};

    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

const char *hb_gang_yes_no(size_t i)
{
    static const char *const words[] = {"yes", "no"};

    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

int hb_gang_any(const char *value)
{
    return value[0] != '\0';
}

void hb_gang_words(const struct hb_arg *args, const void *wanted,
                   struct hb_strv *line)
{
    static const struct hb_arg mine[] = {
        HB_GANG_ARGS(struct { struct hb_gang_wanted gang; })
    };

    hb_strv_push(line, "hbrun");
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
        const struct hb_arg *a = &args[i];
        const char *at = (const char *)wanted + a->offset;
        char buffer[HB_ARG_NAME_MAX];
        size_t state = 0;
        const char *name = hb_arg_name(a, &state, buffer, sizeof buffer);

        if (a->value == NULL) {
            for (int n = *(const int *)(const void *)at; n > 0; n--) {
                hb_strv_push(line, name);
            }
        } else if (*(const char *const *)(const void *)at != NULL) {
            hb_strv_pushf(line, "%s=%s", name,
                          *(const char *const *)(const void *)at);
        }
    }
}

static enum hb_log_level level_of(const struct hb_options *o)
{
    return o->quiet ? HB_ERROR : o->verbose > 1 ? HB_TRACE
           : o->verbose ? HB_DEBUG : HB_INFO;
}

int hb_gang_options(struct hb_options **out, struct hb_strv *line,
                    const char *command)
{
    const struct hb_options_source source = {
        .env = environ, .etc_dir = HB_SYSCONFDIR, .home = getenv("HOME"),
        .use = HB_USE_LINES, /* hosts are gone to, whatever --dry-run says */
    };
    struct hpcboot_error err = {0};
    int rc = hb_options_parse(out, (int)line->n, line->v, &source, &err);

    if (rc < 0) {
        hb_log(HB_ERROR, "%s: %s", command, err.text);
        return rc;
    }
    hb_logsink_open("hpcboot", level_of(*out));
    for (size_t i = 0; i < (*out)->warnings.n; i++) {
        hb_log(HB_WARN, "%s", (*out)->warnings.v[i]);
    }
    return rc;
}
