/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_STATUS_H
#define HPCBOOT_STATUS_H

/* How every call of hpcboot reports what went wrong: a call that can fail
 * returns an int, zero or positive on success, one of these codes otherwise,
 * and fills the struct hpcboot_error it was given (which may be NULL).
 *
 * The third column is the damage: what of a job the error puts an end to. */
#define HPCBOOT_STATUS_MAP(X)                                              \
    X(OK, 0, NONE, "success")                                              \
    X(ERR_USAGE, -1, USAGE, "wrong argument, option or configuration")     \
    X(ERR_PARSE, -2, USAGE, "malformed input")                             \
    X(ERR_LIMIT, -3, USAGE, "more than a stated limit")                    \
    X(ERR_UNSUPPORTED, -4, USAGE, "not supported here")                    \
    X(ERR_NOT_FOUND, -5, RANK, "no such object")                           \
    X(ERR_SPAWN, -6, RANK, "a program could not be started")               \
    X(ERR_PEER_DEAD, -7, RANK, "a peer has died")                          \
    X(ERR_AGAIN, -8, NONE, "not now, ask again")                           \
    X(ERR_CLOSED, -9, HOST, "the other side closed the connection")        \
    X(ERR_HOST, -10, HOST, "a host cannot be reached or used")             \
    X(ERR_AUTH, -11, HOST, "trust between two hosts could not be made")    \
    X(ERR_PROTOCOL, -12, HOST, "the other side broke the protocol")        \
    X(ERR_TIMED_OUT, -13, JOB, "a deadline has passed")                    \
    X(ERR_SYSTEM, -14, JOB, "the system refused")                          \
    X(ERR_NOMEM, -15, INTERNAL, "out of memory")                           \
    X(ERR_INTERNAL, -16, INTERNAL, "a defect in hpcboot")

enum hpcboot_status {
#define HPCBOOT_X(name, value, damage, text) HPCBOOT_##name = (value),
    HPCBOOT_STATUS_MAP(HPCBOOT_X)
#undef HPCBOOT_X
};

#define HPCBOOT_ERROR_TEXT_MAX 512 /* a sentence with a path in it */

/* A struct of options or arguments that begins with its size, so that it can
 * grow: `struct hpcboot_x x = HPCBOOT_X_INIT;` sets that, the rest to zero. */
#ifdef __cplusplus
extern "C++" { /* also where the includer has said extern "C" */
template <typename T> T hpcboot_sized_()
{
    T t = T();
    t.struct_size = sizeof(T);
    return t;
}
}
#define HPCBOOT_SIZED_(type) hpcboot_sized_<type>()
#else
#define HPCBOOT_SIZED_(type) { .struct_size = sizeof(type) }
#endif

struct hpcboot_error {
    int code;      /* enum hpcboot_status */
    int sys_errno; /* errno where the system refused, else 0 */
    char text[HPCBOOT_ERROR_TEXT_MAX]; /* what, where, why; NUL-terminated */
};

#endif
