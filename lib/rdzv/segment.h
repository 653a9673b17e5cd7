/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_SEGMENT_H
#define HB_RDZV_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* The memory that the ranks of a job on one node share, and their agent where
 * there is one: who is where, who has died, the pages of the collectives, a
 * heap. One memfd (or, where the system has none, an unlinked file whose size
 * is allocated), mapped whole by each; addresses are offsets into it.
 *
 * It is sealed against shrinking, so that no access can raise SIGBUS; memory
 * that nobody touches is not allocated. Whoever dies while holding the lock
 * is found by its slot or its process, and the lock taken over. */
#define HB_SEGMENT_ADDRESS_MAX 256u /* a rank's network address, with length */
#define HB_SEGMENT_REGIONS 2u       /* made in advance: world, node */
#define HB_SEGMENT_PAGE_BYTES 1024u /* for the engine of the collectives */

enum hb_segment_state {
    HB_RANK_ABSENT, HB_RANK_IN, HB_RANK_OUT, HB_RANK_DEAD
};

/* What a local rank has waited for so long that others may want to know. */
enum hb_segment_waits {
    HB_WAITS_NOT,
    HB_WAITS_RECV, /* a message of `tag`, or any (-1) */
    HB_WAITS_FENCE,
    HB_WAITS_FINALIZE,
    HB_WAITS_OTHER,
    HB_WAITS_SEND,   /* until a message of `tag` is taken */
    HB_WAITS_ANY,    /* one of several requests */
    HB_WAITS_EVENT,
    HB_WAITS_SHRINK, /* what the survivors of `team` agree on */
    HB_WAITS_COLL /* and those above, for enum hpcboot_coll */
};
struct hb_segment_wait {
    _Atomic uint32_t kind; /* written last, cleared first */
    _Atomic uint32_t team; /* its number, and how many ranks it has */
    _Atomic uint32_t team_size;
    _Atomic uint32_t threads; /* of this rank more than one may wait */
    _Atomic int32_t on;    /* rank in the world; -1: any, or not known */
    _Atomic int32_t tag;
    _Atomic uint64_t calls; /* on that team, this one included */
    _Atomic int64_t since_ns; /* monotonic clock of the node */
};

struct hb_segment_slot { /* of a local rank; cache line pairs of its own */
    _Alignas(128) _Atomic uint32_t state; /* enum hb_segment_state */
    _Atomic int32_t pid;                  /* in its own PID namespace */
    _Atomic uint64_t pid_space;           /* inode of that namespace */
    _Atomic uint64_t values;              /* node_values.c */
    _Alignas(128) struct hb_segment_wait wait;
};

#define HB_DEATH_TEXT_MAX 248u
struct hb_death {
    int64_t since_ns; /* when it was written; monotonic clock of the node */
    uint32_t rank;
    _Atomic uint32_t is_sure; /* all ranks of the job are told the same */
    char text[HB_DEATH_TEXT_MAX]; /* "rank 3 on pod-1 was killed by ..." */
};

/* Ranks that come into the job, or are told to leave it. */
enum hb_news_kind { HB_NEWS_COMES = 1, HB_NEWS_LEAVES };
struct hb_news {
    uint32_t kind, rank;
    uint32_t after; /* so many deaths */
    char text[HB_DEATH_TEXT_MAX];
};

/* Where everything is, in bytes from the beginning; it never changes. */
struct hb_segment_layout {
    uint64_t magic, size;
    uint32_t n_ranks, n_nodes, node, n_local, agent, unused;
    uint64_t slots, deaths, node_of, local_rank, name_at, names, names_bytes;
    uint64_t addresses, regions, region_bytes, map, heap, heap_pages;
    uint64_t rings, ring_bytes, news, lost, death_of;
};

struct hb_segment {
    void *base;
    size_t size;
    int fd;
    dev_t device; /* of fd, as the next */
    ino_t inode;
    struct hb_segment_layout layout; /* this process's own copy */
};
#define HB_SEGMENT_INIT {.fd = -1}

/* What is where. Arrays are by rank, [n_ranks], names by node. */
struct hb_segment_spec {
    uint32_t n_ranks, n_nodes, node, n_local;
    const uint32_t *node_of, *local_rank;
    char *const *names;
    size_t region_bytes; /* of each region made in advance */
    size_t region_small; /* where no more fits; 0: region_bytes */
    size_t heap_bytes;   /* rounded up to pages */
    size_t heap_least;   /* may be made where no more fits; 0: heap_bytes */
    uint64_t addresses;  /* RLIMIT_AS of who attaches; 0: as this process */
    uint32_t agent;      /* 1: an agent marks the dead */
};

#define HB_SEGMENT_HEAP_LEAST ((size_t)32 << 20) /* of who wishes no size */

/* What no file or address space of this process has room for is refused before
 * the system ends the process for it (RLIMIT_FSIZE). */
int hb_segment_create(struct hb_segment *out,
                      const struct hb_segment_spec *spec,
                      struct hpcboot_error *err);
/* Takes fd, also on failure. ERR_PROTOCOL: it is no such memory. */
int hb_segment_attach(struct hb_segment *out, int fd,
                      struct hpcboot_error *err);
void hb_segment_close(struct hb_segment *s); /* NULL-safe; unmaps */

uint32_t hb_segment_ranks(const struct hb_segment *s);
uint32_t hb_segment_nodes(const struct hb_segment *s);
uint32_t hb_segment_node(const struct hb_segment *s);
uint32_t hb_segment_locals(const struct hb_segment *s);
int hb_segment_has_agent(const struct hb_segment *s);
const uint32_t *hb_segment_node_of(const struct hb_segment *s);
const uint32_t *hb_segment_local_rank(const struct hb_segment *s);
const char *hb_segment_name(const struct hb_segment *s, uint32_t node);
struct hb_segment_slot *hb_segment_slot(const struct hb_segment *s,
                                        uint32_t local);
uint64_t hb_segment_pid_space(void); /* of this process; 0: not known */
/* HB_SEGMENT_PAGE_BYTES, zeroed, 128-aligned. */
void *hb_segment_page(const struct hb_segment *s);
void *hb_segment_region(const struct hb_segment *s, unsigned which,
                        size_t *size_out);
/* For messages of local rank `from` to `to`; zeroed. */
void *hb_segment_ring(const struct hb_segment *s, uint32_t to, uint32_t from,
                      size_t *size_out);
void *hb_segment_heap(const struct hb_segment *s, size_t *size_out);

/* A rank's address; written once, before the others are told. */
int hb_segment_set_address(struct hb_segment *s, uint32_t rank,
                           const void *data, size_t len,
                           struct hpcboot_error *err);
const void *hb_segment_address(const struct hb_segment *s, uint32_t rank,
                               size_t *len_out);

/* Records a death, once per rank. by: the local rank that takes it from a
 * connection that has ended, as others may not; -1: the agent says so, and it
 * is sure. 1: it is new, or has become sure; raising the alarm of those who
 * wait is the caller's. ERR_AGAIN, of the agent alone: a rank that is stopped
 * holds the lock, and nobody has been told. */
int hb_segment_mark_dead(struct hb_segment *s, int by, uint32_t rank,
                         const char *text);
/* Others think so, too; where there is no agent, as far as can be known. */
int hb_segment_is_surely_dead(const struct hb_segment *s, uint32_t rank);
uint32_t hb_segment_deaths(const struct hb_segment *s);
const struct hb_death *hb_segment_death(const struct hb_segment *s,
                                        uint32_t index);
/* `rank` may be a number beyond the job that this memory describes (a rank that
 * came later). 1: the news are kept. */
int hb_segment_tell(struct hb_segment *s, enum hb_news_kind kind,
                    uint32_t rank, const char *text);
uint32_t hb_segment_told(const struct hb_segment *s);
const struct hb_news *hb_segment_news(const struct hb_segment *s,
                                      uint32_t index);
const struct hb_death *hb_segment_find_death(const struct hb_segment *s,
                                             uint32_t rank);
/* Records that a connection to a rank was given up by a local one, once per
 * rank. The agent reads the records, of which `out` is a copy; 0: there are no
 * more than `index`. */
void hb_segment_mark_lost(struct hb_segment *s, int by, uint32_t rank,
                          const char *text);
int hb_segment_lost(const struct hb_segment *s, uint32_t index,
                    struct hb_death *out);

/* Zeroed, page-aligned memory of the heap as an offset. `local` is who takes
 * it. ERR_NOMEM. */
int hb_segment_alloc(struct hb_segment *s, uint32_t local, size_t bytes,
                     uint64_t *offset_out, struct hpcboot_error *err);
/* `local` is who gives it back. 0: nothing begins at this offset. */
int hb_segment_free(struct hb_segment *s, uint32_t local, uint64_t offset);
/* A piece that several local ranks use; the surely dead need not leave it.
 * Whoever has taken it tells the others its offset. Each comes, before it uses
 * it: the first to come says who they all are, as ranks of the job. */
int hb_segment_alloc_shared(struct hb_segment *s, uint32_t local, size_t bytes,
                            uint64_t *offset_out, struct hpcboot_error *err);
/* Where its bytes begin; NULL: no such piece begins at this offset. */
void *hb_segment_shared(const struct hb_segment *s, uint64_t offset,
                        size_t *size_out);
void hb_segment_come(struct hb_segment *s, uint32_t local, uint64_t offset,
                     const uint32_t *ranks, uint32_t n);
/* Of who has come. It is given back by the last one. */
void hb_segment_leave(struct hb_segment *s, uint32_t local, uint64_t offset);
/* Of who has taken it, and did not come: nobody will come any more. */
void hb_segment_give_up(struct hb_segment *s, uint32_t local, uint64_t offset);

/* Where the local ranks meet without an agent (node_values.c): how often all
 * have come, above, and how many have since. */
struct hb_segment_meeting {
    _Alignas(128) _Atomic uint64_t state;
};
struct hb_segment_meeting *hb_segment_meeting(const struct hb_segment *s);

/* ---- from outside the job ---- */

/* A copy of what a local rank shows. */
struct hb_segment_seen {
    uint32_t rank;        /* in the world */
    uint32_t state;       /* enum hb_segment_state, or anything */
    int32_t pid;
    uint64_t pid_space;
    uint32_t kind, team, team_size, threads;
    int32_t on, tag;
    uint64_t calls;
    int64_t since_ns;
    int locks;            /* it has the lock of the memory */
};
struct hb_segment_look {
    uint32_t n_ranks, n_nodes, node, n;
    struct hb_segment_seen *v; /* [n]; free() */
};
/* Reads the memory of a job that is not this process's, by its descriptor and
 * without mapping it. Nothing that stands there is believed but for showing
 * it. ERR_NOT_FOUND: it is no such memory. */
int hb_segment_look(int fd, struct hb_segment_look *out,
                    struct hpcboot_error *err);

#endif
