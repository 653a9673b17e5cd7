/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_BUILD_H
#define HB_HOSTFILE_BUILD_H

#include "hostfile/hostfile.h"
#include "hostfile/lines.h"

/* Makes a gang out of mentions: what every dialect ends in. */
enum { HB_SLOTS_NOT_STATED = 0, HB_SLOTS_AUTO = -1, HB_SLOTS_GPUS = -2 };

struct hb_mentioned {
    char *user;    /* or NULL; borrowed */
    char *name;    /* a name, an address, or a name with ranges; borrowed */
    int literal;   /* `name` stood in the brackets of an IPv6 address */
    int slots;     /* > 0, or one of the three above */
    int max_slots; /* 0: none */
    int port;      /* 0: none */
};

/* How mentions of one host without a count add up. */
enum hb_tally {
    HB_TALLY_REPEATED, /* a host mentioned once is not stated, else one each */
    HB_TALLY_EACH,     /* one each: -H, node files */
    HB_TALLY_NONE      /* never stated: plain lists of names */
};

struct hb_build;
struct hb_build *hb_build_create(enum hb_tally tally);
void hb_build_destroy(struct hb_build *b);
/* Errors are placed by `lines`, whose current line holds m->name. */
int hb_build_add(struct hb_build *b, const struct hb_lines *lines,
                 const struct hb_mentioned *m, struct hpcboot_error *err);
size_t hb_build_count(const struct hb_build *b);
/* Hands the hosts to *out, which was empty. */
void hb_build_finish(struct hb_build *b, struct hb_gang *out);
/* Sets is_local of every host; `root` as in hb_gang_request. */
void hb_gang_mark_local(struct hb_gang *gang, const char *root);

/* Reads a slot count: 1 to HB_MAX_SLOTS, or "auto", "cpu", "*", "gpu" for what
 * is counted on the host. */
int hb_slots_parse(const struct hb_lines *lines, const char *text, int *out,
                   struct hpcboot_error *err);
/* The word at `text` in the current line as [USER@]HOST[:SLOTS], into *out,
 * which points into the line. */
int hb_word_parse(const struct hb_lines *lines, char *text,
                  struct hb_mentioned *out, struct hpcboot_error *err);

#endif
