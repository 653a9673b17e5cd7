/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_COMM_H
#define HPCBOOT_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "hpcboot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Teams, requests, messages, shared memory, events. All calls need
 * hpcboot_init; ERR_USAGE otherwise, and for every wrong argument. */

/* A team is an ordered set of ranks; its own ranks are 0..size-1. */
struct hpcboot_team;

/* All ranks of the job, and those of this node, in rank order. They belong to
 * the library. NULL before hpcboot_init and after hpcboot_finalize. */
struct hpcboot_team *hpcboot_world(void);
struct hpcboot_team *hpcboot_node_team(void);

/* Collective over `parent`. Ranks with the same color form a team, ordered by
 * key and, where keys are equal, by rank in the parent. *out is NULL at ranks
 * with a negative color. Destroy with hpcboot_team_destroy. ERR_USAGE,
 * ERR_NOMEM, ERR_PEER_DEAD, ERR_TIMED_OUT. */
int hpcboot_team_split(struct hpcboot_team *parent, int color, int key,
                       struct hpcboot_team **out, struct hpcboot_error *err);
/* Collective over `parent`: the team of ranks[n_ranks] of the parent, in that
 * order, the same list at each of them. *out is NULL at ranks that are not in
 * the list. */
int hpcboot_team_create(struct hpcboot_team *parent, const int *ranks,
                        int n_ranks, struct hpcboot_team **out,
                        struct hpcboot_error *err);
/* The living members of a team in which someone has died, in the old order,
 * in the job's next epoch. Called by all survivors; blocks until they have
 * agreed. The old team is only good for hpcboot_team_destroy, or to be shrunk
 * once more by all survivors. With all members alive it makes an equal team.
 * Of the world, or of what the world was shrunk to: hpcboot_fence is for its
 * members from then on. A member that dies meanwhile may be in the new team
 * of some; its first use says so, and they shrink it again: a call that has
 * failed is the reason to shrink, not each event. No other thread of a rank
 * makes a team meanwhile. */
int hpcboot_team_shrink(struct hpcboot_team *team, struct hpcboot_team **out,
                        struct hpcboot_error *err);
/* Local. Its requests must be complete, and persistent ones freed; NULL is a
 * no-op; not for the world and node teams (ERR_USAGE). */
int hpcboot_team_destroy(struct hpcboot_team *team, struct hpcboot_error *err);

int hpcboot_team_rank(const struct hpcboot_team *team);
int hpcboot_team_size(const struct hpcboot_team *team);
/* The rank in the world of a rank of the team, or ERR_USAGE. */
int hpcboot_team_world_rank(const struct hpcboot_team *team, int rank);

enum hpcboot_team_setting {
    HPCBOOT_TEAM_TIMEOUT_MS,   /* of each call; 0 (the default): none */
    HPCBOOT_TEAM_DETERMINISTIC /* 1: as HPCBOOT_DETERMINISTIC in each call */
};
/* Local; the same at all members before the next call on the team. */
int hpcboot_team_set(struct hpcboot_team *team,
                     enum hpcboot_team_setting setting, int value,
                     struct hpcboot_error *err);

/* How messages of this rank to a rank of the world go. */
struct hpcboot_transport {
    size_t struct_size;
    char name[16];    /* "self", "shm" (memory of the node), "tcp", "ucx";
                       * "none": ranks of two nodes choose with the first
                       * message between them */
    char detail[240]; /* the device, or the addresses, one for each network
                       * that is used; with tcp, why not ucx */
};
#define HPCBOOT_TRANSPORT_INIT HPCBOOT_SIZED_(struct hpcboot_transport)
/* ERR_USAGE: no such rank. */
int hpcboot_transport_of(int rank, struct hpcboot_transport *out,
                         struct hpcboot_error *err);

/* What was started and is not complete. A request belongs to the caller until
 * a test or wait reports it complete, which frees it and sets the pointer to
 * NULL, or, when it is persistent, makes it ready for hpcboot_start. The
 * outcome of the operation is the return value of that test or wait. NULL is
 * a complete request. Every call that waits or tests, of whatever kind, moves
 * on all that this rank has started (but hpcboot_fence over a bootstrap of the
 * caller's own). */
struct hpcboot_request;

int hpcboot_start(struct hpcboot_request *request, struct hpcboot_error *err);
/* Never blocks; *done_out is 0 or 1. */
int hpcboot_test(struct hpcboot_request **request, int *done_out,
                 struct hpcboot_error *err);
/* timeout_ms: 0: until it is complete. ERR_TIMED_OUT leaves it under way. */
int hpcboot_wait(struct hpcboot_request **request, int timeout_ms,
                 struct hpcboot_error *err);
/* One of requests[n]; *index_out is -1 when all of them are NULL or not
 * started. */
int hpcboot_wait_any(struct hpcboot_request **requests, size_t n,
                     int timeout_ms, size_t *index_out,
                     struct hpcboot_error *err);
/* All of them; the first error is returned when all are complete. */
int hpcboot_wait_all(struct hpcboot_request **requests, size_t n,
                     int timeout_ms, struct hpcboot_error *err);
/* Frees a persistent request that is not under way, or gives up a message that
 * is: what has come or comes is there for the next receive, what is being sent
 * goes on from a copy. NULL-safe. */
int hpcboot_request_free(struct hpcboot_request **request,
                         struct hpcboot_error *err);
/* Moves on whatever is under way. Never blocks. */
int hpcboot_progress(struct hpcboot_error *err);

/* Messages between members of a team. Those of one sender with one tag arrive
 * in order. Tags are 0..HPCBOOT_TAG_MAX. hpcboot_send may return before the
 * message is received, and may wait until it is. */
#define HPCBOOT_TAG_MAX 0x3fffffff
#define HPCBOOT_ANY_SOURCE (-1)
#define HPCBOOT_ANY_TAG (-1)

struct hpcboot_message {
    int source; /* rank in the team */
    int tag;
    size_t size; /* bytes */
};

int hpcboot_send(struct hpcboot_team *team, int dest, int tag,
                 const void *data, size_t size, struct hpcboot_error *err);
/* `message` may be NULL. A message longer than `capacity` is received as far
 * as it fits, and is ERR_LIMIT. */
int hpcboot_recv(struct hpcboot_team *team, int source, int tag, void *data,
                 size_t capacity, struct hpcboot_message *message,
                 struct hpcboot_error *err);
int hpcboot_isend(struct hpcboot_team *team, int dest, int tag,
                  const void *data, size_t size, struct hpcboot_request **out,
                  struct hpcboot_error *err);
/* `message` is borrowed until completion. */
int hpcboot_irecv(struct hpcboot_team *team, int source, int tag, void *data,
                  size_t capacity, struct hpcboot_message *message,
                  struct hpcboot_request **out, struct hpcboot_error *err);

/* Memory that every rank of this node can read in place: collectives on such
 * buffers need no copy in between. Local; begins at a page, zeroed.
 * ERR_NOMEM when the node's heap (HPCBOOT_HEAP_MB) is used up; ordinary
 * memory, without the gain, where ranks share none. */
int hpcboot_alloc(size_t size, void **out, struct hpcboot_error *err);
void hpcboot_free(void *memory); /* NULL-safe; also after hpcboot_finalize */

/* What has happened to the job, in order, once per rank of the job. A rank that
 * comes is none of this world, and may have a number above it: it waits in
 * hpcboot_init until the ranks of all nodes are there, which is when these have
 * finalised and begun anew (exec). One that leaves has been told to end. */
enum hpcboot_event_kind {
    HPCBOOT_EVENT_PEER_DEAD = 1, /* rank, cause */
    HPCBOOT_EVENT_RANK_COMES,
    HPCBOOT_EVENT_RANK_LEAVES
};
struct hpcboot_event {
    size_t struct_size; /* HPCBOOT_EVENT_INIT sets it */
    enum hpcboot_event_kind kind;
    int rank;           /* in the world */
    unsigned epoch;     /* of the job, after it */
    char text[HPCBOOT_ERROR_TEXT_MAX]; /* a sentence: who, where, why */
};
#define HPCBOOT_EVENT_INIT HPCBOOT_SIZED_(struct hpcboot_event)
/* Returns 1 and fills *event; 0 when none came within timeout_ms (0: does not
 * wait). */
int hpcboot_next_event(struct hpcboot_event *event, int timeout_ms,
                       struct hpcboot_error *err);

#ifdef __cplusplus
}
#endif

#endif
