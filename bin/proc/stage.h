/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_STAGE_H
#define HB_PROC_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* A private directory (0700) of one job on one host, for sockets, PMIx files
 * and what is preloaded. It lies in the first of $HPCBOOT_TMPDIR, /tmp,
 * /dev/shm, /run/user/UID and $TMPDIR in which it can be made; so a root file
 * system that is read-only does not matter while one of them is writable.
 * Where nothing is to be kept in it, /dev/shm comes before /tmp: a directory
 * there is made and removed in a fifth of the time that a disk's takes.
 *
 * The path is short: at most HB_SESSION_PATH_MAX bytes, which leaves room in
 * a socket address (108 bytes) for a name of HB_SESSION_NAME_ROOM. */
#define HB_SESSION_PATH_MAX 63
#define HB_SESSION_NAME_ROOM 43
#define HB_SESSION_PREFIX "hpcboot-" /* their names begin so */
#define HB_SESSION_RANDOM 6 /* letters at the end, of mkdtemp */
#define HB_SESSION_OWNER ".owner" /* says whose they are; see stale.h */

/* The places, in that order; NULL for a variable that is not set. */
#define HB_SESSION_PLACES 5
struct hb_session_places {
    const char *v[HB_SESSION_PLACES];
    char run_user[32];
};
void hb_session_places(struct hb_session_places *out);

enum hb_session_use {
    HB_SESSION_KEEPS,  /* files of a server */
    HB_SESSION_BARE,
    HB_SESSION_COPIES, /* files of the launcher: programs may be among them */
};

/* *path_out: free() it. The name is made of the job, the node and a random
 * part, so two jobs, or two agents of one job on one machine, never meet.
 * ERR_HOST: no place could be had; the text names each with its reason. */
int hb_session_dir_create(const char *job_id, uint32_t node,
                          enum hb_session_use use, char **path_out,
                          struct hpcboot_error *err);
/* The same in places[n] alone; for tests. */
int hb_session_dir_create_in(const char *const *places, size_t n,
                             const char *job_id, uint32_t node,
                             char **path_out, struct hpcboot_error *err);
/* 1: `name` (len bytes) is one of theirs, "hpcboot-JOB.NODE.XXXXXX"; names of
 * others may begin like that. */
int hb_session_is_name(const char *name, size_t len);
/* 1: a directory of this name belongs to another node of the same job, on the
 * same machine. Thousands of them may begin together, and need not look at
 * each other. */
int hb_session_is_neighbour(const char *name, const char *job_id,
                            uint32_t node);
/* Removes the directory, which must be this user's, and all that is in it.
 * Symbolic links are removed, not followed; what lies on another file system
 * is left alone. NULL and what is not there are fine. Returns 0, or the number
 * of entries that could not be removed. */
int hb_session_dir_remove(const char *path);

#endif
