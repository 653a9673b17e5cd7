/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_ENV_H
#define HB_PROC_ENV_H

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* Which variables a rank gets. Pure, but for hb_env_read_pid1.
 *
 * Order, later wins: the host's login environment for the deny list's names
 * (HOSTNAME, HOME, SSH_*, ... are each host's own); the pod's PID 1
 * environment where readable and wanted; the launcher's environment less the
 * deny list; rules of the user. Scheduler and foreign launcher variables
 * (SLURM_*, PMI_*, PMIX_*, OMPI_COMM_WORLD_*, HYDRA_*, PALS_*, ...) are
 * scrubbed by family from all but the rules.
 *
 * Rules are texts, in order: "+NAME=value" set, "-NAME" unset, "=NAME" pass
 * the launcher's value even where denied (globs: "=PRE*"), "<NAME=value"
 * prepend with ':', ">NAME=value" append with ':', "!" start from nothing
 * (-genvnone). */
struct hb_env_policy {
    char *const *launcher; /* what the launcher sent */
    char *const *host;     /* this agent's own environment */
    char *const *pid1;     /* NULL: not readable or not wanted */
    char *const *job_rules; /* NULL-terminated; may be NULL */
    char *const *app_rules;
};
int hb_env_compose(const struct hb_env_policy *policy, struct hb_strv *out,
                   struct hpcboot_error *err);

/* At the launcher: the part of `environ` that travels, given the rules. */
void hb_env_outgoing(char *const *environ_in, char *const *const *rules,
                     size_t n_rules, struct hb_strv *out);
/* 1 when a variable stays on its host. For --explain and the man page. */
int hb_env_is_denied(const char *name);
/* The family ("slurm", "hydra", ...) whose leftovers it is, or NULL. */
const char *hb_env_scrubbed_family(const char *name);

/* PID 1's environment when this is a container (its PID 1 is not an init
 * system and is this user's); ERR_NOT_FOUND otherwise. */
int hb_env_read_pid1(struct hb_strv *out, struct hpcboot_error *err);
/* NAME=value lines, '#' comments; for --env-file. */
int hb_env_file_rules(const char *path, struct hb_strv *rules_out,
                      struct hpcboot_error *err);

#endif
