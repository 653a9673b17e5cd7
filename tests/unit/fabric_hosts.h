/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_FABRIC_HOSTS_H
#define HB_TESTS_UNIT_FABRIC_HOSTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/fabric/choose.h"
#include "lib/fabric/fabric.h"
#include "tests/unit/fabric_tree.h"

/* Hosts that agree upon a fabric, each read from a captured tree. */
#define MAX_HOSTS 4

struct job {
    struct hb_fabric fabric[MAX_HOSTS];
    struct hb_fabric_host hosts[MAX_HOSTS];
    uint32_t n;
    struct hb_fabric_plan plan;
    struct hpcboot_error err;
};

static inline void add_host(struct job *j, const char *tree,
                     const char *const *instead)
{
    static const char *const names[MAX_HOSTS] = {"n0", "n1", "n2", "n3"};
    char root[256];

    fabric_tree_create(tree, instead, root, sizeof root);
    hb_fabric_read(root, 0, &j->fabric[j->n], NULL);
    tree_remove(root);
    j->hosts[j->n].name = names[j->n];
    j->hosts[j->n].fabric = &j->fabric[j->n];
    j->n++;
}

static inline int agree(struct job *j, const char *text)
{
    struct hb_fabric_wish wish;

    assert_int_equal(hb_fabric_wish_parse(text, &wish, &j->err), 0);
    return hb_fabric_agree(&wish, j->hosts, j->n, &j->plan, &j->err);
}

static inline void end(struct job *j)
{
    hb_fabric_plan_destroy(&j->plan);
    for (uint32_t i = 0; i < j->n; i++) {
        hb_fabric_clear(&j->fabric[i]);
    }
}

/* What stands instead in roce-vlan: the same host with other addresses. */
static const char *const other_roce[] = {
    "10.1.0.5", "10.1.0.6", "10.100.0.5", "10.100.0.6", "192.168.1.5",
    "192.168.1.6", "0a01:0005", "0a01:0006", "0a64:0005", "0a64:0006",
    "2001:db8:1::5", "2001:db8:1::6", NULL,
};
/* And on another subnet. */
static const char *const far_roce[] = {
    "10.1.0.5", "10.7.0.6", "10.100.0.5", "10.107.0.6", "192.168.1.5",
    "192.168.1.6", "0a01:0005", "0a07:0006", "0a64:0005", "0a6b:0006",
    "2001:db8:1::5", "2001:db8:9::6", "2001:0db8:0001", "2001:0db8:0009",
    "0000:0005", "0000:0006", NULL,
};

#endif
