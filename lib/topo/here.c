/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Looks at this host, or at what an earlier look has left.
 *
 * The cache is one file for each {boot, control groups, CPU set}, named by a
 * hash of them and holding them in full, so that a collision is noticed:
 *
 *   blob identity, blob topology (describe.c), blob XML
 *
 * It lies in a directory that only this user may enter; a directory that is a
 * link, or somebody else's, is not used. A file is written beside and renamed,
 * so a reader sees a whole one; whatever is wrong with it, hwloc is asked. In
 * /dev/shm it ends with the pod or the boot, as the facts in it do. */

#include "config.h"

#include "lib/topo/here.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"
#include "lib/topo/gpu_share.h"

#define CACHE_BYTES_MAX (8u << 20)
#define XML_BYTES_MAX (4u << 20)
#define IDENTITY_MAX (256u << 10)
#define PROC_FILE_MAX (64u << 10)
/* Where devices show, and looking for them is worth its time. */
#define NICS "/sys/class/infiniband"
#define RENDERS "/dev/dri"
#define NVIDIA "/proc/driver/nvidia/gpus"

void hb_here_clear(struct hb_here *here)
{
    hb_topo_destroy(here->topo);
    free(here->xml);
    memset(here, 0, sizeof(*here));
}

static void put_file(struct hb_str *o, const char *path)
{
    char *text = NULL;
    size_t len;

    if (hb_file_read(path, PROC_FILE_MAX, &text, &len, NULL) >= 0) {
        hb_str_put(o, text);
    }
    free(text);
    hb_str_putc(o, '\n');
}

static int has_devices(void)
{
    return access(NICS, F_OK) == 0 || access(RENDERS, F_OK) == 0 ||
           access(NVIDIA, F_OK) == 0;
}

/* What the topology depends on; free() it. */
static char *identity(const struct hb_cpus *cpus, int devices)
{
    struct hb_str o = HB_STR_INIT;
    char *list = hb_cpus_text(cpus);

    hb_str_putf(&o, "%s %d %s\n", PACKAGE_VERSION, devices, list);
    put_file(&o, "/proc/sys/kernel/random/boot_id");
    put_file(&o, "/proc/self/cgroup");
    put_file(&o, "/sys/devices/system/cpu/online");
    free(list);
    return hb_str_steal(&o);
}

/* FNV-1a; files of one directory need no better. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return h;
}

/* The private directory, open; -1: there is none. */
static int open_cache(void)
{
    const char *given = getenv("HPCBOOT_TOPO_CACHE");
    struct stat st;
    char *path;
    int fd;

    if (given != NULL && (given[0] != '/' || strcmp(given, "off") == 0)) {
        return -1;
    }
    path = given != NULL ? hb_xstrdup(given)
                         : hb_xasprintf("/dev/shm/hpcboot-topo-%u",
                                        (unsigned)geteuid());
    (void)mkdir(path, S_IRWXU);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    free(path);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
                    (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)) {
        hb_fd_close(&fd);
    }
    return fd;
}

static int read_all(int dir, const char *name, struct hb_buf *out)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    char *room;
    ssize_t n;

    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > CACHE_BYTES_MAX ||
        (room = hb_buf_reserve(out, (size_t)st.st_size)) == NULL) {
        hb_fd_close(&fd);
        return -1;
    }
    n = read(fd, room, (size_t)st.st_size);
    hb_fd_close(&fd);
    if (n != st.st_size) {
        return -1;
    }
    hb_buf_added(out, (size_t)n);
    return 0;
}

static int from_bytes(struct hb_buf *in, const char *who, struct hb_here *here)
{
    struct hb_bytes id = hb_buf_get_blob(in, IDENTITY_MAX);
    struct hb_bytes topo = hb_buf_get_blob(in, HB_TOPO_BYTES_MAX);
    struct hb_bytes xml = hb_buf_get_blob(in, XML_BYTES_MAX);
    struct hb_buf view;

    if (hb_buf_failed(in) || hb_buf_left(in) > 0 || id.len != strlen(who) ||
        memcmp(id.data, who, id.len) != 0) {
        return -1;
    }
    hb_buf_view(&view, topo.data, topo.len);
    if (hb_topo_decode(&here->topo, &view, NULL) < 0) {
        return -1;
    }
    here->xml = hb_xstrndup(xml.data, xml.len);
    here->from_cache = 1;
    return 0;
}

static int recall(int dir, const char *name, const char *who,
                  struct hb_here *here)
{
    struct hb_buf b;
    int rc;

    hb_buf_init(&b, CACHE_BYTES_MAX);
    rc = read_all(dir, name, &b);
    if (rc == 0) {
        rc = from_bytes(&b, who, here);
    }
    hb_buf_destroy(&b);
    return rc;
}

/* What cannot be kept is looked at again next time. */
static void remember(int dir, const char *name, const char *who,
                     const struct hb_here *here)
{
    struct hb_buf topo, all;
    char *beside = hb_xasprintf("%s.%ld", name, (long)getpid());
    int fd = openat(dir, beside,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);

    hb_buf_init(&topo, HB_TOPO_BYTES_MAX);
    hb_buf_init(&all, CACHE_BYTES_MAX);
    hb_topo_encode(here->topo, &topo);
    hb_buf_put_blob(&all, who, strlen(who));
    hb_buf_put_blob(&all, topo.data, topo.len);
    hb_buf_put_blob(&all, here->xml, strlen(here->xml));
    if (fd >= 0 &&
        (hb_buf_failed(&topo) || hb_buf_failed(&all) ||
         all.len > hb_fd_file_most() ||
         hb_fd_write_all(fd, all.data, all.len, NULL) < 0 ||
         renameat(dir, beside, dir, name) != 0)) {
        (void)unlinkat(dir, beside, 0);
    }
    hb_fd_close(&fd);
    hb_buf_destroy(&topo);
    hb_buf_destroy(&all);
    free(beside);
}

int hb_here_load(struct hb_here *here, struct hpcboot_error *err)
{
    int64_t begun = hb_now_ns();
    struct hb_cpus cpus;
    struct hb_topo_request req = {
        .allowed = &cpus, .devices = has_devices(), .xml_out = &here->xml,
    };
    char name[32], *who;
    int rc = here->topo != NULL ? 1 : hb_allowed_cpus("", &cpus, err), dir;

    if (rc != HPCBOOT_OK) {
        return rc < 0 ? rc : HPCBOOT_OK;
    }
    who = identity(&cpus, req.devices);
    snprintf(name, sizeof(name), "%016llx", (unsigned long long)hash(who));
    dir = open_cache();
    if (dir < 0 || recall(dir, name, who, here) != 0) {
        rc = hb_topo_load(&req, &here->topo, err);
        if (rc >= 0 && dir >= 0) {
            remember(dir, name, who, here);
        }
    }
    hb_fd_close(&dir);
    free(who);
    if (rc >= 0) {
        hb_gpus_cut(here->topo, "");
        here->us = (uint32_t)((hb_now_ns() - begun) / 1000);
    }
    return rc;
}
