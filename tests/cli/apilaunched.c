/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Two ranks of a launcher that is not hbrun.
 *
 *     apilaunched late  a fence whose deadline passes, and the one after it
 *     apilaunched end   the last thing that rank 0 does before it ends is such
 *                       a fence, and rank 1 never comes to it
 *     apilaunched up    rank 1 comes to it when rank 0 has given it up
 *     apilaunched node  a message is under way in a fence of the node */
#include "config.h"

#include "tests/cli/apitest.h"

#include <string.h>

#define LATE_MS 200
#define BIG ((size_t)1 << 20)

static const char *launcher;
static int me;

static void put(const char *key)
{
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, key, key, strlen(key), &err));
}

static int fence(int timeout_ms)
{
    return hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, timeout_ms, &err);
}

static void expect(const char *key)
{
    void *value = NULL;

    MUST(hpcboot_get(!me, key, &value, NULL, &err));
    HOLDS(strcmp(value, key) == 0);
    free(value);
}

/* Rank `from` tells the other that it may go on. */
static void pass(int from)
{
    if (me == from) {
        MUST(hpcboot_send(hpcboot_world(), !me, 0, NULL, 0, &err));
    } else {
        MUST(hpcboot_recv(hpcboot_world(), from, 0, NULL, 0, NULL, &err));
    }
}

static void come_late(void)
{
    if (me == 0) {
        HOLDS(fence(LATE_MS) == HPCBOOT_ERR_TIMED_OUT);
    }
    pass(0);
}

/* What is asked for between the two fences: a server of PMI-1 has answered the
 * first by then. */
static void ask_between(void)
{
    int is_pmi1 = strcmp(launcher, "pmi1") == 0;

    if (is_pmi1 && me == 1) {
        MUST(fence(0));
    }
    if (is_pmi1) {
        pass(1);
    }
    if (me == 0) {
        expect("early");
    }
    if (!is_pmi1 || me == 0) {
        MUST(fence(0));
    }
}

static void late(void)
{
    put("early");
    MUST(fence(0));
    put("first");
    come_late();
    put("between");
    ask_between();
    expect("first");
    for (int i = 0; i < 3; i++) {
        put(i % 2 == 0 ? "even" : "odd");
        MUST(fence(0));
        expect(i % 2 == 0 ? "even" : "odd");
        expect("between");
        expect("first");
    }
}

static void up(void)
{
    put("first");
    come_late();
    if (me == 1) {
        MUST(fence(0));
        expect("first");
    }
}

static void node(void)
{
    struct hpcboot_request *request;
    char *bytes = calloc(1, BIG);

    HOLDS(bytes != NULL);
    if (me == 0) {
        MUST(hpcboot_isend(hpcboot_world(), 1, 0, bytes, BIG, &request, &err));
    } else {
        MUST(hpcboot_recv(hpcboot_world(), 0, 0, bytes, BIG, NULL, &err));
    }
    MUST(hpcboot_fence(HPCBOOT_SCOPE_NODE, 0, 0, &err));
    if (me == 0) {
        MUST(hpcboot_wait(&request, 0, &err));
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    MUST(hpcboot_init(NULL, &err));
    me = hpcboot_rank();
    launcher = hpcboot_launcher();
    HOLDS(hpcboot_size() == 2);
    if (strcmp(what, "late") == 0) {
        late();
    } else if (strcmp(what, "end") == 0) {
        come_late();
    } else if (strcmp(what, "up") == 0) {
        up();
    } else {
        HOLDS(strcmp(what, "node") == 0);
        node();
    }
    MUST(hpcboot_finalize(&err));
    printf("rank %d of %s is through\n", me, launcher);
    return 0;
}
