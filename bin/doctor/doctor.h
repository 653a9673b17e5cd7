/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_DOCTOR_DOCTOR_H
#define HB_DOCTOR_DOCTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/json.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/fabric/fabric.h"

/* What is wrong with a host, or between hosts, before a job finds out. */

enum hb_grade { HB_GRADE_GOOD, HB_GRADE_DEGRADED, HB_GRADE_BAD };
const char *hb_grade_name(enum hb_grade grade); /* "degraded" */

struct hb_finding {
    enum hb_grade grade; /* never GOOD */
    char *check;         /* "memlock": which check has found it */
    char *what, *why, *mend;
    struct hb_strv where; /* hosts */
};
struct hb_findings {
    struct hb_finding *v;
    size_t n;
};

/* Copies. A finding that is there already gets one more host. `where` may be
 * NULL: whoever asks knows it. */
void hb_finding_add(struct hb_findings *f, const struct hb_finding *what,
                    const char *where);
void hb_findings_destroy(struct hb_findings *f); /* leaves it empty */
/* The worst of them. */
enum hb_grade hb_findings_grade(const struct hb_findings *f);
/* For the way from host to launcher: five texts each. take: ERR_PROTOCOL. */
void hb_findings_put(const struct hb_findings *f, struct hb_strv *out);
#define HB_FINDING_TEXTS 5u
int hb_finding_take(struct hb_findings *f, const char *const *texts,
                    const char *where, struct hpcboot_error *err);
/* The worst first; n_hosts that were looked at. */
void hb_findings_text(const struct hb_findings *f, size_t n_hosts,
                      struct hb_str *out);
void hb_findings_json(const struct hb_findings *f, struct hb_json *j);

/* host.c: all that can be known on a host. root: "" or a directory that
 * stands for / in tests, where nothing is tried out. */
struct hb_exam {
    const char *root;
    const char *wdir;
    const struct hb_fabric *fabric;
    const struct hb_strv *differences; /* between sysfs and libibverbs */
    char *const *programs;             /* NULL-terminated */
    /* Who stands for a rank of this host where that is read which others may
     * read: a process that has forked into the caller, without an exec; 0: a
     * child of the caller, which must be one that may be read itself. */
    pid_t neighbour;
};
/* facts: KEY=VALUE, to be compared with other hosts'. Takes some tenths of a
 * second; what does not answer is given up after 2 s. */
void hb_exam_host(const struct hb_exam *e, struct hb_findings *out,
                  struct hb_strv *facts);

/* Why the kernel keeps ranks of libhpcboot on this host from reading each
 * other's memory: errno; 0: it does not, or cannot be asked. Forks. */
int hb_exam_ranks_read(void);

/* across.c: what differs between hosts that should be alike. */
struct hb_exam_facts {
    const char *name;     /* of the host */
    const char *place;    /* equal: two are the same one; NULL: not known */
    struct hb_strv facts; /* KEY=VALUE */
    const struct hb_fabric *fabric;
    int64_t clock_ns;  /* its wall clock minus the launcher's */
    int64_t clock_off; /* by how much that may be wrong */
};
void hb_exam_across(const struct hb_exam_facts *hosts, size_t n,
                    struct hb_findings *out, struct hb_strv *notes);

#endif
