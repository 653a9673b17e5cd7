/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Which MPI an ELF file links: the libraries it needs are walked breadth
 * first, as the dynamic linker would load them, until one has the name of an
 * MPI library. Sonames tell the two big families apart; which member it is,
 * the library's own needs and texts say:
 *
 *     libmpi.so.40                 Open MPI 3 and later
 *     libmpi.so.12, libmpich.so.12 MPICH and those that keep its ABI
 *     libmpi_abi.so.0              the standard ABI, either of them
 *
 * Where no library is one, the file itself can be searched for variables that
 * only a process-management client reads: its MPI may be linked statically.
 *
 * It cannot see what a program loads later by itself (dlopen). */
#include "config.h"

#include "bin/pm/mpi_lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define OBJECTS_MAX 1024u /* libraries of one program */
#define OPENMPI5_MINOR 40u /* libmpi.so.40.40 and later are Open MPI 5 */

enum abi { ABI_NONE, ABI_OPENMPI, ABI_MPICH, ABI_EITHER };

static const struct {
    const char *prefix;
    enum abi abi;
} mpi_libraries[] = {
    {"libmpi.so.40", ABI_OPENMPI},
    {"libmpi_mpifh.so.", ABI_OPENMPI},
    {"libmpi_usempi", ABI_OPENMPI},
    {"libmpi_cxx.so.", ABI_OPENMPI},
    {"liboshmem.so.", ABI_OPENMPI},
    {"libmpich.so.", ABI_MPICH},
    {"libmpichfort.so.", ABI_MPICH},
    {"libmpichcxx.so.", ABI_MPICH},
    {"libmpifort.so.", ABI_MPICH},
    {"libmpicxx.so.", ABI_MPICH},
    {"libmpi.so", ABI_EITHER},
    {"libmpi_abi.so", ABI_EITHER},
};

static const struct {
    const char *prefix;
    enum hb_pm_family family;
} client_libraries[] = {
    {"libpmix.so", HB_PM_PMIX},
    {"libpmi2.so", HB_PM_PMI2},
    {"libpmi.so", HB_PM_PMI1},
};

struct object {
    char *path;
    struct hb_strv rpaths; /* of those that loaded it */
};

struct walk {
    const struct hb_place *place;
    struct hb_mpi_link *out;
    struct hb_strv seen; /* names already looked for */
    struct object *queue;
    size_t n, next;
};

static enum abi abi_of(const char *name)
{
    for (size_t i = 0; i < sizeof(mpi_libraries) / sizeof(mpi_libraries[0]);
         i++) {
        if (hb_starts_with(name, mpi_libraries[i].prefix)) {
            return mpi_libraries[i].abi;
        }
    }
    return ABI_NONE;
}

static enum hb_pm_family client_family(const struct hb_elf *elf)
{
    for (size_t k = 0;
         k < sizeof(client_libraries) / sizeof(client_libraries[0]); k++) {
        for (size_t i = 0; i < elf->needed.n; i++) {
            if (hb_starts_with(elf->needed.v[i], client_libraries[k].prefix)) {
                return client_libraries[k].family;
            }
        }
    }
    return HB_PM_NONE;
}

static int needs(const struct hb_elf *elf, const char *prefix)
{
    for (size_t i = 0; i < elf->needed.n; i++) {
        if (hb_starts_with(elf->needed.v[i], prefix)) {
            return 1;
        }
    }
    return 0;
}

/* ---- which member of a family ------------------------------------------ */

/* From the file that the soname leads to: libmpi.so.40.MINOR.PATCH. */
static int openmpi_minor(const char *path)
{
    char *real = path != NULL ? realpath(path, NULL) : NULL;
    const char *at = real != NULL ? strstr(real, ".so.40.") : NULL;
    int minor = -1;

    if (at != NULL) {
        minor = atoi(at + strlen(".so.40."));
    }
    free(real);
    return minor;
}

static enum hb_mpi_flavour openmpi_version(const struct hb_elf *elf,
                                           const char *path)
{
    int minor = openmpi_minor(path);

    if (needs(elf, "libopen-rte.so")) {
        return HB_MPI_OPENMPI4;
    }
    if (minor >= 0) {
        return minor >= (int)OPENMPI5_MINOR ? HB_MPI_OPENMPI5
                                            : HB_MPI_OPENMPI4;
    }
    return needs(elf, "libpmix.so") ? HB_MPI_OPENMPI5 : HB_MPI_OPENMPI4;
}

/* Only MPICH itself is installed as libmpich; that saves reading its 40 MB. */
static enum hb_mpi_flavour mpich_kind(const char *name, const char *path)
{
    static const char *const texts[] = {"I_MPI_FABRICS", "MVAPICH", NULL};
    static const enum hb_mpi_flavour kinds[] = {HB_MPI_INTEL, HB_MPI_MVAPICH};
    int found = hb_starts_with(name, "libmpich.so")
                    ? -1 : hb_file_scan(path, texts);

    return found >= 0 ? kinds[found] : HB_MPI_MPICH;
}

static void settle(struct hb_mpi_link *out, enum hb_mpi_flavour flavour,
                   enum hb_pm_family family)
{
    out->links_mpi = 1;
    out->flavour = flavour;
    out->family = family;
}

/* `path` NULL: the library is not on this host; then its name has to do. */
static void judge(struct hb_mpi_link *out, enum abi abi, const char *name,
                  const char *path)
{
    struct hb_elf elf;

    snprintf(out->what, sizeof(out->what), "%s", name);
    snprintf(out->where, sizeof(out->where), "%s", path != NULL ? path : "");
    if (path == NULL || hb_elf_open(&elf, path, NULL) < 0) {
        int open = abi == ABI_OPENMPI;

        settle(out, open ? HB_MPI_OPENMPI4 : HB_MPI_MPICH,
               open ? HB_PM_PMIX : HB_PM_PMI1);
        return;
    }
    if (abi == ABI_OPENMPI || needs(&elf, "libopen-pal.so") ||
        needs(&elf, "libopen-rte.so")) {
        settle(out, openmpi_version(&elf, path), HB_PM_PMIX);
    } else {
        enum hb_pm_family client = client_family(&elf);
        enum hb_mpi_flavour kind = mpich_kind(name, path);

        /* Without a client library it has PMI-1 built in; Intel's has it in
         * any case. */
        if (client == HB_PM_NONE || kind == HB_MPI_INTEL) {
            client = HB_PM_PMI1;
        }
        settle(out, kind, client);
    }
    hb_elf_destroy(&elf);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

void hb_mpi_link_library(struct hb_mpi_link *out, const char *path)
{
    const char *name = name_of(path);

    memset(out, 0, sizeof(*out));
    judge(out, abi_of(name), name, path);
}

/* Fortran and C++ bindings are a layer: the library below decides. */
static int is_layer(const char *name)
{
    return !hb_starts_with(name, "libmpi.so") &&
           !hb_starts_with(name, "libmpich.so") &&
           !hb_starts_with(name, "libmpi_abi.so");
}

int hb_mpi_is_library(const char *path)
{
    const char *name = name_of(path);

    return abi_of(name) != ABI_NONE && !is_layer(name);
}

/* ---- the walk ------------------------------------------------------------ */

static void enqueue(struct walk *w, char *path, const struct hb_strv *rpaths)
{
    struct object *o;

    if (w->n >= OBJECTS_MAX) {
        free(path);
        return;
    }
    w->queue = hb_xrealloc(w->queue, (w->n + 1) * sizeof(*w->queue));
    o = &w->queue[w->n++];
    memset(o, 0, sizeof(*o));
    o->path = path;
    if (rpaths != NULL) {
        hb_strv_extend(&o->rpaths, rpaths->v);
    }
}

static int seen(struct walk *w, const char *name)
{
    for (size_t i = 0; i < w->seen.n; i++) {
        if (strcmp(w->seen.v[i], name) == 0) {
            return 1;
        }
    }
    hb_strv_push(&w->seen, name);
    return 0;
}

/* Parts of the C library need nothing but each other, and every program that
 * could run here finds them. */
static int is_c_library(const char *name)
{
    static const char *const prefixes[] = {
        "libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "librt.so.",
        "ld-linux",
    };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (hb_starts_with(name, prefixes[i])) {
            return 1;
        }
    }
    return 0;
}

/* One needed library: 1 when it settles the question. */
static int visit(struct walk *w, const char *name, const struct hb_elf *user,
                 const char *user_path, const struct hb_strv *rpaths)
{
    enum abi abi = abi_of(name);
    char *path;

    if (seen(w, name)) {
        return 0;
    }
    if (is_c_library(name)) {
        w->out->n_libraries++;
        return 0;
    }
    path = hb_place_library(w->place, name, user, user_path, rpaths);
    if (abi != ABI_NONE && (path == NULL || !is_layer(name))) {
        judge(w->out, abi, name, path);
        free(path);
        return 1;
    }
    if (path == NULL) {
        if (w->out->missing[0] == '\0') {
            snprintf(w->out->missing, sizeof(w->out->missing), "%s", name);
        }
        return 0;
    }
    w->out->n_libraries++;
    enqueue(w, path, rpaths);
    return 0;
}

static int visit_all(struct walk *w, const struct hb_elf *elf,
                     struct object *o)
{
    int done = 0;

    if (elf->rpath != NULL && elf->runpath == NULL) {
        hb_place_rpath(elf->rpath, o->path, &o->rpaths);
    }
    for (size_t i = 0; !done && i < elf->needed.n; i++) {
        /* visit may move the queue, and with it what `o` points to. */
        struct object copy = *o;
        size_t self = (size_t)(o - w->queue);

        done = visit(w, elf->needed.v[i], elf, copy.path, &copy.rpaths);
        o = &w->queue[self];
    }
    return done;
}

/* A program that is a client without an MPI. */
static void by_client(struct hb_mpi_link *out, enum hb_pm_family client)
{
    out->family = client;
    snprintf(out->what, sizeof(out->what), "%s",
             client == HB_PM_PMIX   ? "libpmix.so"
             : client == HB_PM_PMI2 ? "libpmi2.so"
                                    : "libpmi.so");
}

int hb_mpi_link_inside(struct hb_mpi_link *out, const char *path)
{
    /* libhpcboot has the clients of all families in it, and under hbrun needs
     * none of their servers; Hydra's mpiexec names what it tells its ranks. */
    static const char *const no_mpi[] = {"HPCBOOT_SOCKET", "HYDRA_HOST_FILE",
                                         NULL};
    static const char *const texts[] = {"PMIX_NAMESPACE", "PMI_FD", NULL};
    static const enum hb_pm_family families[] = {HB_PM_PMIX, HB_PM_PMI1};
    int found = hb_file_scan(path, texts);

    if (found < 0 || hb_file_scan(path, no_mpi) >= 0) {
        return 0;
    }
    memset(out, 0, sizeof(*out));
    settle(out, HB_MPI_UNKNOWN, families[found]);
    snprintf(out->what, sizeof(out->what), "a client inside it, by its text %s",
             texts[found]);
    return 1;
}

int hb_mpi_link_find(struct hb_mpi_link *out, const struct hb_place *place,
                     const char *path, struct hpcboot_error *err)
{
    struct walk w = {.place = place, .out = out};
    enum hb_pm_family client = HB_PM_NONE;
    int rc = HPCBOOT_OK, done = 0;

    memset(out, 0, sizeof(*out));
    enqueue(&w, hb_xstrdup(path), NULL);
    while (rc == 0 && !done && w.next < w.n) {
        size_t at = w.next++;
        struct hb_elf elf;

        rc = hb_elf_open(&elf, w.queue[at].path, at == 0 ? err : NULL);
        if (rc < 0) {
            rc = at == 0 ? rc : HPCBOOT_OK;
            continue;
        }
        client = at == 0 ? client_family(&elf) : client;
        done = visit_all(&w, &elf, &w.queue[at]);
        hb_elf_destroy(&elf);
    }
    if (rc == 0 && !done && client != HB_PM_NONE) {
        by_client(out, client);
    }
    for (size_t i = 0; i < w.n; i++) {
        free(w.queue[i].path);
        hb_strv_destroy(&w.queue[i].rpaths);
    }
    free(w.queue);
    hb_strv_destroy(&w.seen);
    return rc;
}
