/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* GPUs counted in made-up /dev and /sys trees. */

#include "config.h"

#include "lib/topo/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/tree.h"

static char root[256];

static int setup(void **state)
{
    tree_create(root, sizeof(root));
    return 0;
}

static int teardown(void **state)
{
    tree_remove(root);
    return 0;
}

static void assert_gpus(char *const *env, uint32_t n, const char *origin)
{
    struct hb_gpus gpus;

    hb_gpus_count(root, env, &gpus);
    assert_int_equal(gpus.n, n);
    assert_string_equal(gpus.origin, origin);
}

static void a_host_without_gpus_has_none(void **state)
{
    assert_gpus(NULL, 0, "no GPU in /dev");
}

static void nvidia_devices_are_counted(void **state)
{
    tree_write(root, "dev/nvidia0", "");
    tree_write(root, "dev/nvidia3", "");
    tree_write(root, "dev/nvidiactl", "");
    tree_write(root, "dev/nvidia-uvm", "");
    tree_write(root, "dev/nvidia-caps/nvidia-cap1", "");
    assert_gpus(NULL, 2, "2 NVIDIA GPUs in /dev");
}

static void parts_of_a_gpu_are_counted_by_the_variable(void **state)
{
    static char *const env[] = {
        (char *)"NVIDIA_VISIBLE_DEVICES=MIG-a-1,MIG-a-2,MIG-b-1", NULL};

    tree_write(root, "dev/nvidia0", "");
    assert_gpus(env, 3, "3 NVIDIA GPUs in NVIDIA_VISIBLE_DEVICES");
}

static void whole_gpus_of_the_variable_are_those_in_dev(void **state)
{
    static char *const env[] = {(char *)"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b",
                                NULL};
    static char *const all[] = {(char *)"NVIDIA_VISIBLE_DEVICES=all", NULL};

    tree_write(root, "dev/nvidia0", "");
    assert_gpus(env, 1, "1 NVIDIA GPU in /dev");
    assert_gpus(all, 1, "1 NVIDIA GPU in /dev");
}

static void a_batch_systems_share_lowers_the_number(void **state)
{
    static char *const two[] = {(char *)"CUDA_VISIBLE_DEVICES=0,2", NULL};
    static char *const none[] = {(char *)"CUDA_VISIBLE_DEVICES=", NULL};
    static char *const cut[] = {(char *)"CUDA_VISIBLE_DEVICES=1,-1,2", NULL};
    static char *const more[] = {(char *)"CUDA_VISIBLE_DEVICES=0,1,2,3,4",
                                 NULL};

    for (int i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof(path), "dev/nvidia%d", i);
        tree_write(root, path, "");
    }
    assert_gpus(two, 2, "2 NVIDIA GPUs in CUDA_VISIBLE_DEVICES");
    assert_gpus(none, 0, "0 NVIDIA GPUs in CUDA_VISIBLE_DEVICES");
    assert_gpus(cut, 1, "1 NVIDIA GPU in CUDA_VISIBLE_DEVICES");
    assert_gpus(more, 4, "4 NVIDIA GPUs in /dev");
}

#define NODES "sys/class/kfd/kfd/topology/nodes/"

static void amd_nodes_with_a_device_are_counted(void **state)
{
    tree_write(root, NODES "0/properties",
               "cpu_cores_count 64\nsimd_count 0\ndrm_render_minor 0\n");
    tree_write(root, NODES "1/properties",
               "simd_count 416\ndrm_render_minor 128\n");
    tree_write(root, NODES "2/properties",
               "simd_count 416\ndrm_render_minor 129\n");
    tree_write(root, NODES "3/properties", "garbage");
    tree_write(root, "dev/dri/renderD129", "");
    assert_gpus(NULL, 1, "1 AMD GPU in /dev");
}

static void intel_gpus_without_a_screen_are_counted(void **state)
{
    tree_write(root, "dev/dri/renderD128", "");
    tree_write(root, "dev/dri/renderD129", "");
    tree_write(root, "dev/dri/card0", "");
    tree_write(root, "sys/class/drm/renderD128/device/vendor", "0x8086\n");
    tree_write(root, "sys/class/drm/renderD128/device/class", "0x038000\n");
    tree_write(root, "sys/class/drm/renderD129/device/vendor", "0x8086\n");
    tree_write(root, "sys/class/drm/renderD129/device/class", "0x030000\n");
    assert_gpus(NULL, 1, "1 Intel GPU in /dev");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_host_without_gpus_has_none),
        T(nvidia_devices_are_counted),
        T(parts_of_a_gpu_are_counted_by_the_variable),
        T(whole_gpus_of_the_variable_are_those_in_dev),
        T(a_batch_systems_share_lowers_the_number),
        T(amd_nodes_with_a_device_are_counted),
        T(intel_gpus_without_a_screen_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
