/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_PROC_H
#define HB_PROC_PROC_H

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* Starting one process. Between fork and exec only async-signal-safe calls
 * are made; a step that fails comes back as (stage, errno) through a pipe. */
enum hb_proc_stage {
    HB_PROC_FORK, HB_PROC_STDIO, HB_PROC_SESSION, HB_PROC_LIMITS,
    HB_PROC_BIND, HB_PROC_MEMORY, HB_PROC_CHDIR, HB_PROC_EXEC
};
const char *hb_proc_stage_name(enum hb_proc_stage stage); /* "chdir" */

struct hb_proc_limit {
    int resource; /* RLIMIT_* */
    struct rlimit value;
    int optional; /* refused by the system: go on */
};

struct hb_proc_spec {
    const char *file;       /* without a '/': looked up with the child's PATH */
    char *const *argv;
    char *const *env;
    const char *wdir;       /* NULL: stay */
    int tries_wdir;         /* 1: `file` may be there when PATH has it not */
    int stdio[3];           /* descriptors that become 0, 1, 2; -1: /dev/null */
    const int *keep_fds;    /* [n_keep] parent's descriptors ... */
    const int *keep_as;     /* ... and their numbers (>= 3) in the child */
    size_t n_keep;
    int umask;              /* -1: as it is */
    const struct hb_proc_limit *limits;
    size_t n_limits;
    const cpu_set_t *cpuset; /* NULL: not bound */
    size_t cpuset_size;      /* bytes */
    int mem_mode;            /* MPOL_*: where memory comes from; 0: anywhere.
                              * Refused: an error for MPOL_BIND only */
    const unsigned long *mem_nodes;
    size_t mem_bits;
    int new_session;        /* 1: own session and process group */
    int new_group;          /* 1: own process group, in the caller's session,
                             * from the moment hb_proc_spawn returns */
    int death_signal;       /* PR_SET_PDEATHSIG, 0: none; it comes when the
                             * thread ends that called hb_proc_spawn */
    int waits;              /* the caller may stand still until the exec, and
                             * waits for it anyway: vfork, which is quicker */
};

/* Forks, or vforks. *error_fd_out (CLOEXEC, nonblocking) reports a failed
 * start; it reaches its end when the program runs, or when the child was
 * killed before it could. The caller reaps the child, closes *error_fd_out,
 * and keeps spec's own. The child has all signals at their defaults and
 * unblocked, and no descriptor but the ones of spec. Does not block without
 * `waits`. ERR_SPAWN, ERR_USAGE. */
int hb_proc_spawn(const struct hb_proc_spec *spec, pid_t *pid_out,
                  int *error_fd_out, struct hpcboot_error *err);
/* 1: failed, *stage_out and *errno_out are set; 0: it runs; ERR_AGAIN: not
 * known yet. */
int hb_proc_started(int error_fd, enum hb_proc_stage *stage_out,
                    int *errno_out);
/* Fills *err with ERR_SPAWN and a text as
 * "cannot start ./a.out: exec: No such file or directory (is it ...?)" with a
 * hint for common cases (interpreter missing, wrong architecture, noexec,
 * not executable, directory). Looks at files: for the moment after a failure.
 * `spec` as it was given to hb_proc_spawn, env included. */
void hb_proc_explain(const struct hb_proc_spec *spec, enum hb_proc_stage stage,
                     int sys_errno, struct hpcboot_error *err);

#endif
