/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See family_lab.h. An ELF file made here is a header, two segments, a dynamic
 * section, its strings, and any text behind. */
#include "config.h"

#include "tests/unit/family_lab.h"

#include <elf.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

int family_setup(void **state)
{
    struct lab *lab = hb_xcalloc(1, sizeof(*lab));

    snprintf(lab->dir, sizeof(lab->dir), "/tmp/hb-family.XXXXXX");
    if (mkdtemp(lab->dir) == NULL) {
        return -1;
    }
    hb_env_setf(&lab->env, "PATH", "%s/bin", lab->dir);
    hb_env_setf(&lab->env, "LD_LIBRARY_PATH", "%s/lib", lab->dir);
    hb_env_setf(&lab->env, "HOME", "%s/home", lab->dir);
    *state = lab;
    return 0;
}

int family_teardown(void **state)
{
    struct lab *lab = *state;

    nftw(lab->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    hb_strv_destroy(&lab->env);
    free(lab);
    return 0;
}

/* Makes the folders of a path below the lab and opens the file. */
static FILE *create(struct lab *lab, const char *name, mode_t mode)
{
    char *path = hb_xasprintf("%s/%s", lab->dir, name);
    FILE *f;

    for (char *p = path + strlen(lab->dir) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(path, 0755);
        *p = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
    return f;
}

void text_file(struct lab *lab, const char *name, const char *text)
{
    FILE *f = create(lab, name, 0755);

    fputs(text, f);
    fclose(f);
}

static uint64_t order(const struct image *im, uint64_t v, int bytes)
{
    uint64_t out = 0;

    if (!im->big_endian) {
        return v;
    }
    for (int i = 0; i < bytes; i++) {
        out = out << 8 | (v >> (8 * i) & 0xff);
    }
    return out;
}

/* Where the next one goes. */
static size_t put_string(char *strings, size_t size, size_t at,
                         const char *text)
{
    size_t len = strlen(text) + 1;

    assert_true(len <= size - at);
    memcpy(strings + at, text, len);
    return at + len;
}

void elf_file(struct lab *lab, const char *name, struct image im)
{
    FILE *f = create(lab, name, 0755);
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
                                im.big_endian ? ELFDATA2MSB : ELFDATA2LSB}};
    Elf64_Phdr p[2] = {{0}, {0}};
    Elf64_Dyn dyn[16] = {{0}};
    char strings[1024] = "";
    size_t at = 1, n = 0, strings_at = sizeof(h) + sizeof(p) + sizeof(dyn);

    for (int i = 0; i < 4 && im.needed[i] != NULL; i++) {
        dyn[n].d_tag = DT_NEEDED;
        dyn[n++].d_un.d_val = at;
        at = put_string(strings, sizeof(strings), at, im.needed[i]);
    }
    if (im.path != NULL) {
        dyn[n].d_tag = im.path_tag;
        dyn[n++].d_un.d_val = at;
        at = put_string(strings, sizeof(strings), at, im.path);
    }
    dyn[n].d_tag = DT_STRTAB;
    dyn[n++].d_un.d_val = 0x1000 + strings_at;
    dyn[n].d_tag = DT_STRSZ;
    dyn[n++].d_un.d_val = at;
    for (size_t i = 0; i < 16; i++) {
        dyn[i].d_tag = (Elf64_Sxword)order(&im, (uint64_t)dyn[i].d_tag, 8);
        dyn[i].d_un.d_val = order(&im, dyn[i].d_un.d_val, 8);
    }
    h.e_machine = (Elf64_Half)order(&im, EM_X86_64, 2);
    h.e_phoff = order(&im, sizeof(h), 8);
    h.e_phnum = (Elf64_Half)order(&im, 2, 2);
    h.e_phentsize = (Elf64_Half)order(&im, sizeof(p[0]), 2);
    p[0].p_type = (Elf64_Word)order(&im, PT_LOAD, 4);
    p[0].p_vaddr = order(&im, 0x1000, 8);
    p[0].p_filesz = order(&im, strings_at + sizeof(strings), 8);
    p[1].p_type = (Elf64_Word)order(&im, PT_DYNAMIC, 4);
    p[1].p_offset = order(&im, sizeof(h) + sizeof(p), 8);
    p[1].p_filesz = order(&im, sizeof(dyn), 8);
    fwrite(&h, sizeof(h), 1, f);
    fwrite(p, sizeof(p), 1, f);
    fwrite(dyn, sizeof(dyn), 1, f);
    fwrite(strings, sizeof(strings), 1, f);
    fputs(im.text != NULL ? im.text : "", f);
    fclose(f);
}

void openmpi4(struct lab *lab)
{
    ELF(lab, "lib/libmpi.so.40", .needed = {"libopen-rte.so.40"});
    ELF(lab, "lib/libopen-rte.so.40");
}

void mpich(struct lab *lab)
{
    ELF(lab, "lib/libmpi.so.12");
}

struct hb_family_choice detect(struct lab *lab, const char *line)
{
    struct hb_family_choice c;
    struct hb_strv argv = HB_STRV_INIT;
    char *copy = hb_xstrdup(line), *save = NULL;

    for (char *w = strtok_r(copy, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        hb_strv_push(&argv, w);
    }
    assert_int_equal(hb_family_detect(argv.v, lab->dir,
                                      hb_strv_view(&lab->env), &c, NULL), 0);
    assert_true(c.why[0] != '\0');
    hb_strv_destroy(&argv);
    free(copy);
    return c;
}

void assert_choice(struct hb_family_choice c, enum hb_pm_family family,
                   enum hb_mpi_flavour flavour)
{
    if (c.family != family || c.flavour != flavour || !c.certain) {
        print_error("%s\n", c.why);
    }
    assert_int_equal(c.family, family);
    assert_int_equal(c.flavour, flavour);
    assert_int_equal(c.certain, 1);
}
