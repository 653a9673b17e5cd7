/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_INDEXED_H
#define HB_HOSTFILE_INDEXED_H

#include "hostfile/pod.h"

/* What JobSets and Indexed Jobs share: JOB_COMPLETION_INDEX, which is the
 * number at the end of the pod's host name, and nothing about how many there
 * are; the user can say that in HPCBOOT_GANG_SIZE. */
#define HB_GANG_SIZE_VARIABLE "HPCBOOT_GANG_SIZE"

/* 1: the user says it, 0: nobody does; a value that is no number is an error,
 * because the job would be another one than was asked for. */
int hb_gang_size(const struct hb_gang_request *req, uint64_t *size_out,
                 struct hpcboot_error *err);
/* NULL: an indexed pod, *pod holds its names (destroy it in any case); else
 * why not, a static text: with names, they and the index do not fit. */
const char *hb_indexed_pod(const struct hb_gang_request *req,
                           struct hb_pod *pod);
/* 1: named as a JobSet names them, "JOBSET-REPLICATEDJOB-JOB-POD" in the
 * subdomain JOBSET. */
int hb_indexed_is_jobset(const struct hb_pod *pod);
/* Its peers, when their number is known; else a note that says what would
 * help, in the name of `kind` ("JobSet lm"). */
int hb_indexed_ask(const struct hb_gang_request *req, const struct hb_pod *pod,
                   const char *kind, struct hb_gang *out, char **reason_out,
                   struct hpcboot_error *err);
/* Those hosts of a list that are such pods in this one's own subdomain, of
 * whichever Job, as *out; 0: none of them. *out is to be destroyed. */
int hb_indexed_among(const struct hb_gang_request *req,
                     const struct hb_gang *named, struct hb_gang *out);

#endif
