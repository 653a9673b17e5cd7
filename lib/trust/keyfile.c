/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Finding and reading private keys, whatever they are called and whatever mode
 * a mount gave them. Only the wrapping is looked at here; the key itself is
 * decoded by whoever uses it. Text around the PEM block (bag attributes, EC
 * parameters, blanks that a template put in front) is cut off, since not every
 * decoder skips it. */
#include "config.h"

#include "lib/trust/keyfile.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define BEGIN "-----BEGIN "
#define END "-----END "
#define TAIL "PRIVATE KEY-----"
#define DIR_ENTRIES_MAX 512 /* looked at; a key directory has a dozen */
#define MOUNTS_MAX_BYTES (1u << 20)

/* A new-format key begins with these bytes in base64: "openssh-key-v1\0"; one
 * that is not encrypted goes on with the cipher "none". */
#define OPENSSH_MAGIC "b3BlbnNzaC1rZXktdjEA"
#define OPENSSH_PLAIN OPENSSH_MAGIC "AAAABG5vbmU"

struct label {
    const char *text; /* between BEGIN and PRIVATE KEY */
    enum hb_key_form form;
    int encrypted;
};

static const struct label labels[] = {
    {"RSA ", HB_KEY_PKCS1, 0},  {"EC ", HB_KEY_SEC1, 0},
    {"DSA ", HB_KEY_DSA, 0},    {"", HB_KEY_PKCS8, 0},
    {"ENCRYPTED ", HB_KEY_PKCS8, 1}, {"OPENSSH ", HB_KEY_OPENSSH, 0},
};

static const char *find(const char *from, const char *end, const char *what)
{
    return memmem(from, (size_t)(end - from), what, strlen(what));
}

/* The label of a BEGIN line whose text starts at p, or NULL. */
static const struct label *find_label(const char *p, const char *end)
{
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        size_t len = strlen(labels[i].text);

        if ((size_t)(end - p) >= len + strlen(TAIL)
            && memcmp(p, labels[i].text, len) == 0
            && memcmp(p + len, TAIL, strlen(TAIL)) == 0) {
            return &labels[i];
        }
    }
    return NULL;
}

static int begins_with(const char *body, const char *end, const char *what)
{
    return (size_t)(end - body) >= strlen(what)
        && memcmp(body, what, strlen(what)) == 0;
}

static int block_encrypted(const struct label *label, const char *body,
                           const char *end)
{
    if (label->form == HB_KEY_OPENSSH) {
        while (body < end && strchr(" \t\r\n", *body)) {
            body++;
        }
        return begins_with(body, end, OPENSSH_MAGIC)
            && !begins_with(body, end, OPENSSH_PLAIN);
    }
    return label->encrypted || find(body, end, "ENCRYPTED") != NULL;
}

enum hb_key_form hb_key_sniff(const char *text, size_t len,
                              struct hb_key_sniff *out)
{
    const char *end = text + len, *p = text;

    memset(out, 0, sizeof *out);
    while ((p = find(p, end, BEGIN)) != NULL) {
        const char *name = p + strlen(BEGIN);
        const struct label *label = find_label(name, end);
        const char *body, *stop;

        if (!label) {
            p = name;
            continue;
        }
        body = name + strlen(label->text) + strlen(TAIL);
        stop = find(body, end, END);
        if (!stop) {
            break;
        }
        out->encrypted = block_encrypted(label, body, stop);
        out->begin = (size_t)(p - text);
        stop = memchr(stop, '\n', (size_t)(end - stop));
        out->end = stop ? (size_t)(stop - text) : len;
        out->form = label->form;
        break;
    }
    return out->form;
}

void hb_key_text_free(char *pem)
{
    if (pem) {
        explicit_bzero(pem, strlen(pem));
        free(pem);
    }
}

/* The block with every line end as a single one, and without the blanks at
 * the ends of lines that an editor or a template left there. */
static char *normalise(const char *text, size_t len)
{
    char *out = hb_xmalloc(len + 2);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            while (n > 0 && strchr(" \t\r", out[n - 1])) {
                n--;
            }
        }
        if (text[i] != '\0') {
            out[n++] = text[i];
        }
    }
    while (n > 0 && strchr(" \t\r\n", out[n - 1])) {
        n--;
    }
    out[n++] = '\n';
    out[n] = '\0';
    return out;
}

/* A key that went through a variable or a template as one line. */
static int has_spelt_line_ends(const char *p, const char *end)
{
    return find(p, end, "\n") == NULL && find(p, end, TAIL "\\n") != NULL;
}

static int read_key(const char *path, int placed, char **pem_out,
                    struct hb_key_sniff *out, struct hpcboot_error *err)
{
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    int rc;

    if (stat(path, &st) != 0) {
        int code = errno == ENOENT || errno == ENOTDIR ? HPCBOOT_ERR_NOT_FOUND
                                                       : HPCBOOT_ERR_SYSTEM;

        return hb_fail_errno(err, code, "cannot read the key %s", path);
    }
    if (!S_ISREG(st.st_mode) || st.st_size > HB_KEY_FILE_MAX_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s is not a key file", path);
    }
    rc = (placed ? hb_file_read_placed : hb_file_read)(
        path, HB_KEY_FILE_MAX_BYTES, &text, &len, err);
    if (rc < 0) {
        return rc;
    }
    if (hb_key_sniff(text, len, out) == HB_KEY_NONE) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s holds no private key", path);
    } else if (has_spelt_line_ends(text + out->begin, text + out->end)) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s has the two characters \\n "
                     "where its lines end: put real line ends there", path);
    } else {
        *pem_out = normalise(text + out->begin, out->end - out->begin);
        rc = HPCBOOT_OK;
    }
    explicit_bzero(text, len);
    free(text);
    return rc;
}

int hb_key_read(const char *path, char **pem_out, struct hb_key_sniff *out,
                struct hpcboot_error *err)
{
    return read_key(path, 0, pem_out, out, err);
}

int hb_key_read_placed(const char *path, char **pem_out,
                       struct hb_key_sniff *out, struct hpcboot_error *err)
{
    return read_key(path, 1, pem_out, out, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_key_file(const char *path)
{
    struct hb_key_sniff sniff;
    char *pem = NULL;
    int found = hb_key_read(path, &pem, &sniff, NULL) == HPCBOOT_OK;

    hb_key_text_free(pem);
    return found;
}

/* The files of a directory, sorted. */
static void list_files(const char *dir, struct hb_strv *out)
{
    struct hb_strv names = HB_STRV_INIT;
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && names.n < DIR_ENTRIES_MAX && (entry = readdir(d)) != NULL) {
        /* Names with a dot in front are a mount's own: ..data and the like. */
        if (entry->d_name[0] != '.') {
            hb_strv_pushf(&names, "%s/%s", dir, entry->d_name);
        }
    }
    if (d) {
        closedir(d);
    }
    if (names.n > 1) {
        qsort(names.v, names.n, sizeof names.v[0], by_name);
    }
    *out = names;
}

void hb_key_find(const char *dir, struct hb_strv *paths_out)
{
    struct hb_strv names;

    list_files(dir, &names);
    for (size_t i = 0; i < names.n && paths_out->n < HB_KEYS_PER_DIR; i++) {
        if (is_key_file(names.v[i])) {
            hb_strv_push(paths_out, names.v[i]);
        }
    }
    hb_strv_destroy(&names);
}

/* Its place is the fifth word of a line. */
static int is_mount(const char *dir)
{
    char *text = NULL, *save = NULL, place[PATH_MAX];
    size_t len = 0;
    int yes = 0;

    if (hb_file_read("/proc/self/mountinfo", MOUNTS_MAX_BYTES, &text, &len,
                     NULL) < 0) {
        return 0;
    }
    for (char *line = strtok_r(text, "\n", &save); line && !yes;
         line = strtok_r(NULL, "\n", &save)) {
        yes = sscanf(line, "%*s %*s %*s %*s %4095s", place) == 1;
        if (yes) {
            hb_unescape_octal(place);
            yes = hb_streq(place, dir);
        }
    }
    free(text);
    return yes;
}

/* As a Secret that is mounted to /root/.ssh is to whoever is not root. */
static int is_closed_mount(const char *dir, struct hpcboot_error *err)
{
    if (access(dir, R_OK | X_OK) == 0 || errno != EACCES || !is_mount(dir)) {
        return 0;
    }
    hb_fail(err, HPCBOOT_ERR_AUTH, "the volume at %s is out of reach for uid "
            "%u (it or a folder above it is closed): mount it to an open "
            "place, as /home/mpiuser/.ssh (sshAuthMountPath of an MPIJob)",
            dir, (unsigned)geteuid());
    return 1;
}

int hb_key_is_closed(const char *dir, struct hpcboot_error *err)
{
    struct hb_strv names;
    struct stat st;
    int closed = is_closed_mount(dir, err);

    list_files(dir, &names);
    for (size_t i = 0; i < names.n && !closed; i++) {
        const char *path = names.v[i];

        closed = stat(path, &st) == 0 && S_ISREG(st.st_mode)
            && access(path, R_OK) < 0 && errno == EACCES;
        if (closed) {
            hb_fail(err, HPCBOOT_ERR_AUTH, "%s belongs to uid %u with mode "
                    "%04o and uid %u cannot read it: set fsGroup to a group of "
                    "this user, or defaultMode 0444 for the volume", path,
                    (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
                    (unsigned)geteuid());
        }
    }
    hb_strv_destroy(&names);
    return closed;
}
