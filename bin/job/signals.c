/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The signals that end hbrun, and what one does that comes while no loop hears
 * it: hosts are gathered, which may take minutes, and nothing has been started.
 * It is said, and hbrun ends; as process 1 of a pod it would not even do that
 * of its own accord, as the kernel drops a signal that process 1 has no handler
 * for. The loop's own handlers take the place of these (ending.c). */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/cli/logsink.h"
#include "bin/job/job_impl.h"
#include "lib/base/str.h"

#define SIGNAL_STATUS 128

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define N_ENDS (sizeof ends / sizeof *ends)

static char *words[N_ENDS]; /* made beforehand: a handler may not */

void job_signals_that_end(sigset_t *out)
{
    struct sigaction now;

    sigemptyset(out);
    for (size_t i = 0; i < N_ENDS; i++) {
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
            sigaddset(out, ends[i]);
        }
    }
}

static void end_at_once(int signo)
{
    for (size_t i = 0; i < N_ENDS; i++) {
        if (ends[i] == signo) {
            (void)!write(STDERR_FILENO, words[i], strlen(words[i]));
        }
    }
    _exit(SIGNAL_STATUS + signo);
}

const char *job_program(int only_wait)
{
    return only_wait ? "hpcboot" : "hbrun";
}

void job_signals_begin(int only_wait)
{
    const struct sigaction action = {.sa_handler = end_at_once};
    sigset_t heard;

    job_signals_that_end(&heard);
    for (size_t i = 0; i < N_ENDS; i++) {
        char name[64], *text;

        hb_signal_text(ends[i], name, sizeof name);
        text = hb_xasprintf("%s was told to end by %s",
                           job_program(only_wait), name);
        free(words[i]);
        words[i] = hb_logsink_line(HB_ERROR, text);
        free(text);
        if (sigismember(&heard, ends[i])) {
            (void)sigaction(ends[i], &action, NULL);
        }
    }
}
