/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_DOCTOR_TRAFFIC_H
#define HB_DOCTOR_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include "bin/doctor/doctor.h"

/* Real messages between the hosts of a gang. Each host runs one probe
 * (bin/probe), a program that uses libhpcboot as a job's ranks do; probes meet
 * in pairs, round by round, and report lines. Here is who meets whom, what
 * the lines say, and which of it is out of the ordinary. */

/* --- schedule -------------------------------------------------------- */

#define HB_TRAFFIC_ALL_MAX 16u /* hosts; in larger gangs not all pairs meet */
#define HB_TRAFFIC_NOBODY UINT32_MAX

/* Rounds for n hosts: all pairs, or log2(n) partners for each. In a round a
 * host is in one pair at most. */
uint32_t hb_traffic_rounds(uint32_t n, int all);
/* Whom a host meets; NOBODY: it has nothing to do in this round. */
uint32_t hb_traffic_partner(uint32_t n, int all, uint32_t round,
                            uint32_t host);

/* --- between a probe and its agent ----------------------------------- */

/* A frame is its length (4 bytes, big-endian, of what follows), a kind, and
 * bytes. Towards the probe all frames are GATHER. */
#define HB_PROBE_GATHER 'G' /* this probe's part of an allgather */
#define HB_PROBE_REPORT 'R' /* lines, once, at the end */
#define HB_PROBE_FRAME_MAX (64u << 20)

/* --- what was measured ----------------------------------------------- */

/* By verbs, beside libhpcboot: is there an address handle, do datagrams (UD)
 * and a connection (RC) carry a message? */
enum hb_traffic_verb { HB_VERB_AH, HB_VERB_UD, HB_VERB_RC, HB_VERBS };
const char *hb_traffic_verb_name(enum hb_traffic_verb verb); /* "ud" */

enum { HB_SLOW_LATENCY = 1, HB_SLOW_BANDWIDTH = 2 };
struct hb_traffic_cell { /* from one host to another; 0: not measured */
    uint32_t from, to;
    uint64_t connect_ns, min_ns, max_ns; /* a message there and back */
    uint64_t kbps;  /* 1,000 bytes a second, there */
    char *failed;   /* NULL: it went well */
    int large_only; /* short messages went well */
    char *transport, *detail; /* hpcboot_transport_of; NULL: nothing came */
    uint64_t verb_ns[HB_VERBS]; /* there and back */
    char *verb_failed[HB_VERBS];
    unsigned slow; /* HB_SLOW_*, by hb_traffic_judge */
};

struct hb_traffic_host {
    const char *name;            /* borrowed */
    uint64_t segments, repeated; /* TCP, during the probes */
    uint64_t packets, lost;      /* of its RDMA devices */
    char *error;                 /* its probe could not run */
};

struct hb_traffic {
    uint32_t n, rounds;
    struct hb_traffic_host *hosts; /* [n] */
    struct hb_traffic_cell *cells; /* [n_cells] */
    size_t n_cells;
    uint64_t latency_ns, kbps; /* medians, by hb_traffic_judge */
};

/* names[n]: borrowed. */
void hb_traffic_init(struct hb_traffic *t, uint32_t n,
                     const char *const *names);
void hb_traffic_destroy(struct hb_traffic *t); /* leaves it empty */
/* What the probe of a host has reported. ERR_PROTOCOL: not such lines. */
int hb_traffic_take(struct hb_traffic *t, uint32_t host, const char *text,
                    size_t len, struct hpcboot_error *err);
/* The probe of a host did not come to its end. */
void hb_traffic_missing(struct hb_traffic *t, uint32_t host, const char *why);
/* Marks what is out of the ordinary; findings name hosts rather than pairs
 * where one host explains them. */
void hb_traffic_judge(struct hb_traffic *t, struct hb_findings *out);

/* cell of [from * n + to], NULL: not measured; free() the table. */
const struct hb_traffic_cell **hb_traffic_table(const struct hb_traffic *t);
void hb_traffic_text(const struct hb_traffic *t, struct hb_str *out);
void hb_traffic_json(const struct hb_traffic *t, struct hb_json *j);
/* "1.2 GB/s" */
void hb_traffic_rate(uint64_t kbps, struct hb_str *out);

#endif
