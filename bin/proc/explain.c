/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Why a program could not be started, in words that lead to the repair.
 *
 * hb_proc_explain takes what the child reported, (stage, errno), and looks at
 * the same files the child looked at. One errno of exec stands for several
 * mistakes: ENOENT is a missing program, a missing interpreter, a carriage
 * return after "#!/bin/sh", a missing dynamic loader or a dead link. The file
 * may have changed meanwhile, so a hint is only given for what is seen.
 *
 * Runs in the parent after a failure; it may read a few files. */
#include "config.h"

#include "bin/proc/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bin/proc/search.h"
#include "lib/base/str.h"

/* An interpreter line is cut at 255 bytes by the kernel. */
#define HEAD_BYTES 256

/* Program headers looked at for the dynamic loader's name; real programs
 * have a dozen. */
#define MAX_PROGRAM_HEADERS 64

static const struct {
    int machine;
    const char *name; /* as uname -m has it */
} machines[] = {
    {EM_X86_64, "x86_64"},  {EM_386, "i686"},       {EM_AARCH64, "aarch64"},
    {EM_ARM, "armv7l"},     {EM_PPC64, "ppc64le"},  {EM_S390, "s390x"},
    {EM_RISCV, "riscv64"},
};

static const char *machine_name(int machine)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].machine == machine) {
            return machines[i].name;
        }
    }
    return "another machine";
}

/* The path as this process sees it; free() it. */
static char *absolute(const struct hb_proc_spec *spec, const char *path)
{
    if (path[0] == '/' || spec->wdir == NULL) {
        return hb_xstrdup(path);
    }
    return hb_xasprintf("%s/%s", spec->wdir, path);
}

/* The first path along the search where something is, or NULL; free() it. */
static char *find_file(const struct hb_proc_spec *spec)
{
    struct hb_strv paths = HB_STRV_INIT;
    struct stat st;
    char *found = NULL;

    (spec->tries_wdir ? hb_search_program : hb_search_paths)(
        spec->file, spec->env, &paths);
    for (size_t i = 0; i < paths.n && found == NULL; i++) {
        found = absolute(spec, paths.v[i]);
        if (lstat(found, &st) < 0) {
            free(found);
            found = NULL;
        }
    }
    hb_strv_destroy(&paths);
    return found;
}

/* "#!/usr/bin/foo -x": is it the interpreter that is missing? */
static void hint_script(char *line, struct hb_str *hint)
{
    char *name = line + 2 + strspn(line + 2, " \t");
    int has_cr;

    name[strcspn(name, "\n")] = '\0';
    has_cr = strchr(name, '\r') != NULL;
    name[strcspn(name, " \t\r")] = '\0';
    if (name[0] == '\0') {
        hb_str_put(hint, "its first line names no interpreter");
    } else if (has_cr) {
        hb_str_putf(hint, "its first line ends with a carriage return; "
                    "convert the script to Unix line ends");
    } else if (access(name, X_OK) < 0) {
        hb_str_putf(hint, "its interpreter %s is not on this host", name);
    }
}

/* The dynamic loader a 64-bit program asks for; 0 when it names none. */
static int read_loader(int fd, const Elf64_Ehdr *head, char *name,
                       size_t name_size)
{
    Elf64_Phdr ph;

    for (int i = 0; i < head->e_phnum && i < MAX_PROGRAM_HEADERS; i++) {
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * sizeof(ph));

        if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph)) {
            return 0;
        }
        if (ph.p_type == PT_INTERP && ph.p_filesz < name_size) {
            ssize_t n = pread(fd, name, ph.p_filesz, (off_t)ph.p_offset);

            name[n > 0 ? n : 0] = '\0';
            return n > 0;
        }
    }
    return 0;
}

#define CUT_OFF "it is cut off: the file ends before what its header names; " \
                "copy or build it again"

static int is_cut_off(int fd, const Elf64_Ehdr *head)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (uint64_t)st.st_size <
               head->e_phoff + (uint64_t)head->e_phnum * head->e_phentsize;
}

static void hint_elf(int fd, const unsigned char *head, size_t len,
                     struct hb_str *hint)
{
    Elf64_Ehdr elf;
    struct utsname host;
    char loader[HEAD_BYTES];

    if (len < sizeof(elf)) { /* no program of 32 bits is that short, either */
        hb_str_put(hint, CUT_OFF);
        return;
    }
    if (uname(&host) < 0) {
        return;
    }
    memcpy(&elf, head, sizeof(elf));
    const char *built_for = machine_name(elf.e_machine);

    if (elf.e_type == ET_REL) {
        hb_str_put(hint, "it is an object file, not linked to a program; was "
                   "it compiled with -c?");
    } else if (!hb_streq(built_for, host.machine)) {
        hb_str_putf(hint, "it was built for %s, this host is %s", built_for,
                    host.machine);
    } else if (elf.e_ident[EI_CLASS] == ELFCLASS64
               && read_loader(fd, &elf, loader, sizeof(loader))
               && access(loader, X_OK) < 0) {
        hb_str_putf(hint, "its dynamic loader %s is not on this host; was it "
                    "built for another image?", loader);
    } else if (elf.e_ident[EI_CLASS] == ELFCLASS64 && is_cut_off(fd, &elf)) {
        hb_str_put(hint, CUT_OFF);
    }
}

/* What the file itself says. */
static void hint_content(const char *path, struct hb_str *hint)
{
    unsigned char head[HEAD_BYTES + 1] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0) {
        return;
    }
    n = read(fd, head, HEAD_BYTES);
    if (n > 2 && head[0] == '#' && head[1] == '!') {
        hint_script((char *)head, hint);
    } else if (n > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
        hint_elf(fd, head, (size_t)n, hint);
    } else if (n >= 0) {
        hb_str_put(hint, "it is neither a program nor a script");
    }
    close(fd);
}

static void name_hidden(const char *path, struct hb_str *hint)
{
    char *copy = hb_xstrdup(path), *rest = copy, *dir;
    const char *before = "; there may not be searched: ";

    while ((dir = strsep(&rest, ":")) != NULL) {
        if (access(dir, X_OK) < 0 && errno == EACCES) {
            hb_str_putf(hint, "%s%s", before, dir);
            before = ", ";
        }
    }
    free(copy);
}

/* mpirun_rsh -np 2 HOST HOST [NAME=VALUE ...] ./program: a name, and behind it
 * others up to a program that is there. */
static void name_hosts(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    char *const *word = spec->argv;

    while (*word != NULL && (*word)[0] != '-' && strchr(*word, '/') == NULL) {
        word++;
    }
    if (*word != NULL && word != spec->argv && (*word)[0] != '-' &&
        hb_search_is_program(*word, spec->wdir)) {
        hb_str_putf(hint, "if %s is a host and %s the program, name hosts "
                    "with -H, not before the program; ", spec->file, *word);
    }
}

static void hint_missing(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    const char *path = hb_search_env(spec->env, "PATH");

    if (strchr(spec->file, ' ') != NULL) {
        hb_str_put(hint, "with a blank in its name; arguments of a program are "
                   "words of their own, not of one quotation: ");
    }
    if (strchr(spec->file, '/') != NULL) {
        hb_str_put(hint, "there is no such file on this host");
        if (spec->file[0] != '/' && spec->wdir != NULL) {
            hb_str_putf(hint, ", seen from %s", spec->wdir);
        }
    } else {
        name_hosts(spec, hint); /* PATH may be longer than a message */
        hb_str_putf(hint, "it is not in this host's PATH%s%s",
                    path == NULL ? "" : *path != '\0' ? ", " :
                    ", which is empty", path != NULL ? path : "");
        if (spec->tries_wdir && spec->wdir != NULL) {
            hb_str_putf(hint, ", nor in %s", spec->wdir);
        }
        name_hidden(path != NULL ? path : "", hint);
    }
}

static void hint_enoent(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    char *path = find_file(spec);
    char target[PATH_MAX];
    ssize_t n;

    if (path == NULL) {
        hint_missing(spec, hint);
        return;
    }
    if (access(path, F_OK) < 0
        && (n = readlink(path, target, sizeof(target) - 1)) > 0) {
        target[n] = '\0';
        hb_str_putf(hint, "it is a link to %s, which is not on this host",
                    target);
    } else {
        hint_content(path, hint);
    }
    free(path);
}

static int is_object(const char *path)
{
    Elf64_Ehdr elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, &elf, sizeof(elf));

    if (fd >= 0) {
        close(fd);
    }
    return n == (ssize_t)sizeof(elf) &&
           memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_type == ET_REL;
}

static void hint_eacces(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    char *path = find_file(spec);
    struct stat st;
    struct statvfs fs;

    if (path == NULL || stat(path, &st) < 0) {
        hb_str_put(hint, "a directory on the way to it may not be searched");
    } else if (S_ISDIR(st.st_mode)) {
        hb_str_putf(hint, "%s is a directory", path);
    } else if (!S_ISREG(st.st_mode)) {
        hb_str_putf(hint, "%s is not a regular file", path);
    } else if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0) {
        hb_str_put(hint, "it lies on a file system mounted noexec");
    } else if (access(path, X_OK) < 0 && !is_object(path)) {
        hb_str_putf(hint, "%s is not executable; chmod +x", path);
    } else {
        hint_content(path, hint);
    }
    free(path);
}

static void hint_enoexec(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    char *path = find_file(spec);

    if (path != NULL) {
        hint_content(path, hint);
    }
    free(path);
}

static size_t strings_bytes(char *const *v, size_t *longest)
{
    size_t sum = 0;

    for (; v != NULL && *v != NULL; v++) {
        size_t len = strlen(*v) + 1;

        sum += len + sizeof(*v);
        *longest = len > *longest ? len : *longest;
    }
    return sum;
}

static void hint_e2big(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    size_t longest = 0;
    size_t args = strings_bytes(spec->argv, &longest);
    size_t env = strings_bytes(spec->env, &longest);

    hb_str_putf(hint, "arguments take %zu bytes and the environment %zu; the "
                "limit is a quarter of the stack limit for all, and 131072 "
                "for one (the longest has %zu)", args, env, longest);
}

static void hint_busy(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "somebody still has it open for writing");
}

static void hint_processes(const struct hb_proc_spec *spec,
                           struct hb_str *hint)
{
    hb_str_put(hint, "the limit on processes is reached (ulimit -u, or "
               "pids.max of the container)");
}

static void hint_memory(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "this host or container has no memory left");
}

static void hint_fds(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    struct rlimit most = {0};

    hb_str_put(hint, "no file descriptors are left; raise ulimit -n");
    if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
        hb_str_putf(hint, ", which is %llu",
                    (unsigned long long)most.rlim_cur);
    }
}

static void hint_cpus(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "the CPUs chosen for it are not all in the CPU set of "
               "this container; --bind-to none starts it unbound");
}

static void hint_raise(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "raising a limit above the hard limit needs privileges");
}

static void hint_wdir(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "it is not on this host; create it or name another by "
               "--wdir");
}

static void hint_nodes(const struct hb_proc_spec *spec, struct hb_str *hint)
{
    hb_str_put(hint, "this container may not have memory of the NUMA nodes "
               "of its CPUs; --mem-bind preferred starts it all the same");
}

static void hint_wdir_access(const struct hb_proc_spec *spec,
                             struct hb_str *hint)
{
    hb_str_putf(hint, "user %u may not enter it", (unsigned)geteuid());
}

static const struct {
    enum hb_proc_stage stage;
    int sys_errno;
    void (*give)(const struct hb_proc_spec *spec, struct hb_str *hint);
} hints[] = {
    {HB_PROC_FORK, EAGAIN, hint_processes},
    {HB_PROC_FORK, ENOMEM, hint_memory},
    {HB_PROC_STDIO, EMFILE, hint_fds},
    {HB_PROC_STDIO, ENFILE, hint_fds},
    {HB_PROC_STDIO, EINVAL, hint_fds}, /* a number above the limit */
    {HB_PROC_LIMITS, EPERM, hint_raise},
    {HB_PROC_BIND, ENXIO, hint_cpus},
    {HB_PROC_BIND, EINVAL, hint_cpus},
    {HB_PROC_MEMORY, EINVAL, hint_nodes},
    {HB_PROC_CHDIR, ENOENT, hint_wdir},
    {HB_PROC_CHDIR, EACCES, hint_wdir_access},
    {HB_PROC_EXEC, ENOENT, hint_enoent},
    {HB_PROC_EXEC, ENOTDIR, hint_missing},
    {HB_PROC_EXEC, EACCES, hint_eacces},
    {HB_PROC_EXEC, ENOEXEC, hint_enoexec},
    {HB_PROC_EXEC, E2BIG, hint_e2big},
    {HB_PROC_EXEC, ETXTBSY, hint_busy},
    {HB_PROC_EXEC, EAGAIN, hint_processes},
    {HB_PROC_EXEC, ENOMEM, hint_memory},
};

/* Of names longer than this the beginning is shown, so that the reason behind
 * them is not cut off. */
#define SHOWN_BYTES 120

static char *shown(const char *name)
{
    return hb_xasprintf("%.*s%s", SHOWN_BYTES, name,
                        strlen(name) > SHOWN_BYTES ? "..." : "");
}

/* What the system calls wrong is the number of a descriptor, and that is above
 * the limit. */
static int reason_of(enum hb_proc_stage stage, int sys_errno)
{
    return stage == HB_PROC_STDIO && sys_errno == EINVAL ? EMFILE : sys_errno;
}

void hb_proc_explain(const struct hb_proc_spec *spec, enum hb_proc_stage stage,
                     int sys_errno, struct hpcboot_error *err)
{
    int is_dir = stage == HB_PROC_CHDIR && spec->wdir != NULL;
    char *file = shown(spec->file), *dir = shown(is_dir ? spec->wdir : "");
    struct hb_str hint = HB_STR_INIT;

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (hints[i].stage == stage && hints[i].sys_errno == sys_errno) {
            hints[i].give(spec, &hint);
            break;
        }
    }
    hb_fail(err, HPCBOOT_ERR_SPAWN, "cannot start %s: %s%s%s: %s%s%s%s",
            file, hb_proc_stage_name(stage), is_dir ? " to " : "", dir,
            strerror(reason_of(stage, sys_errno)), hint.len ? " (" : "",
            hb_str_text(&hint), hint.len ? ")" : "");
    if (err != NULL) {
        err->sys_errno = reason_of(stage, sys_errno);
    }
    free(file);
    free(dir);
    hb_str_destroy(&hint);
}
