/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hbrun: starts a parallel program in a gang of hosts. Reads the command line
 * and the configuration, answers --help, --version and --completion itself,
 * and leaves the rest to bin/job. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "bin/cli/logsink.h"
#include "bin/cli/options.h"
#include "bin/job/job.h"
#include "bin/job/verdict.h"
#include "bin/proc/termlog.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

extern char **environ;

/* Without -v: what the user should do something about. */
static enum hb_log_level level_of(const struct hb_options *o)
{
    static const enum hb_log_level levels[] = {HB_INFO, HB_DEBUG, HB_TRACE};
    int v = o->verbose < 2 ? o->verbose : 2;

    return o->quiet ? HB_ERROR : levels[v];
}

/* Scripts, build systems and Horovod look for the words "Open MPI", "HYDRA" or
 * "slurm" here before they choose options: those of the dialect are right. */
static void say_version(enum hb_dialect dialect)
{
    static const char *const takes[] = {
        [HB_DIALECT_OPENMPI] = "mpirun (Open MPI) 4.1",
        [HB_DIALECT_HYDRA] = "mpiexec.hydra (HYDRA of MPICH)",
        [HB_DIALECT_SRUN] = "srun (slurm)",
    };

    printf("hbrun (hpcboot) %s\n", PACKAGE_VERSION);
    printf("takes the command line of %s\n", takes[dialect]);
}

/* 1: the command line asked for words only, and they were printed. */
static int said_it_all(const struct hb_options *o)
{
    if (o->help) {
        hb_options_help(stdout, o->help_topic, o->dialect);
    } else if (o->version) {
        say_version(o->dialect);
    } else if (o->completion != NULL) {
        hb_options_completion(stdout, o->completion);
    } else {
        return 0;
    }
    return 1;
}

/* Whatever started this process need not have left it in good order: closed
 * descriptors, signals that are blocked, children whose ends the kernel throws
 * away. A file that may not grow is an error of its write. */
static int settle(struct hpcboot_error *err)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    return hb_fd_fill_standard(err);
}

int main(int argc, char **argv)
{
    const struct hb_options_source source = {
        .env = environ, .etc_dir = HB_SYSCONFDIR, .home = getenv("HOME"),
    };
    struct hb_options *opt = NULL;
    struct hpcboot_error err = {0};
    int status = 0;

    if (settle(&err) < 0) {
        fprintf(stderr, "hbrun: error: %s\n", err.text); /* if it is there */
        return HB_EXIT_INTERNAL;
    }
    hb_logsink_open("hbrun", HB_INFO);
    if (hb_options_parse(&opt, argc, argv, &source, &err) < 0) {
        hb_log(HB_ERROR, "%s", err.text);
        hb_termlog_write(err.text);
        return HB_EXIT_USAGE;
    }
    hb_logsink_open("hbrun", level_of(opt));
    for (size_t i = 0; i < opt->warnings.n; i++) {
        hb_log(HB_WARN, "%s", opt->warnings.v[i]);
    }
    if (!said_it_all(opt)) {
        status = hb_job_run(opt, environ);
    }
    hb_options_destroy(opt);
    return status == 0 && !hb_stdout_written() ? HB_EXIT_OUTPUT : status;
}
