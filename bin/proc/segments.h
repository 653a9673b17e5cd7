/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_SEGMENTS_H
#define HB_PROC_SEGMENTS_H

#include <stdint.h>
#include <time.h>

/* Shared memory that the ranks of MPIs and NCCL have left in /dev/shm. An MPI
 * removes its segment in MPI_Finalize, which ranks that fail or are ended do
 * not come to; a pod's 64 MB are full after some twenty restarts of MPICH, and
 * the next start dies of SIGBUS. (Open MPI is given a directory of the job.) */

/* Now, by the clock that stamps files; and what a stamp is. */
int64_t hb_segments_now(void);
int64_t hb_segments_time(const struct timespec *stamp);
/* How far that clock is from one that nobody sets. */
int64_t hb_segments_apart(void);
/* The earliest stamp of what was made since then: since that clock said
 * `stamp_ns`, and was `apart_ns` from the other. It may have been set back. */
int64_t hb_segments_since(int64_t stamp_ns, int64_t apart_ns);

/* To be called when all ranks are dead. Removes what bears such a name, is this
 * user's, has not been changed before `since_ns`, and which no process of the
 * machine has open or mapped, whatever its name space; so nothing goes that
 * another job uses. Returns how many. Nothing is removed where the file system
 * does not tell (leases, fcntl(2)). */
int hb_segments_remove(int64_t since_ns);
/* The same in another directory; for tests. */
int hb_segments_remove_in(const char *dir, int64_t since_ns);

#endif
