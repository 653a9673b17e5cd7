/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include "config.h"

#include "lib/xport/ucxlog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <ucs/config/global_opts.h>
#include <ucs/debug/log_def.h>

#define WHY_MAX 256

static __thread char said[WHY_MAX]; /* by UCX, in a call of ours */
static __thread int inside;
static int is_shared, user_logs;

static ucs_log_func_rc_t on_log(const char *file, unsigned line,
                                const char *function, ucs_log_level_t level,
                                const ucs_log_component_config_t *component,
                                const char *format, va_list ap)
{
    if (inside && level <= UCS_LOG_LEVEL_ERROR && said[0] == '\0') {
        va_list copy;

        va_copy(copy, ap);
        vsnprintf(said, sizeof said, format, copy);
        va_end(copy);
    }
    return user_logs || (is_shared && !inside) ||
                   level == UCS_LOG_LEVEL_FATAL /* it is about to abort */
               ? UCS_LOG_FUNC_RC_CONTINUE
               : UCS_LOG_FUNC_RC_STOP;
}

int hb_ucxlog_fail(char *why, size_t why_size, const char *what,
                   ucs_status_t status)
{
    snprintf(why, why_size, "%s: %s%s%s", what, ucs_status_string(status),
             said[0] != '\0' ? ": " : "", said);
    return -1;
}

int hb_ucxlog_user_has(const char *name)
{
    char full[128];

    snprintf(full, sizeof full, "UCX_%s", name);
    return getenv(full) != NULL;
}

void hb_ucxlog_open(int shared)
{
    static int done;

    if (done) {
        return;
    }
    done = 1;
    is_shared = shared;
    user_logs = hb_ucxlog_user_has("LOG_LEVEL");
    ucs_log_push_handler(on_log);
    if (!shared && !hb_ucxlog_user_has("WARN_UNUSED_ENV_VARS")) {
        (void)ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n");
    }
    if (!shared && !hb_ucxlog_user_has("HANDLE_ERRORS")) {
        (void)ucs_global_opts_set_value("HANDLE_ERRORS", "none");
    }
}

int hb_ucxlog_is_shared(void)
{
    return is_shared;
}

void hb_ucxlog_enter(void)
{
    inside++;
    said[0] = '\0';
}

void hb_ucxlog_leave(void)
{
    inside--;
}
