/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A PMIx client that starts itself once, with an argument. Who was started says
 * who has, as a key of its own and as one of its job, and both connect. With
 * "late" it puts nothing before they have; then both connect again. With
 * "absent" rank 1 of the first job should connect with them, and does not.
 * With "environ" it is started with changes of variables, and prints them. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(pmix_status_t rc, const char *what)
{
    if (rc != PMIX_SUCCESS) {
        printf("%s: %s\n", what, PMIx_Error_string(rc));
    }
}

static int is_parent(const pmix_proc_t *me, pmix_rank_t whose,
                     const pmix_proc_t *parent)
{
    pmix_value_t *v = NULL;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, me->nspace, whose);
    return PMIx_Get(&proc, PMIX_PARENT_ID, NULL, 0, &v) == PMIX_SUCCESS &&
           v->type == PMIX_PROC && PMIX_CHECK_PROCID(v->data.proc, parent);
}

static void start(char *program, char *word, char *nspace)
{
    char *argv[] = {program, (char *)"started", word, NULL};
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = 1;
    check(PMIx_Spawn(NULL, 0, &app, 1, nspace), "spawn");
}

static void start_changed(char *program)
{
    static const char *const keys[] = {PMIX_SET_ENVAR, PMIX_PREPEND_ENVAR,
                                       PMIX_APPEND_ENVAR};
    static const char *const names[] = {"HB_SET", "HB_PREPENDED",
                                        "HB_APPENDED"};
    char *argv[] = {program, (char *)"started", (char *)"environ", NULL};
    pmix_nspace_t nspace;
    pmix_info_t infos[4];
    pmix_app_t app;

    for (int i = 0; i < 3; i++) {
        pmix_envar_t v = {(char *)names[i], (char *)"new", ':'};

        PMIX_INFO_LOAD(&infos[i], keys[i], &v, PMIX_ENVAR);
    }
    PMIX_INFO_LOAD(&infos[3], PMIX_UNSET_ENVAR, "HB_UNSET", PMIX_STRING);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = 1;
    check(PMIx_Spawn(infos, 4, &app, 1, nspace), "spawn");
}

static int environ_of(int started, char *program)
{
    static const char *const names[] = {"HB_SET", "HB_PREPENDED",
                                        "HB_APPENDED", "HB_UNSET"};

    if (!started) {
        start_changed(program);
    }
    for (size_t i = 0; started && i < 4; i++) {
        const char *value = getenv(names[i]);

        printf("%s is %s\n", names[i], value != NULL ? value : "not there");
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}

static void load_parent(pmix_proc_t *out, const pmix_proc_t *me,
                        pmix_rank_t rank)
{
    PMIX_LOAD_PROCID(out, me->nspace, rank);
    memset(out->nspace, 0, sizeof out->nspace);
    strncpy(out->nspace, me->nspace, strcspn(me->nspace, "@"));
}

static int absent(int started, char *program, const pmix_proc_t *me)
{
    const char *who = started ? "started" : "parent";
    pmix_proc_t all[3], world;
    pmix_info_t limit, longer;
    int one = 1, four = 4;

    load_parent(&all[0], me, 0);
    load_parent(&all[1], me, 1);
    all[2] = *me;
    PMIX_LOAD_PROCID(&world, me->nspace, PMIX_RANK_WILDCARD);
    if (me->rank == 0) {
        if (!started) {
            start(program, (char *)"absent", all[2].nspace);
        }
        PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &one, PMIX_INT);
        /* libpmix 4 has a limit of its own here, and frees what it answers. */
        PMIX_INFO_LOAD(&longer, PMIX_TIMEOUT, &four, PMIX_INT);
        printf("%s, connect: %s\n", who,
               PMIx_Error_string(PMIx_Connect(all, 3, &longer, 1)));
        printf("%s, fence: %s\n", who,
               PMIx_Error_string(PMIx_Fence(all, 3, &limit, 1)));
        printf("%s, disconnect: %s\n", who,
               PMIx_Error_string(PMIx_Disconnect(all, 3, &limit, 1)));
        PMIX_INFO_DESTRUCT(&limit);
        PMIX_INFO_DESTRUCT(&longer);
    }
    check(PMIx_Fence(&world, 1, NULL, 0), "fence");
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}

static void put(void)
{
    pmix_value_t text;

    PMIX_VALUE_LOAD(&text, "here", PMIX_STRING);
    check(PMIx_Put(PMIX_GLOBAL, "probe", &text), "put");
    check(PMIx_Commit(), "commit");
}

static const char *has_put(const pmix_proc_t *proc)
{
    pmix_value_t *v = NULL;
    pmix_status_t rc = PMIx_Get(proc, "probe", NULL, 0, &v);

    return rc == PMIX_SUCCESS         ? "there"
           : rc == PMIX_ERR_NOT_FOUND ? "not there"
                                      : PMIx_Error_string(rc);
}

int main(int argc, char **argv)
{
    int started = argc > 1 && strcmp(argv[1], "started") == 0;
    int late = strcmp(argv[argc - 1], "late") == 0;
    pmix_proc_t me, both[2];

    check(PMIx_Init(&me, NULL, 0), "init");
    if (strcmp(argv[argc - 1], "absent") == 0) {
        return absent(started, argv[0], &me);
    }
    if (strcmp(argv[argc - 1], "environ") == 0) {
        return environ_of(started, argv[0]);
    }
    if (started || !late) {
        put();
    }
    both[0] = both[1] = me;
    if (!started) {
        start(argv[0], late ? argv[1] : NULL, both[1].nspace);
        check(PMIx_Connect(both, 2, NULL, 0), "connect");
    } else {
        load_parent(&both[0], &me, 0);
        check(PMIx_Connect(both, 2, NULL, 0), "connect");
        printf("own key: %s, the job's: %s\n",
               is_parent(&me, me.rank, &both[0]) ? "right" : "WRONG",
               is_parent(&me, PMIX_RANK_WILDCARD, &both[0]) ? "right"
                                                            : "WRONG");
        printf("what it has put: %s\n", has_put(&both[0]));
    }
    if (late) {
        check(PMIx_Disconnect(both, 2, NULL, 0), "disconnect");
        if (!started) {
            put();
        }
        check(PMIx_Connect(both, 2, NULL, 0), "connect");
        if (started) {
            printf("what it has put: %s\n", has_put(&both[0]));
        }
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}
