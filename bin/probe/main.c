/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hbprobe RANK SIZE ALL BYTES COUNT: one host's part in the traffic between
 * the hosts of a gang, started by its agent for hpcboot doctor and hbrun
 * --preflight. It uses libhpcboot as a program of the user's does: what works
 * here works there. Probes meet through the launcher, over the links that
 * exist already, so that a network which carries nothing cannot keep them from
 * saying so; between two rounds all wait for each other in the same way. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <hpcboot/hpcboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/doctor/traffic.h"
#include "bin/probe/counters.h"
#include "bin/probe/pair.h"
#include "bin/probe/rdma.h"
#include "bin/probe/relay.h"
#include "lib/base/str.h"

#define BYTES_MAX (64u << 20)
#define COUNT_MAX 1000u
#define PROBES_MAX 65536u

struct wanted {
    uint64_t rank, size, all;
    struct pair_plan plan;
};

static int read_line(int argc, char **argv, struct wanted *w)
{
    uint64_t bytes, count;

    if (argc != 6 || hb_parse_u64(argv[1], 0, PROBES_MAX, &w->rank) < 0 ||
        hb_parse_u64(argv[2], 1, PROBES_MAX, &w->size) < 0 ||
        w->rank >= w->size || hb_parse_u64(argv[3], 0, 1, &w->all) < 0 ||
        hb_parse_u64(argv[4], 1, BYTES_MAX, &bytes) < 0 ||
        hb_parse_u64(argv[5], 1, COUNT_MAX, &count) < 0) {
        return -1;
    }
    w->plan = (struct pair_plan){(uint32_t)bytes, (uint32_t)count};
    return 0;
}

/* Libraries print what they like on standard output (UCX its log), and it would
 * be taken for frames: the socket has a number of its own from here on. */
static int take_socket(struct relay *r)
{
    r->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return r->out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

/* 1: some probe has left messages under way, for which the library would wait
 * at its end. */
static int any_left(struct relay *r, char left)
{
    char *all = hb_xcalloc((size_t)r->size, 1);
    int found = relay_allgather(r, &left, all, 1) < 0;

    for (int i = 0; i < r->size; i++) {
        found |= all[i];
    }
    free(all);
    return found;
}

/* 1: messages are left under way. */
static int play(const struct wanted *w, struct hb_str *report)
{
    struct rdma *rdma = rdma_open(report);
    uint32_t rounds = hb_traffic_rounds((uint32_t)w->size, (int)w->all);
    struct counters before;
    int left = 0;

    (void)hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, NULL);
    counters_read(&before);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t peer = hb_traffic_partner((uint32_t)w->size, (int)w->all,
                                           round, (uint32_t)w->rank);

        if (peer != HB_TRAFFIC_NOBODY) {
            left |= pair_meet(&w->plan, (int)round, (int)peer, report) < 0;
            rdma_meet(rdma, (int)peer, report);
        }
        (void)hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, NULL);
    }
    counters_report(&before, report);
    rdma_close(rdma);
    return left;
}

/* What libhpcboot measures it would keep in the user's folder, on hosts that
 * are only looked at. */
static void keep_nothing(void)
{
    (void)setenv("XDG_CACHE_HOME", "/dev/null", 1);
}

static void prepare_last_words(void)
{
    static char words[160];

    snprintf(words, sizeof words, "hbprobe: out of memory%s\n",
             hb_errno_remedy(ENOMEM));
    hb_no_memory_says(words);
}

int main(int argc, char **argv)
{
    struct hpcboot_bootstrap boot = HPCBOOT_BOOTSTRAP_INIT;
    struct relay relay = {.in = STDIN_FILENO};
    struct hb_str report = HB_STR_INIT;
    struct hpcboot_error err = {0};
    struct wanted w = {0};
    int left = 1;

    prepare_last_words();
    if (read_line(argc, argv, &w) < 0 || !take_socket(&relay)) {
        fprintf(stderr, "hbprobe is started by hpcboot doctor and hbrun "
                "--preflight\n");
        return 2;
    }
    keep_nothing();
    relay.size = (int)w.size;
    boot.rank = (int)w.rank;
    boot.size = (int)w.size;
    boot.name = "hpcboot doctor";
    boot.allgather = relay_allgather;
    boot.arg = &relay;
    if (hpcboot_init_with(&boot, NULL, &err) < 0) {
        hb_str_putf(&report, "error %s\n", err.text);
    } else {
        left = any_left(&relay, (char)play(&w, &report));
    }
    if (!left && hpcboot_finalize(&err) < 0) {
        hb_str_putf(&report, "error %s\n", err.text);
    }
    (void)relay_report(&relay, hb_str_text(&report), report.len);
    hb_str_destroy(&report);
    _exit(0); /* no destructor of a library may wait for what is left */
}
