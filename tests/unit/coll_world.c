/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks for the tests of collectives: see coll_world.h. One memfd holds the
 * node's page, the region of the world, further regions, and the heap; each
 * rank maps it for itself, so that nobody's pointers mean anything to
 * another. What a rank found wrong is written into the page's own corner. */

#include "config.h"

#include "coll_world.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"

#define TEXT 512
#define PAGE 4096
/* Longer than ranks on busy cores ever take, shorter than a test may. */
#define CALL_MS 240000

struct layout {
    size_t texts, region, extra, heap, all;
};

struct start {
    const struct coll_world *w;
    struct layout at;
    const char *(*fn)(struct coll_rank *r);
    void *arg;
    int fd, rank;
    void *shared; /* of the threads: TSan follows addresses */
};

static size_t paged(size_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

/* Room for a team of any of a world's ranks. */
static size_t region_room(int ranks)
{
    return paged(hb_coll_region_size(ranks));
}

static struct layout lay_out(const struct coll_world *w)
{
    size_t region = region_room(w->ranks);
    struct layout l = {.texts = PAGE};
    l.region = l.texts + paged((size_t)w->ranks * TEXT);
    l.extra = l.region + region;
    l.heap = l.extra + (size_t)w->extra_regions * region;
    l.all = l.heap + paged(w->heap_size);
    return l;
}

void *coll_world_region(const struct coll_rank *r, int i)
{
    return (char *)r->extra +
           (size_t)i * region_room(r->size);
}

struct hb_coll_team *coll_further_team(const struct coll_rank *r, int i)
{
    struct hb_coll_team *t = NULL;
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    a.rank = r->rank;
    a.size = r->size;
    a.region = coll_world_region(r, i);
    a.region_size = hb_coll_region_least(r->size);
    a.timeout_ms = CALL_MS;
    return hb_coll_team_create(r->engine, &a, &t, NULL) == 0 ? t : NULL;
}

struct hpcboot_coll_args coll_sum_of(const int *in, int *out, size_t n)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLREDUCE;
    a.type = HPCBOOT_INT32;
    a.op = HPCBOOT_SUM;
    a.send = in;
    a.recv = out;
    a.count = n;
    return a;
}

void coll_leave(const struct coll_rank *r)
{
    if (r->rank == 0) {
        hb_coll_node_changed(r->page);
    }
}

int coll_rank_0_left(void *ctx, void *team_ctx, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "rank 0 has left");
}

const char *coll_text(const char *fmt, ...)
{
    static _Thread_local char text[TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

static const char *with_team(struct start *s, char *map,
                             struct coll_rank *r)
{
    const struct coll_world *w = s->w;
    struct hpcboot_error err = {0};
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    c.page = r->page;
    c.heap = (struct hb_coll_heap){r->heap, r->heap_size};
    c.node_rank = r->rank;
    c.node_size = r->size;
    c.threads = w->threads_call;
    c.check = w->check;
    c.net_wish = w->net_wish;
    c.alive = w->alive;
    c.ctx = r;
    if (hb_coll_create(&c, &r->engine, &err) != 0) {
        return coll_text("%s", err.text);
    }
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    a.rank = r->rank;
    a.size = r->size;
    a.region = map + s->at.region;
    a.region_size = hb_coll_region_size(r->size);
    a.timeout_ms = w->timeout_ms > 0 ? w->timeout_ms : CALL_MS;
    a.team_ctx = r;
    const char *wrong = NULL;
    if (hb_coll_team_create(r->engine, &a, &r->team, &err) != 0) {
        wrong = coll_text("%s", err.text);
    } else {
        wrong = s->fn(r);
        hb_coll_team_destroy(r->team);
    }
    hb_coll_destroy(r->engine);
    return wrong;
}

static void *be_rank(void *arg)
{
    struct start *s = arg;
    const struct coll_world *w = s->w;
    char *map = s->shared;
    if (map == NULL) {
        map = mmap(NULL, s->at.all, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
                   0);
    }
    struct coll_rank r = {
        .rank = s->rank, .size = w->ranks, .arg = s->arg,
        .page = (void *)map, .extra = map + s->at.extra,
        .heap = w->heap_size > 0 ? map + s->at.heap : NULL,
        .heap_size = w->heap_size,
    };
    const char *wrong = with_team(s, map, &r);
    if (wrong != NULL) {
        snprintf(map + s->at.texts + (size_t)s->rank * TEXT, TEXT, "%s",
                 wrong);
    }
    if (s->shared == NULL) {
        munmap(map, s->at.all);
    }
    return NULL;
}

static void run_threads(struct start *starts, int n)
{
    pthread_t *t = calloc((size_t)n, sizeof *t);
    for (int i = 0; i < n; i++) {
        pthread_create(&t[i], NULL, be_rank, &starts[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
    free(t);
}

static int run_processes(struct start *starts, int n)
{
    pid_t *pid = calloc((size_t)n, sizeof *pid);
    int died = 0;
    fflush(NULL);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            be_rank(&starts[i]);
            _exit(0);
        }
    }
    for (int i = 0; i < n; i++) {
        int status = 0;
        waitpid(pid[i], &status, 0);
        died += status != 0;
    }
    free(pid);
    return died;
}

int coll_world_run(const struct coll_world *w,
                   const char *(*fn)(struct coll_rank *r), void *arg)
{
    struct layout at = lay_out(w);
    int fd = memfd_create("coll", MFD_CLOEXEC), wrong = 0;
    if (fd < 0 || ftruncate(fd, (off_t)at.all) != 0) {
        perror("memfd");
        return -1;
    }
    char *map = mmap(NULL, at.all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct hb_coll_node_page *page = (void *)map;
    page->wait_mode = (uint32_t)w->wait_mode;
    if (w->tune != NULL) {
        setenv("HPCBOOT_COLL_TUNE", w->tune, 1);
        hb_coll_model_share(page, w->ranks, NULL);
        unsetenv("HPCBOOT_COLL_TUNE");
    }
    struct start *starts = calloc((size_t)w->ranks, sizeof *starts);
    for (int i = 0; i < w->ranks; i++) {
        starts[i] = (struct start){w, at, fn, arg, fd, i,
                                   w->processes ? NULL : map};
    }
    if (w->processes) {
        wrong = run_processes(starts, w->ranks);
    } else {
        run_threads(starts, w->ranks);
    }
    for (int i = 0; i < w->ranks; i++) {
        const char *text = map + at.texts + (size_t)i * TEXT;
        if (text[0] != '\0') {
            fprintf(stderr, "rank %d of %d: %s\n", i, w->ranks, text);
            wrong++;
        }
    }
    free(starts);
    munmap(map, at.all);
    close(fd);
    return wrong;
}
