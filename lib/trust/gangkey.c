/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Where a gang's key is and what in it is the secret.
 *
 * The secret is the bytes of the PEM body, not the numbers in them: every
 * member has the same file, and no decoder of five key formats is needed to
 * agree on it. A key that is written anew in another form is another secret
 * although it logs in as before; hpcboot-protocol(7) says so. */
#include "config.h"

#include "lib/trust/gangkey.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"

#define SECRET_MIN_BYTES 32 /* the smallest private key has 48 */

/* The body begins behind the words of the BEGIN line and behind RFC 1421
 * headers, which end with an empty line. Where its lines end, and whether they
 * do, is of no matter, as it is of none to libssh. */
static const char *body_of(const char *pem, const char **end_out)
{
    static const char tail[] = "PRIVATE KEY-----";
    const char *begin = strstr(pem, tail);
    const char *end = begin ? strstr(begin, "-----END ") : NULL;
    const char *headers;

    if (!end) {
        return NULL;
    }
    begin += sizeof tail - 1;
    headers = memchr(begin, ':', (size_t)(end - begin));
    if (headers) {
        begin = strstr(headers, "\n\n");
    }
    *end_out = end;
    return begin && begin < end ? begin : NULL;
}

int hb_gang_secret(const char *pem, const struct hb_key_sniff *sniff,
                   const char *path, struct hb_secret *out,
                   struct hpcboot_error *err)
{
    const char *end = NULL, *body = body_of(pem, &end);
    struct hb_secret s = {0};
    long n = -1;

    if (sniff->encrypted) {
        return hb_fail(err, HPCBOOT_ERR_AUTH, "%s is encrypted: a gang's key "
                       "has no passphrase", path);
    }
    if (body) {
        hb_secret_alloc(&s, HB_BASE64_ROOM((size_t)(end - body)));
        n = hb_base64_decode(body, (size_t)(end - body), s.data);
    }
    if (n < SECRET_MIN_BYTES) {
        hb_secret_free(&s);
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s: its private key is not "
                       "whole", path);
    }
    s.len = (size_t)n;
    *out = s;
    return HPCBOOT_OK;
}

int hb_gang_secret_read(const char *path, struct hb_secret *out,
                        struct hpcboot_error *err)
{
    struct hb_key_sniff sniff;
    char *pem = NULL;
    int rc = hb_key_read(path, &pem, &sniff, err);

    if (rc == HPCBOOT_OK) {
        rc = hb_gang_secret(pem, &sniff, path, out, err);
    }
    hb_key_text_free(pem);
    return rc;
}

int hb_is_mount_of_secret(const char *dir)
{
    char *data = hb_xasprintf("%s/..data", dir);
    int yes = access(data, F_OK) == 0;

    free(data);
    return yes;
}

static size_t folder_of(const char *path)
{
    const char *end = strrchr(path, '/');

    return end ? (size_t)(end - path) : 0;
}

int hb_has_left_its_mount(const char *path)
{
    char *dir = hb_xstrndup(path, folder_of(path));
    int gone = access(path, F_OK) < 0 && errno == ENOENT
        && hb_is_mount_of_secret(dir);

    free(dir);
    return gone;
}

int hb_is_beside(const char *path, const char *other)
{
    size_t len = folder_of(path);

    return len == folder_of(other) && memcmp(path, other, len) == 0;
}

static void add_once(struct hb_strv *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++) {
        if (hb_streq(list->v[i], text)) {
            return;
        }
    }
    hb_strv_push(list, text);
}

void hb_gang_key_dirs(const char *home, struct hb_strv *out)
{
    struct hb_strv dirs = HB_STRV_INIT;

    if (home && home[0] == '/') {
        hb_strv_pushf(&dirs, "%s/.ssh", home);
    }
    add_once(&dirs, "/root/.ssh");
    add_once(&dirs, "/home/mpiuser/.ssh");
    for (int mounted = 1; mounted >= 0; mounted--) {
        for (size_t i = 0; i < dirs.n; i++) {
            if (hb_is_mount_of_secret(dirs.v[i]) == mounted) {
                hb_strv_push(out, dirs.v[i]);
            }
        }
    }
    hb_strv_destroy(&dirs);
}

int hb_gang_dir_is_home(const char *dir, const char *home)
{
    size_t len = home ? strlen(home) : 0;

    return len > 0 && strncmp(dir, home, len) == 0
        && hb_streq(dir + len, "/.ssh");
}

int hb_gang_key_is_placed(const char *path, const char *named,
                          const char *home)
{
    const char *slash = strrchr(path, '/');
    char *dir = hb_xstrndup(path, slash ? (size_t)(slash - path) : 0);
    int placed = !named && !hb_gang_dir_is_home(dir, home);

    free(dir);
    return placed;
}

/* Which of them may be used where `dir` is not in this user's home. */
static void drop_others(struct hb_strv *paths)
{
    for (size_t i = 0; i < paths->n;) {
        struct hb_key_sniff sniff;
        struct hpcboot_error why = {0};
        char *pem = NULL;

        if (hb_key_read_placed(paths->v[i], &pem, &sniff, &why) >= 0) {
            i++;
        } else {
            hb_log(HB_WARN, "the key %s", why.text);
            hb_strv_remove(paths, i);
        }
        hb_key_text_free(pem);
    }
}

/* ssh's own name for a key goes before others; what it is called says nothing
 * about its kind. */
static void keys_in(const char *dir, int anyones, struct hb_strv *out)
{
    struct hb_strv found = HB_STRV_INIT;
    char *first = hb_xasprintf("%s/id_rsa", dir);

    hb_key_find(dir, &found);
    if (!anyones) {
        drop_others(&found);
    }
    for (size_t i = 0; i < found.n; i++) {
        if (hb_streq(found.v[i], first)) {
            hb_strv_push(out, first);
        }
    }
    for (size_t i = 0; i < found.n; i++) {
        if (!hb_streq(found.v[i], first)) {
            hb_strv_push(out, found.v[i]);
        }
    }
    hb_strv_destroy(&found);
    free(first);
}

void hb_gang_keys_find(const char *named, const char *home,
                       struct hb_strv *out)
{
    struct hb_strv dirs = HB_STRV_INIT;
    struct stat st;

    if (!named) {
        hb_gang_key_dirs(home, &dirs);
    } else if (stat(named, &st) == 0 && S_ISDIR(st.st_mode)) {
        hb_strv_push(&dirs, named);
    } else {
        hb_strv_push(out, named);
    }
    for (size_t i = 0; i < dirs.n; i++) {
        keys_in(dirs.v[i], named || hb_gang_dir_is_home(dirs.v[i], home),
                out);
    }
    hb_strv_destroy(&dirs);
}

int hb_host_label(const char *name, char out[HB_HOST_LABEL_MAX + 1])
{
    size_t n = strcspn(name, ".");
    int digits_only = 1;

    if (n == 0 || n > HB_HOST_LABEL_MAX || strchr(name, ':')) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        digits_only &= isdigit((unsigned char)name[i]) != 0;
        out[i] = (char)tolower((unsigned char)name[i]);
    }
    out[n] = '\0';
    /* 10.0.0.7, but not a host whose label is a number and stands alone. */
    return !(digits_only && name[n] == '.');
}
