/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Where a rank is and who started it: reads of the table of the node. */
#include "config.h"

#include "lib/api/api.h"

#define ANSWER(value) \
    (hb_api_is_in() ? (value) : (int)HPCBOOT_ERR_USAGE)

int hpcboot_rank(void)
{
    return ANSWER(hb_api.rank);
}

int hpcboot_size(void)
{
    return ANSWER(hb_api.size);
}

int hpcboot_local_rank(void)
{
    return ANSWER(hb_api.local_rank);
}

int hpcboot_local_size(void)
{
    return ANSWER(hb_api.local_size);
}

int hpcboot_node(void)
{
    return ANSWER(hb_api.node);
}

int hpcboot_nodes(void)
{
    return ANSWER(hb_api.nodes);
}

static int is_rank(int rank)
{
    return hb_api_is_in() && rank >= 0 && rank < hb_api.size;
}

int hpcboot_node_of(int rank)
{
    return is_rank(rank) ? (int)hb_segment_node_of(hb_api.memory)[rank]
                         : HPCBOOT_ERR_USAGE;
}

int hpcboot_local_rank_of(int rank)
{
    return is_rank(rank) ? (int)hb_segment_local_rank(hb_api.memory)[rank]
                         : HPCBOOT_ERR_USAGE;
}

const char *hpcboot_host_of(int rank)
{
    return is_rank(rank)
               ? hb_segment_name(hb_api.memory,
                                 hb_segment_node_of(hb_api.memory)[rank])
               : NULL;
}

const char *hpcboot_launcher(void)
{
    return hb_api_is_in() ? hb_api.rdzv->ops->name : NULL;
}

unsigned hpcboot_epoch(void)
{
    return hb_api_is_in() ? hb_segment_deaths(hb_api.memory) : 0;
}

const char *hpcboot_version(void)
{
    return HPCBOOT_VERSION;
}

const char *hpcboot_status_text(int code)
{
    return hb_status_text(code);
}
