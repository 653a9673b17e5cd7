/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_MODEL_H
#define HB_COLL_MODEL_H

/* Which way a collective takes on a node: a model of what each way costs, fed
 * by a few figures of the machine.
 *
 * The figures come from a short probe, which is kept in a file per kind of
 * machine, or are those of a typical one. One rank of a node finds them and
 * puts them, with the user's rules, into the page that its ranks share: so all
 * choose alike, whatever their environment or the file says later. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/coll/coll.h"

enum hb_way {
    HB_WAY_WHOLE,  /* each reads what the others put, in one round a piece */
    HB_WAY_SLICES, /* each folds a slice, and shares it in a second round */
    HB_WAY_CHAIN,  /* scan: each adds its own to what the one before has put */
    HB_WAY_LAST,   /* allreduce: the last to come folds, the others get that */
    HB_WAY_SHARED, /* buffers of hpcboot_alloc are read where they are */
    HB_WAY_CMA,    /* any buffers are, through the kernel: plan_cma.c */
    HB_WAYS
};
const char *hb_way_name(enum hb_way way); /* "slices" */
const char *hb_way_text(enum hb_way way); /* a few words more */

/* Pieces that a message may be cut into: 8, 16, 32 or 64 KiB. */
#define HB_PIECE_LEAST ((size_t)8 << 10)
#define HB_PIECE_MOST ((size_t)64 << 10)

/* A line of a peer that shares this core's third-level cache comes in 20 to 100
 * ns, beside what the clock hides: the larger the cache, the later. One from
 * elsewhere takes 130 and more, or 90 and more where the cache is small and
 * near: then a round of two ranks takes 45 ns. */
#define HB_FAR_NS 115
#define HB_FAR_NS_LEAST 75
/* Where a probe has found that the cache is sooner all the same. */
#define HB_FAR_NS_MOST 500
/* A shorter round is one of two threads of a core. */
#define HB_ROUND_NS_LEAST 30

void hb_model_typical(struct hb_coll_model *m);
/* Up to how many bytes a round of p ranks goes into the ring of the small
 * ones. */
size_t hb_model_small(int p);

/* Reads figures and rules, "round_ns=80 bcast:64K-=whole/16K", into *m; words
 * are set apart by blanks, commas or lines, '#' begins a comment. `machine`
 * (may be NULL) gets the word "machine=", 0 without. Any bytes are safe. */
int hb_model_parse(struct hb_coll_model *m, const char *text, size_t len,
                   uint64_t *machine, struct hpcboot_error *err);
#define HB_MODEL_TEXT_MOST 4096
/* The figures as such a text. Returns its length, as snprintf. */
int hb_model_print(const struct hb_coll_model *m, uint64_t machine,
                   char *text, size_t size);

/* Several such texts, one after the other, each from its word "machine=" on; of
 * this machine, and none with rules, or 0 are read. Returns how many. */
int hb_model_parse_takes(struct hb_coll_model *takes, int most,
                         const char *text, size_t len, uint64_t machine);

/* A take is what one probe has measured. Of the n takes that have a figure,
 * the least of one or two counts, or the second of three to five; where most of
 * them were made by two cores, those by two threads of one core are left out.
 * far_ns follows from the shortest round. */
#define HB_MODEL_TAKES_MOST 8
void hb_model_of_takes(struct hb_coll_model *m,
                       const struct hb_coll_model *takes, int n);

/* 512 or 64K or 1M; negative: it is none. */
int hb_model_bytes(const char *text, size_t len, uint64_t *out);

struct hb_way_choice {
    enum hb_way way;
    size_t piece;
    bool ask;     /* whether buffers are in the heap is worth asking for */
    bool cma;     /* of blocks that are all of one length; hb_model_cma */
    bool ruled;   /* a rule has said so, not the model */
};
/* Of a vector, or a block, of `bytes` among p ranks of the node. `m` NULL: a
 * typical machine. */
struct hb_way_choice hb_model_choose(const struct hb_coll_model *m,
                                 enum hpcboot_coll coll, int p, size_t bytes);

/* Bytes of the third-level caches for the buffers of p ranks; 0: nobody
 * says. */
size_t hb_model_room(const struct hb_coll_model *m, int p);

/* Whether to read blocks of `bytes` through the kernel, where it lets this
 * team, and which collectives ever are. */
bool hb_model_cma(const struct hb_coll_model *m, enum hpcboot_coll coll, int p,
                  size_t bytes);
/* How many bytes at the end of a block its sender writes to each receiver; who
 * gets the block reads the rest. */
size_t hb_model_cma_part(const struct hb_coll_model *m,
                         enum hpcboot_coll coll, int p, size_t bytes);
size_t hb_model_cma_writes(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes);
bool hb_model_knows_cma(const struct hb_coll_model *m,
                        enum hpcboot_coll coll);
/* Which fold what they read, and how much of each of the others at a time. */
bool hb_model_cma_folds(enum hpcboot_coll coll);
size_t hb_model_cma_block(int p);

/* What each way is expected to cost, for people. */
struct hb_candidate {
    enum hb_way way;
    size_t piece; /* 0: not cut */
    uint64_t rounds;
    double ns;
    bool chosen;
};
#define HB_CANDIDATES ((size_t)HB_WAYS * 4)
/* `alloc`: the buffers are of hpcboot_alloc. Returns how many; those of a way
 * stand together, the shortest piece first. */
size_t hb_model_candidates(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes,
                           bool alloc, struct hb_candidate *out);

/* Measures this machine with a second thread, for at most HB_PROBE_MS. Fails
 * where there is no second CPU, no thread, or others disturb it. */
#define HB_PROBE_MS 20
int hb_model_probe(struct hb_coll_model *m, struct hpcboot_error *err);

/* Measures what a short message costs over TCP of this machine's own, alone in
 * this thread, in HB_NET_PROBE_MS at most. Fails where there is no such. */
#define HB_NET_PROBE_MS 5
int hb_net_probe(struct hb_coll_model *m, struct hpcboot_error *err);

/* Sets the figures that are kept for this machine under the name `what`. Where
 * `probe` is not NULL, and what is kept is little or old, the machine is
 * measured first and the result kept with the rest. Where there is nothing, *m
 * stays as it is. `path` (may be NULL) gets the file's name; "": there is none.
 */
typedef int (*hb_model_probe_fn)(struct hb_coll_model *m,
                                 struct hpcboot_error *err);
void hb_model_find(struct hb_coll_model *m, const char *what,
                   hb_model_probe_fn probe, char *path, size_t size);
/* Sets send_ns and recv_ns: kept for this machine, or (where `probe`) measured
 * now and kept; 0 where neither can be. `path` as below. */
void hb_net_here(struct hb_coll_model *m, bool probe, char *path, size_t size);

/* What the cards of a job of hosts like this one would say of the network
 * between them. `path` gets where what is measured is kept; "": nowhere, or
 * HPCBOOT_COLL_TUNE says otherwise. */
void hb_net_facts_here(struct hb_coll_net_facts *out, char *path, size_t size);

/* The figures kept for this machine, or (where `probe`) measured now and kept,
 * or typical ones; then the rules of HPCBOOT_COLL_TUNE. Fails only for wrong
 * rules. `path` (may be NULL) gets where the figures are kept, "" nowhere. */
int hb_model_here(struct hb_coll_model *m, bool probe, char *path,
                  size_t size, struct hpcboot_error *err);

/* What the ranks of the node share; NULL: nothing. */
const struct hb_coll_model *hb_model_shared(struct hb_coll_node_page *page);

#endif
