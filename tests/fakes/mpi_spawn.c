/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Starts itself again: with `mpi_spawn N [HOW [WHAT]]` the ranks ask together
 * for N more, all merge into one communicator and sum their numbers.
 *
 *   twice       two programs at once, with arguments of their own
 *   again       three times, one after the other, disconnected in between
 *   each        each rank by itself, all at the same time
 *   each-stays  the same, and nobody goes on once all of a rank's have met
 *   deeper      those that were started do the same once more
 *   info KEY=V  with this hint; who was started says where it is
 *   other       "true" is asked for, which is no MPI's program
 *   dies        "false" is asked for
 *   alone       "true" is, and Open MPI is told that it is no MPI's program
 *   missing     a program that is not there is asked for, and errors return
 *   nothing     a program without a name is
 *   fail        one that was started exits with 7, when all have met
 *   abort       one that was started aborts with 9
 *   stay        nobody goes on once all have met
 *   universe    who was started says what MPI_UNIVERSE_SIZE is
 *   port        nobody is started: the others connect to rank 0 by one port,
 *               all at the same time, three times each
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3
#define EXIT_STATUS 7
#define ABORT_CODE 9

static const char *how = "", *what = "";

static void say_sum(MPI_Comm all, const char *who)
{
    int rank, size, sum = 0;

    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    printf("%s %d of %d: sum %d: %s\n", who, rank, size, sum,
           sum == size * (size - 1) / 2 ? "right" : "WRONG");
    fflush(stdout);
}

static void meet(MPI_Comm between, int high, const char *who)
{
    MPI_Comm all;

    MPI_Intercomm_merge(between, high, &all);
    say_sum(all, who);
    MPI_Comm_free(&all);
    if (strcmp(how, "stay") == 0 || strcmp(how, "each-stays") == 0) {
        sleep(1000);
    }
}

static int ask_twice(char *program, int n, MPI_Comm *between)
{
    char *first[] = {"first program", "x=y;z", NULL};
    char *second[] = {"second", NULL};
    char *programs[] = {program, program};
    char **argvs[] = {first, second};
    int counts[] = {n, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};

    return MPI_Comm_spawn_multiple(2, programs, argvs, counts, infos, 0,
                                   MPI_COMM_WORLD, between,
                                   MPI_ERRCODES_IGNORE);
}

static int ask(char *program, char **argv, int n, MPI_Comm *between)
{
    MPI_Info info = MPI_INFO_NULL;
    const char *equal = strchr(what, '=');
    char key[64];
    int rc;

    if (strcmp(how, "info") == 0 && equal != NULL) {
        snprintf(key, sizeof key, "%.*s", (int)(equal - what), what);
        MPI_Info_create(&info);
        MPI_Info_set(info, key, equal + 1);
    }
    rc = MPI_Comm_spawn(program, argv, n, info, 0,
                        strncmp(how, "each", 4) == 0 ? MPI_COMM_SELF
                                                     : MPI_COMM_WORLD,
                        between, MPI_ERRCODES_IGNORE);
    if (info != MPI_INFO_NULL) {
        MPI_Info_free(&info);
    }
    return rc;
}

static void start_others(char *program, char **argv, int n)
{
    MPI_Comm between;

    if (strcmp(how, "twice") == 0) {
        ask_twice(program, n, &between);
    } else if (strcmp(how, "other") == 0) {
        ask((char *)"true", NULL, n, &between);
    } else if (strcmp(how, "dies") == 0) {
        ask((char *)"false", NULL, n, &between);
    } else {
        ask(program, argv, n, &between);
    }
    meet(between, 0, "parent");
    MPI_Comm_disconnect(&between);
}

static void start_alone(int n)
{
    MPI_Comm none;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_non_mpi", "true");
    MPI_Comm_spawn("true", MPI_ARGV_NULL, n, info, 0, MPI_COMM_SELF, &none,
                   MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
}

static void use_port(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm between;
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS * (rank == 0 ? size - 1 : 1); i++) {
        (rank == 0 ? MPI_Comm_accept : MPI_Comm_connect)(
            port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
        meet(between, rank, "parent");
        MPI_Comm_disconnect(&between);
    }
}

static void say_where(int argc, char **argv)
{
    char at[4096] = "?", host[MPI_MAX_PROCESSOR_NAME];
    int rank, len;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(host, &len);
    printf("child %d on %s in %s\n", rank, host,
           getcwd(at, sizeof at) != NULL ? at : "?");
    for (int i = 1; i < argc; i++) {
        printf("child %d argument %d: %s\n", rank, i, argv[i]);
    }
    fflush(stdout);
}

static void say_universe(void)
{
    int *total = NULL, found = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &total, &found);
    printf("child's universe of %d\n", found ? *total : 0);
    fflush(stdout);
}

static void be_started(MPI_Comm parent, int argc, char **argv, int n)
{
    char *no_more[] = {argv[1], "last", NULL};
    int rank;

    say_where(argc, argv);
    meet(parent, 1, "child");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "fail") == 0 && rank == 0) {
        exit(EXIT_STATUS);
    }
    if (strcmp(how, "abort") == 0 && rank == 0) {
        MPI_Abort(MPI_COMM_WORLD, ABORT_CODE);
    }
    if (strcmp(how, "universe") == 0) {
        say_universe();
    }
    if (strcmp(how, "deeper") == 0) {
        start_others(argv[0], no_more, n);
    }
    MPI_Comm_disconnect(&parent);
}

static void miss(int n, const char *program)
{
    MPI_Comm between;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    printf("rank %d: the spawn %s\n", rank,
           ask((char *)program, NULL, n, &between) == MPI_SUCCESS
               ? "worked" : "failed");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, rounds;
    MPI_Comm parent;

    how = argc > 2 ? argv[2] : how;
    what = argc > 3 ? argv[3] : what;
    rounds = strcmp(how, "again") == 0 ? ROUNDS : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        be_started(parent, argc, argv, n);
    } else if (strcmp(how, "missing") == 0) {
        miss(n, "./is-not-there");
    } else if (strcmp(how, "nothing") == 0) {
        miss(n, "");
    } else if (strcmp(how, "alone") == 0) {
        start_alone(n);
    } else if (strcmp(how, "port") == 0) {
        use_port();
    } else {
        for (int i = 0; i < rounds; i++) {
            start_others(argv[0], argv + 1, n);
        }
    }
    MPI_Finalize();
    return 0;
}
