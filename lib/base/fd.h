/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_FD_H
#define HB_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* Opens /dev/null where 0, 1 or 2 is closed: the next descriptor would take
 * its number, and what is printed would go there. First thing of a program.
 * What was closed stays without effect: nothing is read, words on 2 are lost,
 * and a write to 1 fails, so that output that goes nowhere is no success. */
int hb_fd_fill_standard(struct hpcboot_error *err);
/* The same for a library, in a program that goes on: each is one that fails as
 * a closed one does, and no program that is executed inherits it. Returns which
 * they are, as bits; they are closed again where they are still the same. */
unsigned hb_fd_hold_standard(void);
void hb_fd_let_standard_go(unsigned held);
void hb_fd_close(int *fd); /* closes if >= 0, sets -1, keeps errno */
/* In a child that goes on without an exec: closes what one would have closed,
 * but for `keep`. What this program was started with stays. */
void hb_fd_close_as_exec(int keep);
int hb_fd_set_nonblock(int fd, int on, struct hpcboot_error *err);
int hb_fd_set_cloexec(int fd, int on, struct hpcboot_error *err);
int hb_fd_pipe(int out[2], struct hpcboot_error *err); /* CLOEXEC */
/* The same by a pseudo-terminal that changes no byte: what is written to
 * out[1] is read from out[0], and at its end read() fails with EIO. */
int hb_fd_terminal(int out[2], struct hpcboot_error *err);
/* AF_UNIX, a stream, CLOEXEC. */
int hb_fd_socketpair(int out[2], struct hpcboot_error *err);
/* listen(), where accept4() is allowed: a filter of system calls may refuse
 * that alone, and who calls would wait without end. -1 with errno. */
int hb_fd_listen(int fd, int backlog);
/* What is on its way over TCP is sent again after most_ms at the latest, by
 * Linux 6.15 and later, however often it was not answered: who waits a limit
 * for its peer hears of it as soon as a cut heals. By an older system the time
 * doubles, up to two minutes, so that a cut of half of the limit may be one for
 * good. Without effect on other descriptors. */
void hb_fd_send_again(int fd, int64_t most_ms);
/* Writes all or fails; waits where the descriptor does not block. */
int hb_fd_write_all(int fd, const void *data, size_t len,
                    struct hpcboot_error *err);
/* The same on a socket: a peer that is gone is an error and no SIGPIPE, which
 * would end a program that does not ignore it. */
int hb_fd_send_all(int fd, const void *data, size_t len,
                   struct hpcboot_error *err);
/* Bytes that a file of this process may have: beyond them a write, or making it
 * longer, ends the process by SIGXFSZ, unless it ignores that. */
uint64_t hb_fd_file_most(void);
/* Reads a file whole, at most max_bytes; *data_out is NUL-terminated one past
 * *len_out, free() it. A FIFO is waited for 10 s for somebody to write to it,
 * and read until all writers have closed it. */
int hb_file_read(const char *path, size_t max_bytes, char **data_out,
                 size_t *len_out, struct hpcboot_error *err);
/* The same, but a FIFO that nobody writes to is empty. */
int hb_file_read_now(const char *path, size_t max_bytes, char **data_out,
                     size_t *len_out, struct hpcboot_error *err);
/* The same for a file that may be read again in another life of a job: of a
 * pipe that has nothing more to say, at once what it said before. Not for
 * threads. */
int hb_file_read_lasting(const char *path, size_t max_bytes, char **data_out,
                         size_t *len_out, struct hpcboot_error *err);
/* The same for a file that says what this process does, as OpenSSH reads its
 * own: ERR_AUTH where it belongs to neither this user nor root, or may be
 * written by others than its owner (a group of the owner's name that has no
 * other member is the owner). */
int hb_file_read_own(const char *path, size_t max_bytes, char **data_out,
                     size_t *len_out, struct hpcboot_error *err);
/* The same for a file that lies where anybody's may lie, as the gang's key in
 * the home of another user: ERR_AUTH where it, or the folder that holds it,
 * belongs to neither this user nor root. Both are judged as they are opened. A
 * mode says nothing: that of a mount of Kubernetes is what its Secret asked
 * for. ERR_SYSTEM: not a regular file. */
int hb_file_read_placed(const char *path, size_t max_bytes, char **data_out,
                        size_t *len_out, struct hpcboot_error *err);
/* Absolute path of the running program, free() it; NULL where it
 * is not known. */
char *hb_self_exe(void);

#endif
