/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reading sysfs: many small files, each opened, read once and closed. Nothing
 * here fails; a kernel without a file and a slot without content look alike. */

#include "config.h"

#include "lib/fabric/sysread.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

/* The path from a format, into `path`. */
#define PATH_OF(path, root, fmt)                                             \
    do {                                                                     \
        int n_ = snprintf(path, sizeof path, "%s", root);                    \
        va_list ap_;                                                         \
        va_start(ap_, fmt);                                                  \
        if (n_ >= 0 && (size_t)n_ < sizeof path) {                           \
            vsnprintf(path + n_, sizeof path - (size_t)n_, fmt, ap_);        \
        }                                                                    \
        va_end(ap_);                                                         \
    } while (0)

static int read_line(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    out[0] = '\0';
    if (fd < 0) {
        return -1;
    }
    n = read(fd, out, size - 1);
    close(fd);
    if (n < 0) {
        return -1;
    }
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return (int)strlen(out);
}

int hb_sys_text(char *out, size_t size, const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];

    PATH_OF(path, root, fmt);
    return read_line(path, out, size);
}

int64_t hb_sys_number(int64_t otherwise, const char *root, const char *fmt,
                      ...)
{
    char path[PATH_MAX], text[64], *end;
    int64_t value;

    PATH_OF(path, root, fmt);
    if (read_line(path, text, sizeof text) <= 0) {
        return otherwise;
    }
    value = strtoll(text, &end, 0);
    return end == text ? otherwise : value;
}

void hb_sys_link(char *out, size_t size, const char *root, const char *fmt,
                 ...)
{
    char path[PATH_MAX], to[PATH_MAX], *slash;
    ssize_t n;

    PATH_OF(path, root, fmt);
    n = readlink(path, to, sizeof to - 1);
    to[n > 0 ? n : 0] = '\0';
    slash = strrchr(to, '/');
    hb_copy(out, size, slash != NULL ? slash + 1 : to);
}

void hb_copy(char *out, size_t size, const char *text)
{
    size_t n = strlen(text);

    n = n < size ? n : size - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* "eth2" before "eth10": the prefix as text, the rest as a number. */
static int by_number(const void *va, const void *vb)
{
    const char *a = *(char *const *)va, *b = *(char *const *)vb;

    for (; *a != '\0' && *b != '\0'; a++, b++) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long long x = strtoull(a, &end_a, 10);
            unsigned long long y = strtoull(b, &end_b, 10);
            if (x != y) {
                return x < y ? -1 : 1;
            }
            a = end_a - 1;
            b = end_b - 1;
        } else if (*a != *b) {
            break;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

void hb_sys_list(struct hb_strv *out, const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d;

    PATH_OF(path, root, fmt);
    d = opendir(path);
    while (d != NULL && (e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.') {
            hb_strv_push(out, e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    if (out->n > 1) {
        qsort(out->v, out->n, sizeof *out->v, by_number);
    }
}

int hb_sys_exists(const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];

    PATH_OF(path, root, fmt);
    return access(path, F_OK) == 0;
}

/* "0000:3b:00.0" */
static int is_pci(const char *s, size_t n)
{
    const char *form = "hhhh:hh:hh.h";

    for (size_t i = 0; i < n && form[i] != '\0'; i++) {
        if (form[i] == 'h' ? !isxdigit((unsigned char)s[i])
                           : s[i] != form[i]) {
            return 0;
        }
    }
    return n == strlen(form);
}

static int is_bridge(const char *s, size_t n)
{
    return n > 3 && strncmp(s, "pci", 3) == 0 &&
           isxdigit((unsigned char)s[3]);
}

/* A device below another one, as virtio's, is where the last PCI function of
 * its path is. What stands above that, from the host bridge on, is kept. */
static void pci_of(struct hb_place *out, const char *path)
{
    char real[PATH_MAX];
    const char *p = real, *begin = NULL;

    if (realpath(path, real) == NULL) {
        return;
    }
    for (; *p != '\0'; p += strcspn(p, "/")) {
        size_t n;

        p += strspn(p, "/");
        n = strcspn(p, "/");
        if (is_bridge(p, n) && begin == NULL) {
            begin = p;
        } else if (is_pci(p, n)) {
            snprintf(out->pci, sizeof out->pci, "%.*s", (int)n, p);
            snprintf(out->above, sizeof out->above, "%.*s",
                     begin != NULL ? (int)(p - begin) : 0,
                     begin != NULL ? begin : "");
        }
    }
    if (hb_ends_with(out->above, "/")) {
        out->above[strlen(out->above) - 1] = '\0';
    }
}

void hb_sys_place(struct hb_place *out, const char *root, const char *dir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s", root, dir);
    pci_of(out, path);
    if (out->pci[0] != '\0') {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", out->pci);
        dir = hb_sys_exists(root, "%s", path) ? path : dir;
    }
    out->numa = (int32_t)hb_sys_number(-1, root, "%s/numa_node", dir);
    hb_sys_text(out->cpus, sizeof out->cpus, root, "%s/local_cpulist", dir);
}
