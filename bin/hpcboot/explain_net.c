/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot explain --nodes: what a collective takes between hosts. The library
 * makes the schedule of such a team as it makes it in a job, and this file
 * prints what is in it, and the figures that the choice rests on. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcboot/explain.h"
#include "lib/base/error.h"
#include "lib/coll/model.h"
#include "lib/coll/net_explain.h"

#define PATH_ROOM 4096

static void facts_of(const struct explain_question *q,
                     struct hb_coll_net_facts *f, char *path, size_t size)
{
    int kind = q->network != NULL ? hb_net_kind_of(q->network) : 0;

    if (q->typical) {
        *f = (struct hb_coll_net_facts){.rails = 1};
    } else {
        hb_net_facts_here(f, path, size);
    }
    if (q->network != NULL && f->kind != (enum hb_coll_net_kind)kind) {
        f->kind = (enum hb_coll_net_kind)kind;
        f->mbps = 0; /* of the other kind */
    }
    f->mbps = q->mbps != 0 ? (uint32_t)q->mbps : f->mbps;
    f->one_machine = q->pods;
    f->cpus = (uint32_t)q->cpus;
}

static void show_sources(const struct explain_question *q,
                         const struct hb_coll_net_facts *f, const char *path)
{
    printf("network: %s", hb_net_kind_name(f->kind));
    if (f->mbps > 0) {
        printf(", %u Mb/s%s", f->mbps, q->mbps != 0 ? "" : " by this host's "
                                                          "devices");
    } else {
        printf(", of a rate that is not known");
    }
    printf("%s\n", q->pods ? ", pods of one machine" : "");
    if (f->kind != HB_COLL_NET_TCP || f->send_ns == 0 || f->recv_ns == 0) {
        printf("  what a message costs: as is typical\n");
        return;
    }
    printf("  a short message by TCP: %u ns to send, %u ns to receive, %s%s\n",
           f->send_ns, f->recv_ns,
           *path != '\0' ? "measured on this host, kept in "
                         : "measured on this host, or said by "
                           "HPCBOOT_COLL_TUNE",
           path);
}

static void show_model(const struct hb_model *m)
{
    printf("  the model takes: latency %.0f ns, sending %.0f, receiving %.0f; "
           "%.3f ns a byte\n", m->latency, m->overhead, m->receive, m->byte);
    if (m->big != m->byte) {
        printf("  ... and %.3f ns a byte of messages beyond %.0f bytes\n",
               m->big, m->eager);
    }
    if (m->cpus > 0) {
        printf("  ... and %.0f CPUs for all ranks\n", m->cpus);
    }
}

static void show_parts(const struct hb_net_answer *a)
{
    for (int i = 0; i < a->n_parts; i++) {
        const char *before = i == 0 ? "" : i + 1 < a->n_parts ? ", " : ", and ";

        printf("%s%s %s", before, hb_coll_name(a->parts[i].coll),
               a->parts[i].between ? "between hosts" : "on each host");
    }
    printf("%s\n", a->n_parts == 0 ? "no message" : "");
}

/* Why each rank is for itself, or its host comes first. */
static void show_flat(const struct explain_question *q,
                      const struct hb_net_answer *a)
{
    static const char *const why[] = {
        [HB_FLAT_SINGLE] = "no host has two",
        [HB_FLAT_WISH] = "HPCBOOT_COLL_NET says so",
        [HB_FLAT_NO_WAY] = "it knows no counts but its own, so that no other "
                           "could send for it",
        [HB_FLAT_SAME_BITS] = "the same bits are wanted on every layout",
        [HB_FLAT_ELEMENT] = "an element is too long for the shared memory",
        [HB_FLAT_ORDER] = "ranks of a host do not follow one another",
        [HB_FLAT_ROOM] = "one rank of a host would need more than 64 MiB for "
                         "the blocks of all",
        [HB_FLAT_CHAIN] = "a chain of all is cheapest where pods share CPUs",
    };

    if (a->flat == HB_FLAT_NOT) {
        printf("ranks of a host first, by its memory, and some of them send "
               "for all");
    } else {
        printf("each rank for itself");
    }
    if (a->flat == HB_FLAT_LONG) {
        printf(": blocks of more than %zu bytes are not worth the way through "
               "another rank", hb_sched_block_most(q->coll));
    } else if (a->crowd.nodes_ns > 0 && a->hierarchy < 0) {
        printf(": pods share CPUs, and this would cost %.2f us, the other way "
               "%.2f", (a->flat == HB_FLAT_NOT ? a->crowd.nodes_ns
                                               : a->crowd.flat_ns) / 1000,
               (a->flat == HB_FLAT_NOT ? a->crowd.flat_ns
                                       : a->crowd.nodes_ns) / 1000);
    } else if (a->flat != HB_FLAT_NOT) {
        printf(": %s", why[a->flat]);
    } else if (a->hierarchy == 1) {
        printf(": HPCBOOT_COLL_NET says so");
    }
    printf("\n");
}

static bool is_taken(const struct hb_net_phase *p, const struct hb_choice *how)
{
    return how->alg == p->taken.how.alg;
}

static void show_row(const struct hb_net_phase *p, const struct hb_choice *how)
{
    char radix[16] = "-", segment[24] = "-";

    if (how->alg == HB_ALG_KNOMIAL ||
        p->taken.coll == HPCBOOT_COLL_BARRIER) {
        snprintf(radix, sizeof radix, "%d", how->radix);
    }
    if (how->segment > 0) {
        snprintf(segment, sizeof segment, "%zu", how->segment);
    }
    printf("%-12s %5s %9s %12.2f%s\n", hb_alg_name(how->alg), radix, segment,
           how->cost_ns / 1000, is_taken(p, how) ? "  chosen" : "");
}

/* Why a way is taken that is not the cheapest of its table. */
static const char *in_spite_of_cost(const struct hb_net_answer *a,
                                    const struct hb_net_phase *p)
{
    if (a->flat != HB_FLAT_NOT) { /* gatherv, scatterv */
        return "taken as a rank knows no counts but its own, so that no other "
               "could hand on its block";
    }
    return p->taken.how.alg == HB_ALG_PIPELINE
               ? "taken where ranks of a host come first, so that they take "
                 "one segment while the next is on its way"
               : "taken where ranks of a host come first, so that rows of "
                 "their blocks travel as one";
}

static void show_reason(const struct hb_net_answer *a,
                        const struct hb_net_phase *p)
{
    const struct hb_choice *best = NULL;

    for (size_t i = 0; i < p->n; i++) {
        const struct hb_choice *how = &p->ways[i];

        if (!is_taken(p, how) &&
            (best == NULL || how->cost_ns < best->cost_ns)) {
            best = how;
        }
    }
    printf("\n%s: ", hb_alg_name(p->taken.how.alg));
    if (p->wished) {
        printf("HPCBOOT_COLL_NET says so\n");
    } else if (best == NULL) {
        printf("there is no other\n");
    } else if (best->cost_ns < p->taken.how.cost_ns) {
        printf("%s\n", in_spite_of_cost(a, p));
    } else {
        printf("the next, %s, would cost %.2f us more\n",
               hb_alg_name(best->alg),
               (best->cost_ns - p->taken.how.cost_ns) / 1000);
    }
}

static void show_phase(const struct hb_net_answer *a,
                       const struct hb_net_phase *p)
{
    printf("\n%s of %zu bytes between %d ranks\n", hb_coll_name(p->taken.coll),
           p->taken.bytes, p->taken.size);
    printf("%-12s %5s %9s %12s\n", "algorithm", "radix", "segment",
           "predicted us");
    for (size_t i = 0; i < p->n; i++) {
        show_row(p, &p->ways[i]);
    }
    show_reason(a, p);
}

int explain_between_hosts(const struct explain_question *q,
                          struct hpcboot_error *err)
{
    struct hb_net_question ask = {
        .coll = q->coll, .bytes = q->bytes, .nodes = (int)q->nodes,
        .per_node = (int)q->ranks, .wish = getenv("HPCBOOT_COLL_NET")};
    struct hb_net_answer a;
    char path[PATH_ROOM] = "";
    int rc;

    facts_of(q, &ask.facts, path, sizeof path);
    rc = hb_net_explain(&ask, &a, err);
    if (rc < 0) {
        return rc;
    }
    explain_subject(q);
    printf("%llu hosts of %llu rank%s\n", (unsigned long long)q->nodes,
           (unsigned long long)q->ranks, q->ranks == 1 ? "" : "s");
    show_sources(q, &ask.facts, path);
    show_model(&a.model);
    printf("\n");
    show_parts(&a);
    show_flat(q, &a);
    for (int i = 0; i < a.n_phases; i++) {
        show_phase(&a, &a.phases[i]);
    }
    return 0;
}
