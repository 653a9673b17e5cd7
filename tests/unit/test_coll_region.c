/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a team's region is cut into rings: whatever its size, the number of ranks
 * and the machine's caches, the parts lie one behind the other within it, and a
 * round of two slots never goes past the end of its part. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/coll/impl.h"

#define MIB ((size_t)1 << 20)
#define RANKS_MOST 130

static struct hb_coll_model models[] = {
    {.l2_kib = 1024, .l3_kib = 8192, .l3s = 1},
    {.l2_kib = 2048, .l3_kib = 76800, .l3s = 1},
    {.l2_kib = 256, .l3_kib = 2048, .l3s = 1}, /* no room for rings */
    {.l2_kib = 65536, .l3_kib = 0},
};
#define MODELS (sizeof models / sizeof *models)

static struct hb_coll_engine engine;
static struct hb_coll_team team;
static char *memory; /* for the largest; only heads are touched */

static int map(void **state)
{
    memory = mmap(NULL, hb_coll_region_size(RANKS_MOST), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED;
}

static int unmap(void **state)
{
    return munmap(memory, hb_coll_region_size(RANKS_MOST));
}

static void cut(int p, const struct hb_coll_model *m, size_t size)
{
    engine = (struct hb_coll_engine){.model = m};
    team = (struct hb_coll_team){
        .engine = &engine, .p = p, .me = p - 1};
    assert_int_equal(hb_shm_attach(&team, memory, size, NULL), 0);
}

static void are_sound(const struct hb_shm_part *part, size_t base)
{
    assert_int_equal(part->base, base);
    assert_int_equal(part->pos, 0);
    assert_int_equal(part->base % HB_SHM_SLOT, 0);
    assert_int_equal(part->len % HB_SHM_BIG, 0);
}

static void is_sound(size_t size)
{
    const struct hb_shm_part *large = &team.part[HB_PART_LARGE],
                             *small = &team.part[HB_PART_SMALL],
                             *shared = &team.part[HB_PART_SHARED];
    char *end = hb_shm_ring(&team, team.p - 1, shared->base + shared->len);

    are_sound(large, 0);
    are_sound(small, large->len);
    are_sound(shared, team.ring);
    assert_int_equal(large->len + small->len, team.ring);
    assert_true(large->len >= 2 * HB_SHM_BIG);
    assert_true(end <= memory + size);
    assert_true((team.ring + shared->len) / HB_SHM_SLOT <=
                sizeof team.slot_use / sizeof *team.slot_use);
    assert_true(shared->len == 0 || shared->len > team.ring);
    /* All ranks mean the same place there, and no other's in their own. */
    assert_ptr_equal(hb_shm_ring(&team, 0, shared->base),
                     hb_shm_ring(&team, team.p - 1, shared->base));
    assert_true(hb_shm_ring(&team, 0, team.ring - 1) <
                hb_shm_ring(&team, 1, 0));
}

static void parts_lie_within_the_region(void **state)
{
    for (int p = 2; p <= RANKS_MOST; p++) {
        size_t least = hb_coll_region_least(p);
        size_t whole = hb_coll_region_size(p);
        for (size_t m = 0; m <= MODELS; m++) {
            for (int i = 0; i <= 16; i++) {
                size_t size = least + (whole - least) / 16 * (size_t)i;
                size = i == 16 ? whole : size;
                cut(p, m < MODELS ? &models[m] : NULL, size);
                is_sound(size);
            }
        }
    }
}

static void caches_say_how_long_rings_are(void **state)
{
    cut(4, &models[0], hb_coll_region_size(4));
    assert_int_equal(team.part[HB_PART_SHARED].len, 4 * MIB);
    assert_int_equal(team.ring, 2 * MIB);
    cut(4, &models[1], hb_coll_region_size(4));
    assert_int_equal(team.part[HB_PART_SHARED].len, 6 * MIB);
    cut(4, &models[2], hb_coll_region_size(4));
    assert_int_equal(team.part[HB_PART_SHARED].len, 2 * MIB);
    assert_int_equal(team.ring, MIB);
    cut(4, &models[3], hb_coll_region_size(4));
    assert_int_equal(team.part[HB_PART_SHARED].len,
                     HB_SHM_SHARED_MOST * HB_SHM_SLOT);
    cut(2, &models[0], hb_coll_region_size(2)); /* its own is as long */
    assert_int_equal(team.part[HB_PART_SHARED].len, 0);
    assert_int_equal(team.ring, 4 * MIB);
    cut(2, &models[1], hb_coll_region_size(2));
    assert_int_equal(team.part[HB_PART_SHARED].len, 6 * MIB);
}

static void less_memory_makes_shorter_rings(void **state)
{
    cut(4, &models[0], hb_coll_region_small(4));
    assert_int_equal(team.ring, MIB);
    assert_int_equal(team.part[HB_PART_SHARED].len, 0);
    cut(4, &models[0], hb_coll_region_least(4));
    assert_int_equal(team.ring, HB_SHM_SLOTS_LEAST * HB_SHM_SLOT);
    assert_int_equal(hb_shm_attach(&team, memory, hb_coll_region_least(4) - 1,
                                   NULL), HPCBOOT_ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_lie_within_the_region),
        cmocka_unit_test(caches_say_how_long_rings_are),
        cmocka_unit_test(less_memory_makes_shorter_rings),
    };
    return cmocka_run_group_tests(tests, map, unmap);
}
