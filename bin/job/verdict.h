/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_VERDICT_H
#define HB_JOB_VERDICT_H

#include <stddef.h>
#include <stdint.h>

/* How a job ended, and why: the one place that turns what happened into an
 * exit status and a sentence. No I/O. The first cause wins, by the agents'
 * clocks corrected to the launcher's; what follows it is collateral. Where
 * two moments are too close to be told apart, a signal or an abort outranks
 * an exit, because exits follow from them and not the other way round; and what
 * hbrun itself was told outranks what became of hosts and ranks, as a batch
 * system may tell all of them the same. A rank
 * that was killed by SIGKILL, nobody knows by whom, on a host that is lost soon
 * was killed by what took the host. */
enum hb_cause_kind {
    HB_CAUSE_NONE,
    HB_CAUSE_START,       /* a rank could not be started */
    HB_CAUSE_EXIT,        /* a rank exited with a status other than 0 */
    HB_CAUSE_SIGNAL,      /* a rank was ended by a signal */
    HB_CAUSE_ABORT,       /* a rank called abort */
    HB_CAUSE_NO_INIT,     /* a rank exited 0, others wait for it in MPI_Init */
    HB_CAUSE_NO_FINALIZE, /* a rank exited 0 inside a running MPI job */
    HB_CAUSE_HOST,        /* a host was lost or of no use */
    HB_CAUSE_SPAWNED,       /* ranks that a rank has started have failed */
    HB_CAUSE_RESIZE,      /* hosts have come or gone, and ranks follow */
    HB_CAUSE_TIMEOUT,     /* --timeout */
    HB_CAUSE_USER,        /* hbrun itself was told to end by a signal */
    HB_CAUSE_OUTPUT,      /* the launcher's own output cannot be written */
    HB_CAUSE_USAGE,       /* the job as it was asked for cannot be */
    HB_CAUSE_INTERNAL     /* a defect, or the launcher's host refused */
};

/* Exit statuses that are not a program's own. */
#define HB_EXIT_USAGE 2
#define HB_EXIT_INTERNAL 70  /* EX_SOFTWARE */
#define HB_EXIT_OUTPUT 74    /* EX_IOERR */
#define HB_EXIT_RETRY 75     /* EX_TEMPFAIL: infrastructure, worth a retry */
#define HB_EXIT_TIMEOUT 124  /* as timeout(1) */
#define HB_EXIT_NOT_EXEC 126 /* as the shell: found and cannot be run */
#define HB_EXIT_NOT_FOUND 127

struct hb_cause {
    enum hb_cause_kind kind;
    int64_t time_ns;   /* launcher's monotonic clock */
    uint32_t rank;     /* where the kind has one */
    const char *host;  /* borrowed for the call; copied when it wins */
    int code;          /* exit status, signal number or abort code */
    int sys_errno;     /* HB_CAUSE_START */
    int core_dumped;
    int ends_job;      /* under every policy */
    int of_library;    /* NO_INIT, NO_FINALIZE: of libhpcboot, and not MPI */
    const char *text;  /* the agent's own words, or NULL */
    const char *evidence; /* what the cgroup says, or NULL or "" */
};

#define HB_VERDICT_TEXT_MAX 1024
#define HB_VERDICT_HOST_MAX 256
struct hb_verdict {
    enum hb_cause_kind kind; /* of the first cause */
    int64_t time_ns;
    int status;              /* exit status; 0 while nothing has failed */
    unsigned n_causes;       /* how many were told, the first included */
    int outlived;            /* the job has gone on: what hbrun is told later
                                is another matter */
    char killed_on[HB_VERDICT_HOST_MAX]; /* where a rank was killed by SIGKILL
                                without evidence of why; else "" */
    char text[HB_VERDICT_TEXT_MAX]; /* one sentence; "" without a cause */
};

/* Takes one cause into account. Returns 1 when it is the first so far. */
int hb_verdict_add(struct hb_verdict *v, const struct hb_cause *cause);
/* Whether the cause tells why the first one happened, though it came later: an
 * end by SIGKILL is told some time after it, an exit that follows at once. */
int hb_verdict_explained_by(const struct hb_verdict *v,
                            const struct hb_cause *cause);
/* Whether the first one, a change of size, is no failure, and the cause ends
 * the job for good, though it came later; or the cause is what hbrun itself was
 * told in the moment of the first one, which no job has gone on from. */
int hb_verdict_yields_to(const struct hb_verdict *v,
                         const struct hb_cause *cause);
/* "SIGSEGV (Segmentation fault)"; static per call site's buffer. */
void hb_signal_text(int signo, char *text, size_t size);

#endif
