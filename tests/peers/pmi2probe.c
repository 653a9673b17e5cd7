/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A client of libpmi2: puts, fences, gets from every rank, looks up a name,
 * asks for a node attribute that another rank puts later. "parent": starts
 * itself as "child", and both say whether they were spawned. */
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int rc, const char *what)
{
    if (rc != PMI2_SUCCESS) {
        printf("%s: %d\n", what, rc);
        exit(1);
    }
}

static void spawn(const char *program)
{
    static const char word[] = "child";
    const char *argv[] = {word, NULL}, **argvs[] = {argv};
    int argc = 1, one = 1, none = 0, error = -1;
    const PMI2U_Info *infos[] = {NULL};
    char job[PMI2_MAX_VALLEN];

    check(PMI2_Job_Spawn(1, &program, &argc, argvs, &one, &none, infos, 0, NULL,
                         job, sizeof(job), &error), "spawn");
    check(error, "the spawned process");
}

int main(int argc, char **argv)
{
    int spawned, size, rank, appnum, len, found;
    char job[PMI2_MAX_VALLEN], key[32], value[64], want[64];

    check(PMI2_Init(&spawned, &size, &rank, &appnum), "init");
    if (argc > 1) {
        if (strcmp(argv[1], "parent") == 0) {
            spawn(argv[0]);
        }
        printf("%s spawned: %d\n", argv[1], spawned);
        check(PMI2_Finalize(), "finalize");
        return 0;
    }
    check(PMI2_Job_GetId(job, sizeof(job)), "job id");
    snprintf(key, sizeof(key), "card-%d", rank);
    snprintf(value, sizeof(value), "of rank %d; said", rank);
    check(PMI2_KVS_Put(key, value), "put");
    if (rank == 0) {
        check(PMI2_Nameserv_publish("service", NULL, "port of 0"), "publish");
    }
    check(PMI2_KVS_Fence(), "fence");
    check(PMI2_Nameserv_lookup("service", NULL, value, sizeof(value)),
          "lookup");
    if (strcmp(value, "port of 0") != 0) {
        printf("the service is at '%s'\n", value);
        return 1;
    }
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "card-%d", r);
        snprintf(want, sizeof(want), "of rank %d; said", r);
        check(PMI2_KVS_Get(job, PMI2_ID_NULL, key, value, sizeof(value),
                           &len), "get");
        if (strcmp(value, want) != 0) {
            printf("%s is '%s'\n", key, value);
            return 1;
        }
    }
    check(PMI2_Info_GetJobAttr("PMI_process_mapping", job, sizeof(job),
                               &found), "job attribute");
    if (rank == 0) {
        check(PMI2_Info_PutNodeAttr("later", "here"), "node attribute");
    }
    check(PMI2_Finalize(), "finalize");
    printf("rank %d of %d: right\n", rank, size);
    return 0;
}
