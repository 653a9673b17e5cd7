/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_LIMITS_H
#define HB_PROC_LIMITS_H

#include <stddef.h>

#include "bin/proc/proc.h"
#include "lib/base/error.h"
#include "lib/base/strv.h"

/* Resource limits travel with the job: a login over SSH has sshd's limits,
 * not those of the shell in which hbrun was typed. As text, one limit is
 * "memlock=soft:hard", names as in limits.conf(5) and numbers as setrlimit
 * has them, or "unlimited". */

/* At the launcher: this process's limits. memlock and nofile go with the soft
 * limit raised to the hard one, the others as they are. */
void hb_limits_outgoing(struct hb_strv *out);

/* At the agent: checks the texts against what this host grants and makes of
 * them what hb_proc_spawn wants, *limits_out, free() it. memlock never ends
 * below this host's hard limit. What is refused is cut down to what is
 * granted, and said: one sentence each into `refused`. Names of a newer
 * launcher are skipped. ERR_PARSE: a malformed text. */
int hb_limits_parse(char *const *texts, struct hb_proc_limit **limits_out,
                    size_t *n_out, struct hb_strv *refused,
                    struct hpcboot_error *err);

/* The soft limit of a resource that the texts give; RLIM_INFINITY: none. */
rlim_t hb_limits_soft(char *const *texts, int resource);

/* What hb_limits_parse asks of the system; for tests. */
struct hb_limits_host {
    /* This host's present limit; 0 or -1. */
    int (*get)(void *arg, int resource, struct rlimit *out);
    /* 1 when that limit could be set, though its hard limit is a higher one. */
    int (*may_raise)(void *arg, int resource, const struct rlimit *value);
    void *arg;
};
int hb_limits_parse_on(const struct hb_limits_host *host, char *const *texts,
                       struct hb_proc_limit **limits_out, size_t *n_out,
                       struct hb_strv *refused, struct hpcboot_error *err);

#endif
