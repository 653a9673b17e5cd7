/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A rank of a job of 10,000: what it costs of memory that no other rank
 * shares. The agent is a fake, the table it serves is of the full size. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <hpcboot/hpcboot.h>

#include "native_agent.h"

#define RANKS 10000
#define MOST_KB 1024 /* of all that the rank has */
#define SKIPPED 77 /* tests/driver shows the last line as the reason */

/* A program's own pages are not counted: Linux calls them private, too, while
 * no second process happens to have mapped them, but ranks of a host share
 * them. */
static long private_kb(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    char line[128];
    long kb = 0, n;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "Anonymous: %ld", &n) == 1) {
            kb += n;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

/* What `test_large_job rank` does, between fake agent and nobody. */
static int be_rank(void)
{
    struct hpcboot_error err = {0};
    long before = private_kb(), after;

    if (hpcboot_init(NULL, &err) < 0) {
        printf("# %s\n", err.text);
        return 1;
    }
    after = private_kb();
    printf("# %d ranks on %d nodes: %ld KiB of private memory before "
           "hpcboot_init, %ld after\n", hpcboot_team_size(hpcboot_world()),
           hpcboot_nodes(), before, after);
    if (hpcboot_team_size(hpcboot_world()) != RANKS || before <= 0 ||
        after > MOST_KB || hpcboot_finalize(&err) < 0) {
        printf("# too much, or not the job: %s\n", err.text);
        return 1;
    }
    return 0;
}

static void on_nodes(uint32_t nodes)
{
    struct native_agent a = {.n_ranks = RANKS, .n_nodes = nodes};
    int status;
    pid_t pid;

    native_agent_start(&a);
    pid = fork();
    if (pid == 0) { /* anew: nothing that this process has is counted */
        fcntl(a.fd, F_SETFD, 0);
        execl("/proc/self/exe", "test_large_job", "rank", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    native_agent_stop(&a);
}

static void test_every_rank_on_its_own_node(void **state)
{
    on_nodes(RANKS);
}

static void test_sixteen_ranks_a_node(void **state)
{
    on_nodes(RANKS / 16);
}

static void test_nodes_of_250_ranks(void **state)
{
    on_nodes(RANKS / 250);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_on_its_own_node),
        cmocka_unit_test(test_sixteen_ranks_a_node),
        cmocka_unit_test(test_nodes_of_250_ranks),
    };

    if (argc > 1 && strcmp(argv[1], "rank") == 0) {
        return be_rank();
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("a sanitizer's own memory would be counted\n");
    return SKIPPED;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
