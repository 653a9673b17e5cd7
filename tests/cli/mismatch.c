/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rank 1 makes another call than the others, who say what they hear.
 *
 * usage: mismatch WAY [again|any|test]
 *
 * Those whose call was good make another one on the same team: blocking, or
 * started and waited for by hpcboot_wait_any, or by hpcboot_test. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hpcboot/hpcboot.h"

#define COUNT 4
#define RANKS 32
#define SLOW_US (400 * 1000)
#define AHEAD 1000
#define LATE_MS 50

/* Rank 0 with each: how many elements rank 0 expects of rank 1, or sends it,
 * and how many rank 1 sends or expects. */
static int v_kind(const char *way, size_t more, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world();
    double in[RANKS * 2 * COUNT] = {1}, out[RANKS * 2 * COUNT] = {0};
    size_t row[RANKS], other[RANKS], own = COUNT;

    for (int i = 0; i < RANKS; i++) {
        row[i] = other[i] = COUNT;
    }
    if (hpcboot_rank() == 1) {
        own += more;
        row[0] += more;
    }
    if (strcmp(way, "gatherv") == 0) {
        return hpcboot_gatherv(in, own, out, other, NULL, HPCBOOT_DOUBLE, 0, w,
                               err);
    }
    if (strcmp(way, "scatterv") == 0) {
        return hpcboot_scatterv(in, other, NULL, out, own, HPCBOOT_DOUBLE, 0, w,
                                err);
    }
    if (strcmp(way, "alltoallv") == 0) {
        return hpcboot_alltoallv(in, row, NULL, out, other, NULL,
                                 HPCBOOT_DOUBLE, w, err);
    }
    if (strcmp(way, "allgatherv") == 0) {
        return hpcboot_allgatherv(in, COUNT, out, row, NULL, HPCBOOT_DOUBLE, w,
                                  err);
    }
    if (hpcboot_rank() == 1) { /* the same sum in another row */
        row[hpcboot_size() - 1] -= more;
    }
    return hpcboot_reduce_scatter(in, out, row, HPCBOOT_DOUBLE, HPCBOOT_SUM, w,
                                  err);
}

/* Two teams of the same ranks, which rank 1 enters the other way round. */
static int order(int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *teams[2] = {NULL};
    int in = 1, out = 0, rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = hpcboot_team_split(hpcboot_world(), 0, 0, &teams[i], err);
    }
    if (rc == 0) {
        rc = hpcboot_allreduce(&in, &out, 1, HPCBOOT_INT32, HPCBOOT_SUM,
                               teams[differs], err);
    }
    return rc == 0 ? hpcboot_barrier(teams[!differs], err) : rc;
}

/* A setting that is to be the same at all members. */
static int setting(int differs, struct hpcboot_error *err)
{
    double in = 1, out = 0;
    int rc = hpcboot_team_set(hpcboot_world(), HPCBOOT_TEAM_DETERMINISTIC,
                              differs, err);

    return rc < 0 ? rc : hpcboot_scan(&in, &out, 1, HPCBOOT_DOUBLE,
                                      HPCBOOT_SUM, hpcboot_world(), err);
}

static int message(int from, int tag, struct hpcboot_error *err)
{
    char c;

    return hpcboot_recv(hpcboot_world(), from, tag, &c, 1, NULL, err);
}

/* Rank 1 waits for something else than a barrier. */
static int other_wait(const char *way, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;

    if (strcmp(way, "fence") == 0) {
        return hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, err);
    }
    if (strcmp(way, "shrink") == 0) {
        return hpcboot_team_shrink(w, &t, err);
    }
    return message(0, 5, err);
}

/* For either of two requests that nobody else completes: a barrier of a team
 * that the others do not enter, and a message of any rank. */
static int either(struct hpcboot_team *t, struct hpcboot_error *err)
{
    struct hpcboot_request *r[2] = {NULL};
    size_t which;
    char c;
    int rc = hpcboot_ibarrier(t, &r[0], err);

    if (rc == 0) {
        rc = hpcboot_irecv(hpcboot_world(), HPCBOOT_ANY_SOURCE, 5, &c, 1, NULL,
                           &r[1], err);
    }
    return rc == 0 ? hpcboot_wait_any(r, 2, 0, &which, err) : rc;
}

/* Rank 1, or all, wait for what any of the others can do, which are in a
 * barrier, or at their end. */
static int for_any(const char *way, int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *t = NULL;
    int rc = hpcboot_team_split(hpcboot_world(), 0, 0, &t, err);

    if (rc == 0 && strcmp(way, "for-either") == 0 && differs) {
        return either(t, err);
    }
    if (rc == 0 && (differs || strcmp(way, "for-each-other") == 0)) {
        return message(HPCBOOT_ANY_SOURCE, 5, err);
    }
    return rc == 0 && strcmp(way, "for-the-ended") != 0
               ? hpcboot_barrier(hpcboot_world(), err) : rc;
}

/* An agent that sees some ranks in a fence and others in hpcboot_finalize says
 * so: nobody ends before rank 1 has been told. */
static void let_it_hear(void)
{
    for (int i = 0; hpcboot_rank() == 1 && i < hpcboot_size(); i++) {
        (void)hpcboot_send(hpcboot_world(), i, 7, "", 1, NULL);
    }
    while (message(1, 7, NULL) < 0) {
    }
}

static int meet(const char *way, int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world();
    int rc = 0;

    if (strcmp(way, "tag") == 0 && hpcboot_rank() == 0) {
        rc = hpcboot_send(w, 1, 6, "", 1, err);
    }
    if (rc == 0) {
        rc = differs ? other_wait(way, err) : hpcboot_barrier(w, err);
    }
    if (strcmp(way, "fence") == 0) {
        let_it_hear();
    }
    return rc;
}

/* The last rank lets the one before it wait for a message, of that rank or of
 * any, and the others in a barrier, so long that they ask; nothing is wrong. */
static int be_slow(int from_any, struct hpcboot_error *err)
{
    int me = hpcboot_rank(), last = hpcboot_size() - 1, rc = 0;

    if (me == last) {
        usleep(SLOW_US);
        rc = hpcboot_send(hpcboot_world(), last - 1, 5, "", 1, err);
        usleep(SLOW_US);
    } else if (me == last - 1) {
        rc = message(from_any ? HPCBOOT_ANY_SOURCE : last, 5, err);
        usleep(SLOW_US);
    }
    if (rc == 0) {
        rc = hpcboot_barrier(hpcboot_world(), err);
    }
    return rc == 0 ? hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, err) : rc;
}

/* A team of all but rank 0, whose last rank is late: rank 0 waits in the world
 * for rank 1, and that by hpcboot_wait_any for the others. Nothing is wrong. */
static int late_request(struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;
    struct hpcboot_request *r[2] = {NULL};
    size_t which;
    int me = hpcboot_rank(), in = 1, out = 0;
    int rc = hpcboot_team_split(w, me == 0 ? -1 : 0, 0, &t, err);

    if (rc == 0 && me == hpcboot_size() - 1) {
        usleep(SLOW_US);
    }
    if (rc == 0 && t != NULL) {
        rc = hpcboot_iallreduce(&in, &out, 1, HPCBOOT_INT32, HPCBOOT_SUM, t,
                                &r[1], err);
    }
    if (rc == 0) {
        rc = hpcboot_wait_any(r, 2, 0, &which, err);
    }
    return rc == 0 ? hpcboot_allreduce(&in, &out, 1, HPCBOOT_INT32, HPCBOOT_MAX,
                                       w, err) : rc;
}

/* Rank 1 is in no list, and has another one. */
static int list(int differs, struct hpcboot_error *err)
{
    const int ranks[] = {2, 0};
    struct hpcboot_team *t = NULL;

    return hpcboot_team_create(hpcboot_world(), ranks, differs ? 1 : 2, &t,
                               err);
}

/* Rank 1 does not make the team that the others make: it splits, or is in a
 * bcast, or waits for a message of rank 0. */
static int make_team(const char *way, int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;
    double in[COUNT] = {1};

    if (strcmp(way, "team-create") == 0 && !differs) {
        return hpcboot_team_create(w, (const int[]){0, 1}, 2, &t, err);
    }
    if (strcmp(way, "team-recv") == 0 && differs) {
        return message(0, 5, err);
    }
    return strcmp(way, "team-split") == 0 && differs
               ? hpcboot_bcast(in, COUNT, HPCBOOT_DOUBLE, 0, w, err)
               : hpcboot_team_split(w, 0, 0, &t, err);
}

/* Of two ranks that do not meet in a collective. */
static int apart(const char *way, int differs, struct hpcboot_error *err)
{
    if (strcmp(way, "end") == 0) {
        return hpcboot_rank() == 0 ? message(1, 5, err) : 0;
    }
    if (strcmp(way, "slow-request") == 0) {
        return late_request(err);
    }
    if (strncmp(way, "slow", 4) == 0) {
        return be_slow(strcmp(way, "slow-any") == 0, err);
    }
    if (strncmp(way, "for-", 4) == 0) {
        return for_any(way, differs, err);
    }
    if (strncmp(way, "team-", 5) == 0) {
        return make_team(way, differs, err);
    }
    return strcmp(way, "list") == 0 ? list(differs, err)
                                    : meet(way, differs, err);
}

static int is_apart(const char *way)
{
    static const char *const ways[] = {"fence", "shrink", "recv", "tag",
                                       "end", "slow", "slow-any",
                                       "slow-request", "list",
                                       "for-any", "for-either",
                                       "for-each-other", "for-the-ended",
                                       "team-split", "team-create",
                                       "team-recv"};
    size_t i = 0, n = sizeof ways / sizeof *ways;

    while (i < n && strcmp(way, ways[i]) != 0) {
        i++;
    }
    return i < n;
}

/* Rank 1 does not come in time to a team in which it is rank 0, or sends
 * nothing in time. */
static int late(int of_message, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;
    int is_late = hpcboot_rank() == 1;
    int rc = hpcboot_team_split(w, 0, -hpcboot_rank(), &t, err);

    if (rc == 0) {
        rc = hpcboot_team_set(t, HPCBOOT_TEAM_TIMEOUT_MS, LATE_MS, err);
    }
    if (rc == 0 && !is_late) {
        rc = of_message ? hpcboot_recv(t, 0, 5, NULL, 0, NULL, err)
                        : hpcboot_barrier(t, err);
    }
    return rc;
}

/* The root of so many short calls that nobody keeps the first in mind: all but
 * rank 1 begin, and go on, with a bcast. */
static int run_ahead(int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world();
    double in[COUNT] = {1}, out[COUNT] = {0};
    int rc = differs ? hpcboot_allreduce(in, out, COUNT, HPCBOOT_DOUBLE,
                                         HPCBOOT_SUM, w, err) : 0;

    for (int i = differs; rc == 0 && i < AHEAD; i++) {
        rc = hpcboot_bcast(in, COUNT, HPCBOOT_DOUBLE, 0, w, err);
    }
    return rc;
}

/* The call, or what a rank that differs makes of it. */
static int call(const char *way, int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world();
    double in[2 * COUNT] = {1}, out[2 * COUNT] = {0};

    if (is_apart(way)) {
        return apart(way, differs, err);
    }
    if (strncmp(way, "late", 4) == 0) {
        return late(strcmp(way, "late-message") == 0, err);
    }
    if (strcmp(way, "ahead") == 0) {
        return run_ahead(differs, err);
    }
    if (strcmp(way, "order") == 0) {
        return order(differs, err);
    }
    if (strcmp(way, "setting") == 0) {
        return setting(differs, err);
    }
    if (way[strlen(way) - 1] == 'v' || strcmp(way, "row") == 0) {
        return v_kind(way, 1, err);
    }
    if (strcmp(way, "collective") == 0 && differs) {
        return hpcboot_bcast(in, COUNT, HPCBOOT_DOUBLE, 0, w, err);
    }
    if (strcmp(way, "barrier") == 0) { /* its root does not wait */
        return differs ? hpcboot_bcast(in, COUNT, HPCBOOT_DOUBLE, 1, w, err)
                       : hpcboot_barrier(w, err);
    }
    if (strcmp(way, "root") == 0) {
        return hpcboot_reduce(in, out, COUNT, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                              differs ? 1 : 0, w, err);
    }
    if (strcmp(way, "count") == 0) {
        return hpcboot_bcast(in, differs ? COUNT + 1 : COUNT, HPCBOOT_DOUBLE,
                             0, w, err);
    }
    return hpcboot_allreduce(
        in, out, COUNT,
        strcmp(way, "type") == 0 && differs ? HPCBOOT_INT64 : HPCBOOT_DOUBLE,
        strcmp(way, "op") == 0 && differs ? HPCBOOT_MAX : HPCBOOT_SUM, w, err);
}

static int again(const char *how, struct hpcboot_error *err)
{
    struct hpcboot_request *r[2] = {NULL};
    size_t which;
    int done = 0;
    int rc = strcmp(how, "again") == 0
                 ? hpcboot_barrier(hpcboot_world(), err)
                 : hpcboot_ibarrier(hpcboot_world(), &r[1], err);

    if (rc == 0 && strcmp(how, "any") == 0) {
        rc = hpcboot_wait_any(r, 2, 0, &which, err);
    }
    while (rc == 0 && !done && strcmp(how, "test") == 0) {
        rc = hpcboot_test(&r[1], &done, err);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "none";
    struct hpcboot_error err;
    int rc = hpcboot_init(NULL, &err);

    if (rc == 0) {
        rc = call(way, hpcboot_rank() == 1, &err);
        if (rc == 0 && argc > 2) {
            rc = again(argv[2], &err);
        }
        printf("rank %d: %s\n", hpcboot_rank(), rc == 0 ? "good" : err.text);
        fflush(stdout);
        rc = hpcboot_finalize(&err);
    }
    if (rc < 0) {
        fprintf(stderr, "mismatch: %s\n", err.text);
    }
    return rc < 0;
}
