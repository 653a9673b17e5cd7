/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_SOURCE_H
#define HB_HOSTFILE_SOURCE_H

#include "hostfile/build.h"
#include "hostfile/hostfile.h"

/* One place where a gang can be found; each has a file of its own,
 * source_NAME.c, and a row in the table of gather.c. */
struct hb_source {
    const char *name; /* as hb_gang.source shows it */
    int own_hosts; /* knows hosts that -H can select from */
    int is_slow;   /* asks a server; not to compare its hosts with others' */
    /* 1: *out (empty before) has hosts and a detail. 0: nothing there, and
     * *reason_out says why in a few words (free() it); notes may be left in
     * *out for the case that nobody else knows hosts. Negative: this source
     * was meant and cannot be used. */
    int (*ask)(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err);
    /* Of hb_gang_follow; NULL: it tells nothing by itself. */
    int (*follow)(const struct hb_gang_request *req,
                  hb_gang_changed changed, void *arg,
                  struct hpcboot_error *err);
};

extern const struct hb_source hb_source_list, hb_source_file,
    hb_source_script,
    hb_source_volcano, hb_source_mpi_operator, hb_source_mpijob_v1,
    hb_source_trainer, hb_source_trainer_torch, hb_source_trainer_jax,
    hb_source_lws, hb_source_pytorchjob, hb_source_tfjob, hb_source_paddlejob,
    hb_source_xgboostjob, hb_source_jaxjob, hb_source_jobset,
    hb_source_indexed_job, hb_source_kuberay, hb_source_slurm, hb_source_pbs,
    hb_source_lsf, hb_source_sge, hb_source_flux, hb_source_cobalt,
    hb_source_pods,
    hb_source_kubernetes, hb_source_default, hb_source_local;

/* For the sources. */
const char *hb_source_env(const struct hb_gang_request *req, const char *name);
/* The first of several variables that is set and not empty, or NULL. */
const char *hb_source_env_of(const struct hb_gang_request *req,
                             const char *const *names);
/* 1 when the variable is a whole number within [min, max]. */
int hb_source_number(const struct hb_gang_request *req, const char *name,
                     uint64_t min, uint64_t max, uint64_t *out);
/* The variable `index`, where it is set, is this pod's number among the hosts
 * of `gang`, by which it finds itself where it does not by name. ERR_USAGE: it
 * is not below their number, which is in the variable `of`; one of the two is
 * not this pod's. */
int hb_source_take_index(const struct hb_gang_request *req,
                         const char *index, const char *of,
                         struct hb_gang *gang, struct hpcboot_error *err);
/* "", or the directory that stands for /. */
const char *hb_source_root(const struct hb_gang_request *req);
int hb_source_exists(const struct hb_gang_request *req, const char *path);
/* The text of the file at ROOT/PATH, free() it.
 * ERR_NOT_FOUND when it is not there. */
int hb_source_load(const struct hb_gang_request *req, const char *path,
                   char **text_out, size_t *len_out,
                   struct hpcboot_error *err);
/* The same; NULL when it cannot be read. */
char *hb_source_text(const struct hb_gang_request *req, const char *path,
                     size_t *len_out);
/* Reads the file at ROOT/PATH in the form of that name (NULL: the one it looks
 * like); messages say PATH. ERR_NOT_FOUND when it is not there. An empty file
 * gives no hosts. */
int hb_source_read(const char *root, const char *form, const char *path,
                   struct hb_gang *out, struct hpcboot_error *err);
/* The same for a value of one line, whose origin is `what`. */
int hb_source_read_value(const struct hb_gang_request *req, const char *what,
                         const char *text, enum hb_tally tally,
                         struct hb_gang *out, struct hpcboot_error *err);
/* For the user of a batch system whose hosts cannot be had: a note that says
 * so and why, for the case that nobody else knows hosts. */
void hb_source_note_unused(struct hb_gang *out, const char *system,
                           const char *reason);
/* The same where this pod is one of several, and no note where it is one. */
void hb_source_note_several(struct hb_gang *out, const char *system,
                            uint64_t hosts, const char *reason);
/* Whether all variables of a list that ends with NULL are set, if only to
 * nothing; *reason_out names those that are not. */
int hb_source_all_set(const struct hb_gang_request *req,
                      const char *const *names, char **reason_out);
/* The variable `name`, which is set, as a number from `min`: of hosts, or from
 * 0 the index of one. 0: it is none, and *reason_out and a note say so. */
int hb_source_count(const struct hb_gang_request *req, const char *system,
                    const char *name, uint64_t min, uint64_t *count_out,
                    struct hb_gang *out, char **reason_out);
/* A note for a pod whose variable `name`, which is set, holds no number. */
void hb_source_number_wrong(const struct hb_gang_request *req,
                            const char *system, const char *name,
                            struct hb_gang *out, char **reason_out);
/* The file that a variable of a batch system names, in the form `form`. 0: not
 * set, not there, or empty; *reason_out says so, and of a file that is named a
 * note too, unless `system` is NULL. */
struct hb_form;
int hb_source_read_named(const struct hb_gang_request *req, const char *system,
                         const char *variable, const struct hb_form *form,
                         struct hb_gang *out, char **reason_out,
                         struct hpcboot_error *err);
/* For a batch system whose hosts stand in variables, which images and shells
 * carry along: 1 when it is here, because this host is one of them or its
 * program `command` is installed. Else 0 after a look at what its source has
 * found (rc, *out, err): *out is emptied, *reason_out and a note say why. */
int hb_source_is_here(const struct hb_gang_request *req, const char *system,
                      const char *command, int rc, struct hb_gang *out,
                      char **reason_out, const struct hpcboot_error *err);
/* Marks a gang as made by an operator, finds its key, and says so: the detail
 * becomes "N hosts in WHERE, the job's key is FILE". */
void hb_source_operator_made(const struct hb_gang_request *req,
                             struct hb_gang *out, const char *where);
/* PET_NPROC_PER_NODE as torchrun reads it: a number, gpu, cpu, or auto for
 * GPUs where there are some, else cores. */
void hb_torch_slots(const struct hb_gang_request *req, struct hb_gang *gang);
void hb_gang_note(struct hb_gang *gang, const char *fmt, ...)
    HB_PRINTF(2, 3);

void hb_gang_add_local_at(struct hb_gang *out, const char *root);
/* Keeps the hosts of `from` that `list` names, in the list's order, each
 * matched by its name or by its first labels; `root` as in hb_gang_request.
 * ERR_NOT_FOUND names a host that is not there. `each`: where neither says how
 * many slots, as many as there are mentions. */
int hb_gang_filter(struct hb_gang *from, const struct hb_gang *list,
                   const char *root, int each, struct hpcboot_error *err);
/* 1: the hosts, which somebody has named, are those of the gang `of` (this very
 * one counts with them), and what that says of itself and of them holds where
 * nothing else was said. 0: some are others, and nothing has changed. */
int hb_gang_join(struct hb_gang *gang, struct hb_gang *of, const char *root);
/* Whether at least one host of `list` is in the gang. */
int hb_gang_has_some(const struct hb_gang *gang, const struct hb_gang *list,
                     const char *root);

#endif
