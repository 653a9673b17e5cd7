/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What was measured as a table and as JSON. A table has a row for each host
 * that sends; gangs too large for a screen get a line instead, as what is out
 * of the ordinary is among the findings. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/doctor/traffic.h"
#include "lib/base/str.h"

#define NAME_WIDTH 12
#define CELL_WIDTH 16

const struct hb_traffic_cell **hb_traffic_table(const struct hb_traffic *t)
{
    const struct hb_traffic_cell **table =
        hb_xcalloc((size_t)t->n * t->n + 1, sizeof *table);

    for (size_t i = 0; i < t->n_cells; i++) {
        const struct hb_traffic_cell *c = &t->cells[i];

        table[(size_t)c->from * t->n + c->to] = c;
    }
    return table;
}

void hb_traffic_rate(uint64_t kbps, struct hb_str *out)
{
    if (kbps >= 1000000) {
        hb_str_putf(out, "%.1f GB/s", (double)kbps / 1e6);
    } else {
        hb_str_putf(out, "%.*f MB/s", kbps < 10000, (double)kbps / 1e3);
    }
}

/* "21!us 1.2 GB/s" */
static void put_cell(const struct hb_traffic_cell *c, struct hb_str *out)
{
    if (c == NULL) {
        hb_str_putf(out, " %*s", CELL_WIDTH, "-");
        return;
    }
    struct hb_str o = HB_STR_INIT;

    if (c->failed != NULL && !c->large_only) {
        hb_str_put(&o, "no answer!");
    } else {
        hb_str_putf(&o, "%.0f%s us ", (double)c->min_ns / 1e3,
                    (c->slow & HB_SLOW_LATENCY) != 0 ? "!" : "");
        hb_traffic_rate(c->kbps, &o);
        hb_str_put(&o, (c->slow & HB_SLOW_BANDWIDTH) != 0 || c->failed != NULL
                           ? "!" : "");
    }
    hb_str_putf(out, " %*s", CELL_WIDTH, o.s);
    hb_str_destroy(&o);
}

static void put_table(const struct hb_traffic *t, struct hb_str *out)
{
    const struct hb_traffic_cell **table = hb_traffic_table(t);

    hb_str_putf(out, "%-*s", NAME_WIDTH, "from \\ to");
    for (uint32_t to = 0; to < t->n; to++) {
        hb_str_putf(out, " %*.*s", CELL_WIDTH, CELL_WIDTH, t->hosts[to].name);
    }
    hb_str_putc(out, '\n');
    for (uint32_t from = 0; from < t->n; from++) {
        hb_str_putf(out, "%-*.*s", NAME_WIDTH, NAME_WIDTH,
                    t->hosts[from].name);
        for (uint32_t to = 0; to < t->n; to++) {
            put_cell(table[(size_t)from * t->n + to], out);
        }
        hb_str_putc(out, '\n');
    }
    free(table);
}

static size_t count_verb(const struct hb_traffic *t, int verb, size_t *failed)
{
    size_t good = 0;

    *failed = 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        good += t->cells[i].verb_ns[verb] > 0;
        *failed += t->cells[i].verb_failed[verb] != NULL;
    }
    return good;
}

static int has(const struct hb_strv *v, const char *text)
{
    size_t i = 0;

    while (i < v->n && strcmp(v->v[i], text) != 0) {
        i++;
    }
    return i < v->n;
}

/* The transports of all cells, or of those of one host, each once. */
static void put_transports(const struct hb_traffic *t, uint32_t from,
                           const char *before, struct hb_str *out)
{
    struct hb_strv seen = HB_STRV_INIT;

    for (size_t i = 0; i < t->n_cells; i++) {
        const struct hb_traffic_cell *c = &t->cells[i];

        if (c->transport != NULL &&
            (from == HB_TRAFFIC_NOBODY || c->from == from) &&
            !has(&seen, c->transport)) {
            hb_str_putf(out, "%s%s", seen.n == 0 ? before : ", ",
                        c->transport);
            hb_strv_push(&seen, c->transport);
        }
    }
    hb_strv_destroy(&seen);
}

void hb_traffic_text(const struct hb_traffic *t, struct hb_str *out)
{
    size_t failed;

    if (t->n_cells == 0) {
        return;
    }
    hb_str_putf(out, "traffic: %zu directions in %u rounds", t->n_cells,
                t->rounds);
    put_transports(t, HB_TRAFFIC_NOBODY, " by ", out);
    hb_str_putf(out, "; median %.0f us there and back, ",
                (double)t->latency_ns / 1e3);
    hb_traffic_rate(t->kbps, out);
    hb_str_putc(out, '\n');
    for (int v = 0; v < HB_VERBS; v++) {
        size_t good = count_verb(t, v, &failed);
        if (good + failed > 0) {
            hb_str_putf(out, "traffic: verbs %s: %zu good, %zu failed\n",
                        hb_traffic_verb_name((enum hb_traffic_verb)v), good,
                        failed);
        }
    }
    if (t->n <= HB_TRAFFIC_ALL_MAX) {
        put_table(t, out);
    }
}

/* --- JSON ------------------------------------------------------------ */

static void json_slow(const struct hb_traffic_cell *c, struct hb_json *j)
{
    hb_json_array(j, "slow");
    if ((c->slow & HB_SLOW_LATENCY) != 0) {
        hb_json_str(j, NULL, "latency");
    }
    if ((c->slow & HB_SLOW_BANDWIDTH) != 0) {
        hb_json_str(j, NULL, "bandwidth");
    }
    hb_json_end_array(j);
}

static void json_verbs(const struct hb_traffic_cell *c, struct hb_json *j)
{
    hb_json_object(j, "verbs");
    for (int v = 0; v < HB_VERBS; v++) {
        const char *name = hb_traffic_verb_name((enum hb_traffic_verb)v);

        if (c->verb_failed[v] != NULL) {
            hb_json_str(j, name, c->verb_failed[v]);
        } else if (c->verb_ns[v] > 0) {
            hb_json_real(j, name, (double)c->verb_ns[v] / 1e3);
        }
    }
    hb_json_end_object(j);
}

static void json_cell(const struct hb_traffic *t,
                      const struct hb_traffic_cell *c, struct hb_json *j)
{
    hb_json_object(j, NULL);
    hb_json_str(j, "from", t->hosts[c->from].name);
    hb_json_str(j, "to", t->hosts[c->to].name);
    hb_json_real(j, "connect_us", (double)c->connect_ns / 1e3);
    hb_json_real(j, "latency_us", (double)c->min_ns / 1e3);
    hb_json_real(j, "latency_max_us", (double)c->max_ns / 1e3);
    hb_json_real(j, "mb_per_s", (double)c->kbps / 1e3);
    hb_json_str(j, "transport", c->transport);
    hb_json_str(j, "detail", c->detail);
    hb_json_str(j, "failed", c->failed);
    json_slow(c, j);
    json_verbs(c, j);
    hb_json_end_object(j);
}

static void json_host(const struct hb_traffic *t, uint32_t i,
                      struct hb_json *j)
{
    const struct hb_traffic_host *h = &t->hosts[i];
    struct hb_str by = HB_STR_INIT;

    put_transports(t, i, "", &by);
    hb_json_object(j, NULL);
    hb_json_str(j, "name", h->name);
    hb_json_str(j, "transport", by.s);
    hb_json_int(j, "tcp_segments", (int64_t)h->segments);
    hb_json_int(j, "tcp_repeated", (int64_t)h->repeated);
    hb_json_int(j, "rdma_packets", (int64_t)h->packets);
    hb_json_int(j, "rdma_lost", (int64_t)h->lost);
    hb_json_str(j, "error", h->error);
    hb_json_end_object(j);
    hb_str_destroy(&by);
}

void hb_traffic_json(const struct hb_traffic *t, struct hb_json *j)
{
    hb_json_object(j, "traffic");
    hb_json_int(j, "rounds", t->rounds);
    hb_json_real(j, "latency_us", (double)t->latency_ns / 1e3);
    hb_json_real(j, "mb_per_s", (double)t->kbps / 1e3);
    hb_json_array(j, "hosts");
    for (uint32_t i = 0; i < t->n; i++) {
        json_host(t, i, j);
    }
    hb_json_end_array(j);
    hb_json_array(j, "pairs");
    for (size_t i = 0; i < t->n_cells; i++) {
        json_cell(t, &t->cells[i], j);
    }
    hb_json_end_array(j);
    hb_json_end_object(j);
}
