/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A PMIx client that says long things to its server:
 *
 *   pmix_long abort BYTES       ends the job with 7 and a text so long
 *   pmix_long spawn BYTES       starts a program with an argument so long
 *   pmix_long spawns BYTES N    asks for N such programs and waits for no
 *                               answer in between; says when all have come
 *   pmix_long logs BYTES N      has N texts so long written, or as many as
 *                               are answered soon; says in a file "waits" or
 *                               "never" how many, and waits for the last */
#define _GNU_SOURCE
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 100
#define WAIT_MS 2000

static atomic_int n_answers;

static void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (p == NULL) {
        abort();
    }
    return p;
}

static char *long_text(size_t bytes)
{
    char *text = xcalloc(bytes + 1, 1);

    memset(text, 'x', bytes);
    return text;
}

static void on_spawned(pmix_status_t rc, char nspace[], void *arg)
{
    atomic_fetch_add(&n_answers, 1);
}

static void on_logged(pmix_status_t rc, void *arg)
{
    atomic_fetch_add(&n_answers, 1);
}

static void wait_for(int n)
{
    while (atomic_load(&n_answers) < n) {
        usleep(1000);
    }
}

static void spawn(size_t bytes, int n)
{
    char nspace[PMIX_MAX_NSLEN + 1];
    pmix_app_t *app;

    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup("/bin/true");
    app->maxprocs = 1;
    app->argv = xcalloc(3, sizeof *app->argv);
    app->argv[0] = strdup("true");
    app->argv[1] = long_text(bytes);
    if (n == 0) {
        printf("spawn: %s\n",
               PMIx_Error_string(PMIx_Spawn(NULL, 0, app, 1, nspace)));
    }
    for (int i = 0; i < n; i++) {
        if (PMIx_Spawn_nb(NULL, 0, app, 1, on_spawned, NULL) != 0) {
            abort();
        }
    }
    wait_for(n);
    PMIX_APP_FREE(app, 1);
}

/* Whether it has come, within WAIT_MS. */
static int answered(int n)
{
    for (int i = 0; i < WAIT_MS && atomic_load(&n_answers) < n; i++) {
        usleep(1000);
    }
    return atomic_load(&n_answers) >= n;
}

static void note(const char *file, int n)
{
    FILE *f = fopen(file, "w");

    if (f == NULL || fprintf(f, "%d\n", n) < 0 || fclose(f) != 0) {
        abort();
    }
}

static void logs(size_t bytes, int n)
{
    pmix_info_t info;
    char *text = long_text(bytes);
    int i = 0, went = 1;

    text[bytes - 1] = '\n';
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDOUT, text, PMIX_STRING);
    for (; i < n && went; i++) {
        if (PMIx_Log_nb(&info, 1, NULL, 0, on_logged, NULL) != 0) {
            abort();
        }
        went = answered(i + 1);
    }
    note(went ? "never" : "waits", i);
    wait_for(i);
    PMIX_INFO_DESTRUCT(&info);
    free(text);
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)atol(argv[2]);
    int n = argc > 3 ? atoi(argv[3]) : 0;
    pmix_proc_t me;

    alarm(LIMIT_S);
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        return 3;
    }
    if (strcmp(argv[1], "abort") == 0) {
        PMIx_Abort(7, long_text(bytes), NULL, 0);
    } else if (strcmp(argv[1], "logs") == 0) {
        logs(bytes, n);
    } else {
        spawn(bytes, n);
        printf("all were answered\n");
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
