/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef TESTS_UNIT_FAMILY_LAB_H
#define TESTS_UNIT_FAMILY_LAB_H

#include <elf.h>

#include "bin/pm/family.h"
#include "lib/base/strv.h"

/* A folder of files made for a test: programs, libraries, scripts. PATH is its
 * bin, the loader's path its lib. */
struct lab {
    char dir[64];
    struct hb_strv env;
};

/* What an ELF64 file of this machine holds. `path_tag` is DT_RPATH or
 * DT_RUNPATH. */
struct image {
    const char *needed[4];
    Elf64_Sxword path_tag;
    const char *path;
    const char *text;
    int big_endian;
};

int family_setup(void **state);
int family_teardown(void **state);
void text_file(struct lab *lab, const char *name, const char *text);
void elf_file(struct lab *lab, const char *name, struct image im);

#define ELF(lab, name, ...) \
    elf_file((lab), (name), (struct image){__VA_ARGS__})

/* Open MPI 4 or MPICH on the loader's path. */
void openmpi4(struct lab *lab);
void mpich(struct lab *lab);

/* The choice for a command line, whose words are parted by single blanks. */
struct hb_family_choice detect(struct lab *lab, const char *line);
void assert_choice(struct hb_family_choice c, enum hb_pm_family family,
                   enum hb_mpi_flavour flavour);

#define IN_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown((test), family_setup, family_teardown)

#endif
