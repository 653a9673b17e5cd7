/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_COLL_H
#define HPCBOOT_COLL_H

#include <stddef.h>
#include <stdint.h>

#include "hpcboot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collectives of a team (hpcboot/comm.h).
 *
 * Every member of the team makes the same calls in the same order, with the
 * same type, op, root and flags, and with counts that fit together. `team` is
 * never NULL. A call returns HPCBOOT_OK or one of these:
 *
 *   ERR_USAGE       an argument is wrong; nothing was sent, the team is as
 *                   before on this rank. Or members have made calls, or given
 *                   counts, that do not fit together: the text names both
 *                   sides, and the team can only be destroyed
 *   ERR_UNSUPPORTED this op does not exist for this type, or a buffer is the
 *                   memory of a device that cannot be copied here
 *   ERR_PEER_DEAD   a member has died, and the call has not completed within
 *                   a tenth of a second; err says rank, host and cause. The
 *                   team can only be shrunk or destroyed
 *   ERR_TIMED_OUT   the deadline of the call or team has passed; as above
 *   ERR_NOMEM, ERR_SYSTEM
 *
 * A buffer may be the memory of a CUDA, ROCm or Level Zero device: the call
 * works on a copy in the host's memory, which CUDA's driver makes, for the
 * others a UCX that was built for them. Work that fills or reads it on another
 * stream than the default one must have ended before the call begins.
 *
 * Counts and displacements are in elements of `type`. Displacements may be
 * NULL: blocks then lie one after the other. Buffers may be NULL where their
 * count is zero, and must not overlap but by HPCBOOT_IN_PLACE.
 * Two threads may use different teams at once when hpcboot_init was asked for
 * HPCBOOT_THREADS_MULTIPLE, and never one team. A blocking call waits for the
 * other members as far as its result needs them. */

enum hpcboot_type {
    HPCBOOT_INT8, HPCBOOT_INT16, HPCBOOT_INT32, HPCBOOT_INT64,
    HPCBOOT_UINT8, HPCBOOT_UINT16, HPCBOOT_UINT32, HPCBOOT_UINT64,
    HPCBOOT_FLOAT16,  /* IEEE 754 binary16, two bytes */
    HPCBOOT_BFLOAT16, /* upper half of a binary32, two bytes */
    HPCBOOT_FLOAT, HPCBOOT_DOUBLE,
    HPCBOOT_FLOAT_COMPLEX, HPCBOOT_DOUBLE_COMPLEX, /* real part first */
    HPCBOOT_FLOAT_INT,  /* struct hpcboot_float_int, and so on: for MINLOC */
    HPCBOOT_DOUBLE_INT,
    HPCBOOT_INT32_INT,
    HPCBOOT_INT64_INT,
    HPCBOOT_BYTE,       /* opaque: moved, reduced by an op of the user alone */
    HPCBOOT_TYPES       /* how many there are */
};

/* A value and where it was found. The bytes between and behind the two
 * fields have no value. */
struct hpcboot_float_int { float value; int32_t index; };
struct hpcboot_double_int { double value; int32_t index; };
struct hpcboot_int32_int { int32_t value; int32_t index; };
struct hpcboot_int64_int { int64_t value; int32_t index; };

/* Bytes of one element; 0: no such type. */
size_t hpcboot_type_size(enum hpcboot_type type);
const char *hpcboot_type_name(enum hpcboot_type type); /* "float16" */

/* What is defined for which types: SUM and PROD for numbers; MIN and MAX for
 * real numbers (a NaN among the values makes the result NaN); B* and L* for
 * integers; MINLOC and MAXLOC for the pairs (the lower index where values are
 * equal); AVG (the sum over the team size) for floating-point numbers. Sums and
 * products of float16 and bfloat16 are computed in float, all others in the
 * precision of their type; what goes from node to node is rounded to the type,
 * unless the call or the team is deterministic. */
enum hpcboot_op {
    HPCBOOT_SUM, HPCBOOT_PROD, HPCBOOT_MIN, HPCBOOT_MAX,
    HPCBOOT_BAND, HPCBOOT_BOR, HPCBOOT_BXOR,
    HPCBOOT_LAND, HPCBOOT_LOR, HPCBOOT_LXOR,
    HPCBOOT_MINLOC, HPCBOOT_MAXLOC, HPCBOOT_AVG,
    HPCBOOT_OPS,              /* how many there are */
    HPCBOOT_OP_USER = 1024    /* the first that hpcboot_op_create may give */
};
const char *hpcboot_op_name(int op); /* "minloc"; "user" */

/* An op of the user: inout[i] = in[i] op inout[i] for all i < count (bytes, of
 * HPCBOOT_BYTE), where `in` comes from lower ranks. Called by the thread that
 * is in a call of this library, on any slice of whole elements; must not call
 * the library: ERR_USAGE there, but for what only looks (hpcboot_rank). */
typedef void (*hpcboot_op_fn)(const void *in, void *inout, size_t count,
                              enum hpcboot_type type, void *arg);
enum { HPCBOOT_COMMUTATIVE = 1 };
/* `flags`: HPCBOOT_COMMUTATIVE or 0; an op without it is applied in rank
 * order (it must be associative). `element_bytes`: for HPCBOOT_BYTE, what one
 * element of the user's own type occupies, so that it is never cut (counts
 * must be multiples of it); 0: 1. Local; members of a team need not create
 * their ops in the same order, but each call must get ops that mean the same.
 * Returns the op (>= HPCBOOT_OP_USER) or an error: ERR_USAGE, ERR_LIMIT. */
int hpcboot_op_create(hpcboot_op_fn fn, void *arg, unsigned flags,
                      size_t element_bytes, struct hpcboot_error *err);
/* Not while a request uses it. */
int hpcboot_op_destroy(int op, struct hpcboot_error *err);

enum hpcboot_coll {
    HPCBOOT_COLL_BARRIER, HPCBOOT_COLL_BCAST,
    HPCBOOT_COLL_SCATTER, HPCBOOT_COLL_SCATTERV,
    HPCBOOT_COLL_GATHER, HPCBOOT_COLL_GATHERV,
    HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_ALLGATHERV,
    HPCBOOT_COLL_REDUCE, HPCBOOT_COLL_ALLREDUCE,
    HPCBOOT_COLL_REDUCE_SCATTER, HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
    HPCBOOT_COLL_ALLTOALL, HPCBOOT_COLL_ALLTOALLV,
    HPCBOOT_COLL_SCAN, HPCBOOT_COLL_EXSCAN,
    HPCBOOT_COLLS
};
const char *hpcboot_coll_name(enum hpcboot_coll coll); /* "allreduce" */

/* In the place of `send` (scatter, scatterv: of `recv` at the root): the
 * rank's own part is where the result goes. */
#ifdef __cplusplus
#define HPCBOOT_IN_PLACE (reinterpret_cast<void *>(1))
#else
#define HPCBOOT_IN_PLACE ((void *)1)
#endif

struct hpcboot_team;
struct hpcboot_request;

/* All arguments of one collective. What each takes from it, n = team size:
 *
 *                  send            recv            count
 * barrier          -               -               -
 * bcast            -               count, in/out   at all the same
 * scatter          n * count, root count           of one rank
 * scatterv         send_counts,    count           this rank's own
 *                  send_displs, root
 * gather           count           n * count, root of one rank
 * gatherv          count           recv_counts,    this rank's own
 *                                  recv_displs, root
 * allgather        count           n * count       of one rank
 * allgatherv       count           recv_counts,    this rank's own
 *                                  recv_displs     (= recv_counts[rank])
 * reduce           count           count, root     at all the same
 * allreduce        count           count           at all the same
 * reduce_scatter   sum of          recv_counts     -
 *                  recv_counts     [rank]
 * reduce_scatter_  n * count       count           of one rank
 * block
 * alltoall         n * count       n * count       of one pair
 * alltoallv        send_counts,    recv_counts,    -
 *                  send_displs     recv_displs     (its own: the same in both)
 * scan, exscan     count           count           at all the same
 *
 * exscan leaves recv of rank 0 as it was. IN_PLACE: at the root of scatter(v),
 * gather(v) and reduce, at every rank of the others; of a reduce_scatter, recv
 * then has the whole vector, and the result at its beginning. Arrays of counts
 * and displacements are [n] and borrowed until the call returns: a request has
 * copies of them.
 */
struct hpcboot_coll_args {
    size_t struct_size; /* HPCBOOT_COLL_ARGS_INIT sets it */
    enum hpcboot_coll coll;
    enum hpcboot_type type;
    int op;             /* enum hpcboot_op, or of hpcboot_op_create */
    int root;           /* rank in the team */
    const void *send;
    void *recv;
    size_t count;
    const size_t *send_counts, *send_displs;
    const size_t *recv_counts, *recv_displs;
    unsigned flags;     /* HPCBOOT_DETERMINISTIC */
    int timeout_ms;     /* of this call; 0: the team's */
};
#define HPCBOOT_COLL_ARGS_INIT HPCBOOT_SIZED_(struct hpcboot_coll_args)

/* The same bits on every run with the same team size and counts, whoever
 * arrives first and wherever the ranks run. Also a setting of the team. */
enum { HPCBOOT_DETERMINISTIC = 1 };

/* The general form: blocking, started (hpcboot_test, hpcboot_wait), prepared
 * for hpcboot_start again and again: it is the starts that all members make in
 * the same order. `args` is copied, buffers are borrowed until completion. */
int hpcboot_coll(struct hpcboot_team *team,
                 const struct hpcboot_coll_args *args,
                 struct hpcboot_error *err);
int hpcboot_coll_start(struct hpcboot_team *team,
                       const struct hpcboot_coll_args *args,
                       struct hpcboot_request **out,
                       struct hpcboot_error *err);
int hpcboot_coll_init(struct hpcboot_team *team,
                      const struct hpcboot_coll_args *args,
                      struct hpcboot_request **out,
                      struct hpcboot_error *err);

int hpcboot_barrier(struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_bcast(void *buffer, size_t count, enum hpcboot_type type, int root,
                  struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_scatter(const void *send, void *recv, size_t count,
                    enum hpcboot_type type, int root,
                    struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_scatterv(const void *send, const size_t *send_counts,
                     const size_t *send_displs, void *recv, size_t count,
                     enum hpcboot_type type, int root,
                     struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_gather(const void *send, void *recv, size_t count,
                   enum hpcboot_type type, int root,
                   struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_gatherv(const void *send, size_t count, void *recv,
                    const size_t *recv_counts, const size_t *recv_displs,
                    enum hpcboot_type type, int root,
                    struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_allgather(const void *send, void *recv, size_t count,
                      enum hpcboot_type type, struct hpcboot_team *team,
                      struct hpcboot_error *err);
int hpcboot_allgatherv(const void *send, size_t count, void *recv,
                       const size_t *recv_counts, const size_t *recv_displs,
                       enum hpcboot_type type, struct hpcboot_team *team,
                       struct hpcboot_error *err);
int hpcboot_reduce(const void *send, void *recv, size_t count,
                   enum hpcboot_type type, int op, int root,
                   struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_allreduce(const void *send, void *recv, size_t count,
                      enum hpcboot_type type, int op,
                      struct hpcboot_team *team, struct hpcboot_error *err);
int hpcboot_reduce_scatter(const void *send, void *recv,
                           const size_t *recv_counts, enum hpcboot_type type,
                           int op, struct hpcboot_team *team,
                           struct hpcboot_error *err);
int hpcboot_reduce_scatter_block(const void *send, void *recv, size_t count,
                                 enum hpcboot_type type, int op,
                                 struct hpcboot_team *team,
                                 struct hpcboot_error *err);
int hpcboot_alltoall(const void *send, void *recv, size_t count,
                     enum hpcboot_type type, struct hpcboot_team *team,
                     struct hpcboot_error *err);
int hpcboot_alltoallv(const void *send, const size_t *send_counts,
                      const size_t *send_displs, void *recv,
                      const size_t *recv_counts, const size_t *recv_displs,
                      enum hpcboot_type type, struct hpcboot_team *team,
                      struct hpcboot_error *err);
int hpcboot_scan(const void *send, void *recv, size_t count,
                 enum hpcboot_type type, int op, struct hpcboot_team *team,
                 struct hpcboot_error *err);
int hpcboot_exscan(const void *send, void *recv, size_t count,
                   enum hpcboot_type type, int op, struct hpcboot_team *team,
                   struct hpcboot_error *err);

/* Started, not waited for: complete when hpcboot_test or one of the waits of
 * hpcboot/comm.h says so. */
int hpcboot_ibarrier(struct hpcboot_team *team, struct hpcboot_request **out,
                     struct hpcboot_error *err);
int hpcboot_ibcast(void *buffer, size_t count, enum hpcboot_type type,
                   int root, struct hpcboot_team *team,
                   struct hpcboot_request **out, struct hpcboot_error *err);
int hpcboot_iscatter(const void *send, void *recv, size_t count,
                     enum hpcboot_type type, int root,
                     struct hpcboot_team *team, struct hpcboot_request **out,
                     struct hpcboot_error *err);
int hpcboot_iscatterv(const void *send, const size_t *send_counts,
                      const size_t *send_displs, void *recv, size_t count,
                      enum hpcboot_type type, int root,
                      struct hpcboot_team *team, struct hpcboot_request **out,
                      struct hpcboot_error *err);
int hpcboot_igather(const void *send, void *recv, size_t count,
                    enum hpcboot_type type, int root,
                    struct hpcboot_team *team, struct hpcboot_request **out,
                    struct hpcboot_error *err);
int hpcboot_igatherv(const void *send, size_t count, void *recv,
                     const size_t *recv_counts, const size_t *recv_displs,
                     enum hpcboot_type type, int root,
                     struct hpcboot_team *team, struct hpcboot_request **out,
                     struct hpcboot_error *err);
int hpcboot_iallgather(const void *send, void *recv, size_t count,
                       enum hpcboot_type type, struct hpcboot_team *team,
                       struct hpcboot_request **out,
                       struct hpcboot_error *err);
int hpcboot_iallgatherv(const void *send, size_t count, void *recv,
                        const size_t *recv_counts, const size_t *recv_displs,
                        enum hpcboot_type type, struct hpcboot_team *team,
                        struct hpcboot_request **out,
                        struct hpcboot_error *err);
int hpcboot_ireduce(const void *send, void *recv, size_t count,
                    enum hpcboot_type type, int op, int root,
                    struct hpcboot_team *team, struct hpcboot_request **out,
                    struct hpcboot_error *err);
int hpcboot_iallreduce(const void *send, void *recv, size_t count,
                       enum hpcboot_type type, int op,
                       struct hpcboot_team *team,
                       struct hpcboot_request **out,
                       struct hpcboot_error *err);
int hpcboot_ireduce_scatter(const void *send, void *recv,
                            const size_t *recv_counts, enum hpcboot_type type,
                            int op, struct hpcboot_team *team,
                            struct hpcboot_request **out,
                            struct hpcboot_error *err);
int hpcboot_ireduce_scatter_block(const void *send, void *recv, size_t count,
                                  enum hpcboot_type type, int op,
                                  struct hpcboot_team *team,
                                  struct hpcboot_request **out,
                                  struct hpcboot_error *err);
int hpcboot_ialltoall(const void *send, void *recv, size_t count,
                      enum hpcboot_type type, struct hpcboot_team *team,
                      struct hpcboot_request **out, struct hpcboot_error *err);
int hpcboot_ialltoallv(const void *send, const size_t *send_counts,
                       const size_t *send_displs, void *recv,
                       const size_t *recv_counts, const size_t *recv_displs,
                       enum hpcboot_type type, struct hpcboot_team *team,
                       struct hpcboot_request **out,
                       struct hpcboot_error *err);
int hpcboot_iscan(const void *send, void *recv, size_t count,
                  enum hpcboot_type type, int op, struct hpcboot_team *team,
                  struct hpcboot_request **out, struct hpcboot_error *err);
int hpcboot_iexscan(const void *send, void *recv, size_t count,
                    enum hpcboot_type type, int op, struct hpcboot_team *team,
                    struct hpcboot_request **out, struct hpcboot_error *err);

#ifdef __cplusplus
}
#endif

#endif
