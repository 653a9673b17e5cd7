/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_ENV_H
#define HB_PROC_ENV_H

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* Which variables a rank gets. Pure, but for hb_env_read_pid1 and
 * hb_env_file_rules. The names behind it stand in env_names.c.
 *
 * Order, later wins: the host's login environment for the deny list's names
 * (HOSTNAME, HOME, SSH_*, ... are each host's own); the pod's PID 1
 * environment where readable and wanted; the launcher's environment less the
 * deny list; rules of the user. Scheduler and foreign launcher variables
 * (SLURM_*, PMI_*, PMIX_*, OMPI_COMM_WORLD_*, HYDRA_*, PALS_*, ...) are
 * scrubbed by family from all but the rules, and so are paths that an outer job
 * told its ranks, of a folder of its own.
 *
 * Rules are texts, in order: "+NAME=value" set, "-NAME" unset, "=NAME" pass
 * the launcher's value even where denied (globs: "=PRE*"), "<NAME=value"
 * prepend with ':', ">NAME=value" append with ':'. "-" takes globs, too.
 * Wherever they stand "!" (-genvnone) and "!NAME" (-genvlist; globs) say that
 * of the environments above nothing is taken but the launcher's values of
 * these names; those of a program take the place of the job's. What the other
 * rules say stays.
 *
 * Values are bytes: newlines, '=' and anything that is not text pass. Entries
 * without '=' are dropped; of two with one name the first counts, as for
 * getenv. The result has no set order. PWD is the login's: who starts the
 * program in a directory of its own sets it. */
struct hb_env_policy {
    char *const *launcher; /* what the launcher sent */
    char *const *host;     /* this agent's own environment */
    char *const *pid1;     /* NULL: not readable or not wanted */
    char *const *job_rules; /* NULL-terminated; may be NULL */
    char *const *app_rules;
    const char *path; /* goes before what PATH becomes; may be NULL */
};
int hb_env_compose(const struct hb_env_policy *policy, struct hb_strv *out,
                   struct hpcboot_error *err);
/* The folders of --path before PATH, or before what stands for one that is
 * not set; NULL changes nothing. */
void hb_env_put_before_path(struct hb_strv *env, const char *dirs);

/* At the launcher: the part of `environ` that travels, given the rules. */
void hb_env_outgoing(char *const *environ_in, char *const *const *rules,
                     size_t n_rules, struct hb_strv *out);
/* 1 when a variable stays on its host. For --explain and the man page. */
int hb_env_is_denied(const char *name);
/* The family ("slurm", "hydra", ...) whose leftovers it is, or NULL. */
const char *hb_env_scrubbed_family(const char *name);

/* PID 1's environment when this is a container (its PID 1 is not an init
 * system and is this user's); ERR_NOT_FOUND otherwise. Where PID 1 is the
 * pause process of a pod that shares its process namespace, the first process
 * above this one stands for it. */
int hb_env_read_pid1(struct hb_strv *out, struct hpcboot_error *err);
/* The same with another directory for /proc and another process for this
 * one; for tests. */
int hb_env_read_pid1_at(const char *proc, int pid, struct hb_strv *out,
                        struct hpcboot_error *err);
/* For --env-file. A line is NAME=value (the value is the rest of the line,
 * bytes as they are), NAME (the launcher's value: rule "=NAME"), blank, or a
 * comment ("#" first). "export " before a name is skipped. Makes rules. */
int hb_env_file_rules(const char *path, struct hb_strv *rules_out,
                      struct hpcboot_error *err);
/* The same for a file that nobody has named: ERR_AUTH as hb_file_read_own. */
int hb_env_own_file_rules(const char *path, struct hb_strv *rules_out,
                          struct hpcboot_error *err);
/* The same from memory; `name` is for error texts. */
int hb_env_text_rules(const char *name, const char *text, size_t len,
                      struct hb_strv *rules_out, struct hpcboot_error *err);
/* A rule as users can get it wrong: checks its form. */
int hb_env_check_rule(const char *rule, struct hpcboot_error *err);

#endif
