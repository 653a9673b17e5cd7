/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Programs that get stuck on purpose, for `hpcboot stuck`.
 *
 * usage: stuckprobe absent|order|recv|send|any|end|fence|late|loop|stale|
 *                   scribble
 *   absent  the last rank sleeps, the others are in a barrier of the world
 *   order   ranks 0 and 1 enter barriers of two teams in different orders
 *   recv    rank 0 receives from rank 1, which receives from rank 0
 *   send    each rank sends to the next one what nobody receives
 *   any     rank 0 waits for any of two messages, rank 1 for rank 0
 *   end     the last rank does not come to hpcboot_finalize
 *   stale   rank 1 is in a barrier that rank 0 enters late, and in the next
 *           one after that
 *   fence   the last rank sleeps, the others are in a fence
 *   late    the last rank does not come to hpcboot_init
 *   loop    barriers without an end
 *   scribble  rank 0 writes nonsense over the memory of the job */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hpcboot/hpcboot.h"

static void must(int rc, const struct hpcboot_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "stuckprobe: %s\n", err->text);
        _exit(1);
    }
}

static void absent(struct hpcboot_error *err)
{
    struct hpcboot_team *world = hpcboot_world();

    must(hpcboot_barrier(world, err), err);
    if (hpcboot_rank() < hpcboot_size() - 1) {
        must(hpcboot_barrier(world, err), err);
    }
    pause();
}

static void order(struct hpcboot_error *err)
{
    struct hpcboot_team *t[2];
    int rank = hpcboot_rank();

    for (int i = 0; i < 2; i++) {
        must(hpcboot_team_split(hpcboot_world(), rank < 2 ? 0 : 1, 0, &t[i],
                                err), err);
    }
    must(hpcboot_barrier(t[rank % 2], err), err);
    must(hpcboot_barrier(t[1 - rank % 2], err), err);
    pause();
}

static void recv_both(struct hpcboot_error *err)
{
    char byte;

    if (hpcboot_rank() < 2) {
        must(hpcboot_recv(hpcboot_world(), 1 - hpcboot_rank(), 7, &byte, 1,
                          NULL, err), err);
    }
    pause();
}

static void send_round(struct hpcboot_error *err)
{
    size_t size = (size_t)16 << 20;
    void *data = calloc(1, size);

    must(hpcboot_send(hpcboot_world(), (hpcboot_rank() + 1) % hpcboot_size(),
                      5, data, size, err), err);
}

static void any(struct hpcboot_error *err)
{
    struct hpcboot_request *r[2];
    char bytes[2];
    size_t which;

    if (hpcboot_rank() == 0) {
        for (int i = 0; i < 2; i++) {
            must(hpcboot_irecv(hpcboot_world(), i + 1, 7, &bytes[i], 1, NULL,
                               &r[i], err), err);
        }
        must(hpcboot_wait_any(r, 2, 0, &which, err), err);
    } else if (hpcboot_rank() == 1) {
        must(hpcboot_recv(hpcboot_world(), 0, 7, bytes, 1, NULL, err), err);
    }
    pause();
}

static void end(struct hpcboot_error *err)
{
    if (hpcboot_rank() < hpcboot_size() - 1) {
        must(hpcboot_finalize(err), err);
    }
    pause();
}

/* Rank 0 comes when there is a file called "go". */
static void stale(struct hpcboot_error *err)
{
    struct hpcboot_team *team;

    must(hpcboot_team_split(hpcboot_world(), hpcboot_rank() / 2, 0, &team,
                            err), err);
    while (hpcboot_rank() == 0 && access("go", F_OK) != 0) {
        usleep(10000);
    }
    for (;;) {
        must(hpcboot_barrier(team, err), err);
    }
}

static void fence(struct hpcboot_error *err)
{
    if (hpcboot_rank() < hpcboot_size() - 1) {
        must(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, err), err);
    }
    pause();
}

static void loop(struct hpcboot_error *err)
{
    for (;;) {
        must(hpcboot_barrier(hpcboot_world(), err), err);
    }
}

/* The job's memory is what is open here and has no name. */
static void scribble(struct hpcboot_error *err)
{
    char noise[65536];
    struct stat st;

    must(hpcboot_barrier(hpcboot_world(), err), err);
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (char)(rand() >> 7);
    }
    for (int fd = 3; hpcboot_rank() == 0 && fd < 1024; fd++) {
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0) {
            fprintf(stderr, "%zd bytes of nonsense\n",
                    pwrite(fd, noise, sizeof noise, 16)); /* magic, size */
        }
    }
    pause();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct hpcboot_error *err);
    } ways[] = {{"absent", absent}, {"order", order}, {"recv", recv_both},
                {"send", send_round}, {"any", any}, {"end", end},
                {"stale", stale}, {"fence", fence}, {"loop", loop},
                {"scribble", scribble}, {"threads", recv_both}};
    struct hpcboot_init_options options = HPCBOOT_INIT_OPTIONS_INIT;
    const char *way = argc > 1 ? argv[1] : "";
    const char *rank = getenv("HPCBOOT_RANK"), *size = getenv("HPCBOOT_SIZE");
    struct hpcboot_error err;

    if (strcmp(way, "late") == 0 && rank != NULL && size != NULL &&
        atoi(rank) == atoi(size) - 1) {
        pause();
    }
    if (strcmp(way, "threads") == 0) {
        options.threads = HPCBOOT_THREADS_MULTIPLE;
    }
    must(hpcboot_init(&options, &err), &err);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].name, way) == 0) {
            ways[i].run(&err);
        }
    }
    return 2;
}
