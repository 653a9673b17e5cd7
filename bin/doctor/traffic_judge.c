/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What of the traffic is out of the ordinary.
 *
 * There are no limits in microseconds: a pair is slow when it is far from the
 * median of this gang, by the median of the deviations, so that the same rules
 * hold for TCP between pods and for InfiniBand. Two pairs alone have no
 * ordinary. Where most of a host's pairs are out of it the host is named, and
 * its pairs no more. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/doctor/traffic.h"
#include "lib/base/str.h"

#define PAIRS_MIN 3u
/* Far from the median: by this factor, and by so many deviations. */
#define FAR_FACTOR 3u
#define FAR_DEVIATIONS 8u
/* A rate cannot be less than nothing: where deviations are as large as rates,
 * a tenth of the median is still too little. */
#define THIN_DEVIATIONS 3u
#define THIN_FACTOR 10u
/* What a busy host does to a message in passing. */
#define NOISE_NS UINT64_C(100000)
/* TCP repeats a segment now and then; more costs transfers half their rate. */
#define REPEATED_PER_1000 10u
#define LOSSES_MIN 5u
/* An RDMA fabric should lose nothing, and the probes send little there: fewer
 * losses tell as well, where they are so many of the packets. */
#define FEW_LOSSES 2u
#define FEW_PER_PACKETS 20u
/* Of a host's pairs, in tenths: then it is the host. */
#define MOST_TENTHS 7u

static void found(struct hb_findings *out, enum hb_grade grade,
                  const char *check, const char *why, const char *mend,
                  const char *where, char *what)
{
    const struct hb_finding one = {
        .grade = grade, .check = (char *)check, .what = what,
        .why = (char *)why, .mend = (char *)mend};

    hb_finding_add(out, &one, where);
    free(what);
}

/* --- medians --------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Of an even number the lower one, or the upper one: where one of four hosts
 * is slow, half of the pairs are, and the better half is the ordinary. */
static uint64_t median(uint64_t *v, size_t n, int upper)
{
    if (n == 0) {
        return 0;
    }
    qsort(v, n, sizeof *v, by_value);
    return upper ? v[n / 2] : v[(n - 1) / 2];
}

static uint64_t latency_of(const struct hb_traffic_cell *c)
{
    return c->min_ns;
}

static uint64_t rate_of(const struct hb_traffic_cell *c)
{
    return c->kbps;
}

/* Of all that was measured, and of its distances from that. */
static size_t middle(const struct hb_traffic *t,
                     uint64_t (*get)(const struct hb_traffic_cell *c),
                     int more_is_better, uint64_t *median_out,
                     uint64_t *deviation_out)
{
    uint64_t *v = hb_xcalloc(t->n_cells + 1, sizeof *v);
    size_t n = 0;

    for (size_t i = 0; i < t->n_cells; i++) {
        if (get(&t->cells[i]) > 0) {
            v[n++] = get(&t->cells[i]);
        }
    }
    *median_out = median(v, n, more_is_better);
    for (size_t i = 0; i < n; i++) {
        v[i] = v[i] > *median_out ? v[i] - *median_out : *median_out - v[i];
    }
    *deviation_out = median(v, n, 0);
    free(v);
    return n;
}

/* There and back is the same way for both: the quicker of the two is what it
 * takes, the rest is somebody else's work. */
static void mark_far(struct hb_traffic *t, uint64_t deviation)
{
    const struct hb_traffic_cell **table = hb_traffic_table(t);
    uint64_t far = t->latency_ns + FAR_DEVIATIONS * deviation + NOISE_NS;

    for (size_t i = 0; i < t->n_cells; i++) {
        struct hb_traffic_cell *c = &t->cells[i];
        const struct hb_traffic_cell *back =
            table[(size_t)c->to * t->n + c->from];
        uint64_t ns = c->min_ns;

        if (back != NULL && back->min_ns > 0 && back->min_ns < ns) {
            ns = back->min_ns;
        }
        if (ns > far && ns > FAR_FACTOR * t->latency_ns) {
            c->slow |= HB_SLOW_LATENCY;
        }
    }
    free(table);
}

static void mark_slow(struct hb_traffic *t)
{
    uint64_t deviation;

    if (middle(t, latency_of, 0, &t->latency_ns, &deviation) >= PAIRS_MIN) {
        mark_far(t, deviation);
    }
    if (middle(t, rate_of, 1, &t->kbps, &deviation) >= PAIRS_MIN) {
        for (size_t i = 0; i < t->n_cells; i++) {
            uint64_t kbps = t->cells[i].kbps;
            t->cells[i].slow |=
                kbps > 0 && FAR_FACTOR * kbps < t->kbps &&
                        (kbps + THIN_DEVIATIONS * deviation < t->kbps ||
                         THIN_FACTOR * kbps < t->kbps)
                    ? HB_SLOW_BANDWIDTH : 0u;
        }
    }
}

/* --- hosts rather than pairs ----------------------------------------- */

static int is_failed(const struct hb_traffic_cell *c)
{
    return c->failed != NULL;
}

static int is_far(const struct hb_traffic_cell *c)
{
    return (c->slow & HB_SLOW_LATENCY) != 0;
}

static int is_thin(const struct hb_traffic_cell *c)
{
    return (c->slow & HB_SLOW_BANDWIDTH) != 0;
}

static int is_not_handled(const struct hb_traffic_cell *c)
{
    for (int v = 0; v < HB_VERBS; v++) {
        if (c->verb_failed[v] != NULL) {
            return 1;
        }
    }
    return 0;
}

struct symptom {
    int (*shows)(const struct hb_traffic_cell *c);
    enum hb_grade grade;
    const char *check, *why, *mend;
    const char *host; /* of most pairs of a host */
};

static const struct symptom symptoms[] = {
    {is_failed, HB_GRADE_BAD, "traffic",
     "ranks there would wait for each other for ever, or fail in the middle",
     "look at routes, firewalls and network policies between the hosts; where "
     "only large messages are lost, at the MTU of all on the way",
     "messages to and from it do not arrive"},
    {is_far, HB_GRADE_DEGRADED, "latency",
     "every collective waits for its slowest pair",
     "look for another path, a loaded host or a power-saving state; leave the "
     "host out where it stays",
     "short messages to and from it take longer than elsewhere"},
    {is_thin, HB_GRADE_DEGRADED, "bandwidth",
     "large collectives run at the rate of the slowest pair",
     "look at the link's rate, its errors, and who else uses it",
     "its transfers are slower than elsewhere"},
    {is_not_handled, HB_GRADE_BAD, "rdma-traffic",
     "MPIs, UCX and NCCL fail there although the ports are up",
     "look at the GIDs and subnets of both, the route between them, P_Keys, "
     "and switches that drop UDP port 4791 (RoCE)",
     "RDMA to and from it does not work"},
};

static const char *detail(const struct hb_traffic_cell *c)
{
    if (c->failed != NULL) {
        return c->failed;
    }
    for (int v = 0; v < HB_VERBS; v++) {
        if (c->verb_failed[v] != NULL) {
            return c->verb_failed[v];
        }
    }
    return "";
}

static char *words_of(const struct hb_traffic *t,
                      const struct hb_traffic_cell *c,
                      const struct symptom *s)
{
    const char *to = t->hosts[c->to].name;
    struct hb_str o = HB_STR_INIT;

    if (s->shows == is_far) {
        hb_str_putf(&o, "a message to %s and back takes %.0f us, elsewhere "
                    "%.0f us", to, (double)c->min_ns / 1e3,
                    (double)t->latency_ns / 1e3);
    } else if (s->shows == is_thin) {
        hb_str_putf(&o, "it sends to %s at ", to);
        hb_traffic_rate(c->kbps, &o);
        hb_str_put(&o, ", others at ");
        hb_traffic_rate(t->kbps, &o);
    } else if (c->large_only && c->failed != NULL) {
        hb_str_putf(&o, "short messages to %s arrive, large ones do not: %s",
                    to, c->failed);
    } else {
        hb_str_putf(&o, "with %s: %s", to, detail(c));
    }
    return hb_str_steal(&o);
}

/* The host with the largest part of its pairs ill, when that is most of them:
 * pairs of hosts that were named are no evidence against others. */
static uint32_t worst(const struct hb_traffic *t, const struct symptom *s,
                      const uint8_t *named)
{
    uint32_t *ill = hb_xcalloc(t->n + 1, sizeof *ill);
    uint32_t *all = hb_xcalloc(t->n + 1, sizeof *all);
    uint32_t at = HB_TRAFFIC_NOBODY;

    for (size_t i = 0; i < t->n_cells; i++) {
        const struct hb_traffic_cell *c = &t->cells[i];
        int shows = s->shows(c);

        if (!named[c->from] && !named[c->to]) {
            all[c->from]++;
            all[c->to]++;
            ill[c->from] += (uint32_t)shows;
            ill[c->to] += (uint32_t)shows;
        }
    }
    for (uint32_t i = 0; i < t->n; i++) {
        if (ill[i] > 2 && ill[i] * 10u >= all[i] * MOST_TENTHS &&
            (at == HB_TRAFFIC_NOBODY ||
             (uint64_t)ill[i] * all[at] > (uint64_t)ill[at] * all[i])) {
            at = i;
        }
    }
    free(ill);
    free(all);
    return at;
}

static void judge(const struct hb_traffic *t, const struct symptom *s,
                  struct hb_findings *out)
{
    const struct hb_traffic_cell **table = hb_traffic_table(t), *back;
    uint8_t *named = hb_xcalloc(t->n + 1, 1);
    uint32_t host;

    while ((host = worst(t, s, named)) != HB_TRAFFIC_NOBODY) {
        named[host] = 1;
        found(out, s->grade, s->check, s->why, s->mend, t->hosts[host].name,
              hb_xstrdup(s->host));
    }
    for (size_t i = 0; i < t->n_cells; i++) {
        const struct hb_traffic_cell *c = &t->cells[i];

        /* A pair that is ill both ways is told of once. */
        back = table[(size_t)c->to * t->n + c->from];
        if (s->shows(c) && !named[c->from] && !named[c->to] &&
            (c->from < c->to || back == NULL || !s->shows(back))) {
            found(out, s->grade, s->check, s->why, s->mend,
                  t->hosts[c->from].name, words_of(t, c, s));
        }
    }
    free(named);
    free(table);
}

static int loses_rdma(const struct hb_traffic_host *h)
{
    return h->lost >= LOSSES_MIN ||
           (h->lost >= FEW_LOSSES && h->packets > 0 &&
            h->lost >= h->packets / FEW_PER_PACKETS);
}

static void judge_losses(const struct hb_traffic *t, struct hb_findings *out)
{
    static const char why[] = "each lost packet is waited for; with RDMA the "
                              "whole window is sent again";
    static const char mend[] = "look at the error counters of the ports and "
                               "switches on the way, cables, and flow control";

    for (uint32_t i = 0; i < t->n; i++) {
        const struct hb_traffic_host *h = &t->hosts[i];

        if (h->repeated >= LOSSES_MIN &&
            h->repeated * 1000u > h->segments * REPEATED_PER_1000) {
            found(out, HB_GRADE_DEGRADED, "loss", why, mend, h->name,
                  hb_xasprintf("packets are lost: TCP sent %llu of %llu "
                               "segments again",
                               (unsigned long long)h->repeated,
                               (unsigned long long)h->segments));
        }
        if (loses_rdma(h)) {
            found(out, HB_GRADE_DEGRADED, "loss", why, mend, h->name,
                  hb_xasprintf("packets are lost: %llu RDMA packets were "
                               "missing or sent again",
                               (unsigned long long)h->lost));
        }
    }
}

void hb_traffic_judge(struct hb_traffic *t, struct hb_findings *out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->hosts[i].error != NULL) {
            found(out, HB_GRADE_BAD, "traffic",
                  "a rank that uses libhpcboot would fail there in the same "
                  "way", "the text says what; the probe is hbprobe of this "
                  "installation", t->hosts[i].name,
                  hb_xasprintf("its probe: %s", t->hosts[i].error));
        }
    }
    mark_slow(t);
    for (size_t i = 0; i < sizeof symptoms / sizeof *symptoms; i++) {
        judge(t, &symptoms[i], out);
    }
    judge_losses(t, out);
}
