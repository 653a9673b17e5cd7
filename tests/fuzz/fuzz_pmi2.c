/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The PMI-2 server fed with any bytes by one rank of a job of two on two
 * nodes. The first byte says where the input is cut into pieces. */
#include "config.h"

#include <stdlib.h>

#include "tests/unit/pmi_lab.c" /* a harness is one file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t nodes[] = {0, 1};
    struct lab *lab;
    size_t piece;
    int rc = 0;

    if (size == 0) {
        return 0;
    }
    piece = data[0] + (size_t)1;
    data++;
    size--;
    lab = lab_new(HB_PM_PMI2, 2, nodes, 2);
    (void)lab_say(lab, 0, "cmd=init pmi_version=2\n");
    while (rc >= 0 && size > 0) {
        size_t n = size < piece ? size : piece;

        rc = lab->ops->feed(lab->node[0].pm, 0, data, n, NULL);
        data += n;
        size -= n;
        lab_run(lab);
        if (lab->n_spawns > 0) {
            lab_spawned(lab, 0, lab->n_spawns % 2 ? 0 : HPCBOOT_ERR_SPAWN);
            lab->n_spawns = 0;
        }
    }
    lab_free(lab);
    return 0;
}
