/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A client of libpmi2: puts, fences, gets from every rank, asks for a node
 * attribute that another rank puts later. */
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

int main(void)
{
    int spawned, size, rank, appnum, len, found;
    char job[PMI2_MAX_VALLEN], key[32], value[64], want[64];

    check(PMI2_Init(&spawned, &size, &rank, &appnum), "init");
    check(PMI2_Job_GetId(job, sizeof(job)), "job id");
    snprintf(key, sizeof(key), "card-%d", rank);
    snprintf(value, sizeof(value), "of rank %d", rank);
    check(PMI2_KVS_Put(key, value), "put");
    check(PMI2_KVS_Fence(), "fence");
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "card-%d", r);
        snprintf(want, sizeof(want), "of rank %d", r);
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
