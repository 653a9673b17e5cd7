/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Names and sizes of types, operations and collectives. */

#include "config.h"

#include "lib/coll/impl.h"

static const struct {
    const char *name;
    size_t size;
} types[HPCBOOT_TYPES] = {
    [HPCBOOT_INT8] = {"int8", 1},       [HPCBOOT_INT16] = {"int16", 2},
    [HPCBOOT_INT32] = {"int32", 4},     [HPCBOOT_INT64] = {"int64", 8},
    [HPCBOOT_UINT8] = {"uint8", 1},     [HPCBOOT_UINT16] = {"uint16", 2},
    [HPCBOOT_UINT32] = {"uint32", 4},   [HPCBOOT_UINT64] = {"uint64", 8},
    [HPCBOOT_FLOAT16] = {"float16", 2}, [HPCBOOT_BFLOAT16] = {"bfloat16", 2},
    [HPCBOOT_FLOAT] = {"float", 4},     [HPCBOOT_DOUBLE] = {"double", 8},
    [HPCBOOT_FLOAT_COMPLEX] = {"float_complex", 8},
    [HPCBOOT_DOUBLE_COMPLEX] = {"double_complex", 16},
    [HPCBOOT_FLOAT_INT] = {"float_int", sizeof(struct hpcboot_float_int)},
    [HPCBOOT_DOUBLE_INT] = {"double_int", sizeof(struct hpcboot_double_int)},
    [HPCBOOT_INT32_INT] = {"int32_int", sizeof(struct hpcboot_int32_int)},
    [HPCBOOT_INT64_INT] = {"int64_int", sizeof(struct hpcboot_int64_int)},
    [HPCBOOT_BYTE] = {"byte", 1},
};

static const char *const ops[HPCBOOT_OPS] = {
    [HPCBOOT_SUM] = "sum",       [HPCBOOT_PROD] = "prod",
    [HPCBOOT_MIN] = "min",       [HPCBOOT_MAX] = "max",
    [HPCBOOT_BAND] = "band",     [HPCBOOT_BOR] = "bor",
    [HPCBOOT_BXOR] = "bxor",     [HPCBOOT_LAND] = "land",
    [HPCBOOT_LOR] = "lor",       [HPCBOOT_LXOR] = "lxor",
    [HPCBOOT_MINLOC] = "minloc", [HPCBOOT_MAXLOC] = "maxloc",
    [HPCBOOT_AVG] = "avg",
};

static const char *const calls[HB_CALLS] = {
    [HPCBOOT_COLL_BARRIER] = "barrier",
    [HPCBOOT_COLL_BCAST] = "bcast",
    [HPCBOOT_COLL_SCATTER] = "scatter",
    [HPCBOOT_COLL_SCATTERV] = "scatterv",
    [HPCBOOT_COLL_GATHER] = "gather",
    [HPCBOOT_COLL_GATHERV] = "gatherv",
    [HPCBOOT_COLL_ALLGATHER] = "allgather",
    [HPCBOOT_COLL_ALLGATHERV] = "allgatherv",
    [HPCBOOT_COLL_REDUCE] = "reduce",
    [HPCBOOT_COLL_ALLREDUCE] = "allreduce",
    [HPCBOOT_COLL_REDUCE_SCATTER] = "reduce_scatter",
    [HPCBOOT_COLL_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [HPCBOOT_COLL_ALLTOALL] = "alltoall",
    [HPCBOOT_COLL_ALLTOALLV] = "alltoallv",
    [HPCBOOT_COLL_SCAN] = "scan",
    [HPCBOOT_COLL_EXSCAN] = "exscan",
    [HB_CALL_TEAM_SPLIT] = "team_split",
    [HB_CALL_TEAM_CREATE] = "team_create",
};

size_t hb_coll_type_size(enum hpcboot_type type)
{
    return (unsigned)type < HPCBOOT_TYPES ? types[type].size : 0;
}

const char *hb_coll_type_name(enum hpcboot_type type)
{
    return (unsigned)type < HPCBOOT_TYPES ? types[type].name : "unknown";
}

const char *hb_coll_op_name(int op)
{
    if (op >= HPCBOOT_OP_USER) {
        return "user";
    }
    return op >= 0 && op < HPCBOOT_OPS ? ops[op] : "unknown";
}

const char *hb_coll_name(int call)
{
    return call >= 0 && call < HB_CALLS ? calls[call] : "unknown";
}

bool hb_coll_op_defined(int op, enum hpcboot_type type)
{
    return (op >= HPCBOOT_OP_USER && (unsigned)type < HPCBOOT_TYPES) ||
           hb_kern_fold(op, type) != NULL;
}
