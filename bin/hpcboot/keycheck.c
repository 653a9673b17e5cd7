/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What may be wrong with a key that is mounted into a pod. hbrun and
 * `hpcbootd serve` bear nearly all of it; ssh and sshd do not, and say little.
 * Each finding is a line: what it is, for whom it matters, how to mend it.
 *
 *   error    nobody can use the key
 *   warning  hpcboot can, ssh or sshd will not
 *   note     worth knowing */

#include "config.h"

#include "bin/hpcboot/keycheck.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/boot/boot_impl.h"
#include "bin/boot/keys.h"
#include "lib/base/fd.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"
#include "lib/trust/gangkey.h"

#define EXIT_ILL 1
#define FILE_MAX_BYTES 65536
#define MOUNTS_MAX_BYTES (1u << 20)

static int n_errors;

static void tell(const char *level, const char *fmt, ...) HB_PRINTF(2, 3);
static void tell(const char *level, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    printf("%s: %s\n", level, hb_str_text(&text));
    hb_str_destroy(&text);
    n_errors += hb_streq(level, "error");
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash ? hb_xstrdup(".") : slash == path ? hb_xstrdup("/")
        : hb_xstrndup(path, (size_t)(slash - path));
}

/* A Secret's volume is a tmpfs, and what it holds lies in a folder that is
 * named by its time, as "..2024_05_01_12_00_00.1": by subPath a part of that is
 * mounted. `line` is one of /proc/self/mountinfo and is cut up. */
static int is_part_of_secret(char *line, const char *path)
{
    char *type = strstr(line, " - "), *save = NULL;
    char *field[5]; /* id, parent, device, what is mounted, where */

    for (int i = 0; i < 5; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
    }
    return type != NULL && hb_starts_with(type + 3, "tmpfs ") &&
           field[4] != NULL && hb_streq(field[4], path) &&
           hb_starts_with(field[3], "/..");
}

static int is_subpath(const char *path)
{
    char *text = NULL, *real = realpath(path, NULL), *save = NULL;
    size_t len = 0;
    int yes = 0;

    if (real && hb_file_read("/proc/self/mountinfo", MOUNTS_MAX_BYTES, &text,
                             &len, NULL) >= 0) {
        for (char *line = strtok_r(text, "\n", &save); line && !yes;
             line = strtok_r(NULL, "\n", &save)) {
            yes = is_part_of_secret(line, real);
        }
    }
    free(text);
    free(real);
    return yes;
}

static void check_subpath(const char *path)
{
    if (is_subpath(path)) {
        tell("warning", "%s is mounted by subPath: it keeps the key it had "
             "when the container began, and a regenerated Secret (a restarted "
             "Volcano job) leaves old and new pods with different keys; mount "
             "the whole volume, or bring keys of your own", path);
    }
}

static void check_place(const char *dir)
{
    if (hb_is_mount_of_secret(dir)) {
        tell("note", "%s is a mounted volume; a Secret that changes is seen "
             "here within minutes, unless it is immutable", dir);
    } else {
        check_subpath(dir);
    }
}

/* --- the bytes of a file that holds no key in clear */

static const struct {
    const char *begin, *what, *mend;
} encodings[] = {
    {"\xef\xbb\xbf", "begins with a byte order mark",
     "save it without one"},
    {"\xff\xfe", "is UTF-16", "save it as ASCII"},
    {"LS0tLS1CRUdJTi", "is encoded in base64 twice",
     "put the text itself under stringData, or encode it once under data"},
    {"ssh-", "is a public key", "mount the private one"},
    {"ecdsa-", "is a public key", "mount the private one"},
    {"PuTTY-User-Key-File", "is a key of PuTTY",
     "puttygen KEY -O private-openssh -o id_key"},
};

static void check_bytes(const char *path)
{
    char *text = NULL;
    size_t len = 0;

    if (hb_file_read(path, FILE_MAX_BYTES, &text, &len, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (hb_starts_with(text, encodings[i].begin)) {
            tell("error", "%s %s: %s", path, encodings[i].what,
                 encodings[i].mend);
        }
    }
    if (len == 0) {
        tell("error", "%s is empty: is the Secret's entry named rightly?",
             path);
    }
    explicit_bzero(text, len);
    free(text);
}

/* Things that ssh minds in a file that hpcboot reads. */
static void check_layout(const char *path)
{
    char *text = NULL;
    size_t len = 0;

    if (hb_file_read(path, FILE_MAX_BYTES, &text, &len, NULL) < 0) {
        return;
    }
    if (memchr(text, '\r', len)) {
        tell("warning", "%s has the line ends of Windows, ssh says "
             "\"error in libcrypto\": sed -i 's/\\r$//' before it is made a "
             "Secret", path);
    }
    if (len > 0 && !memchr(text, '\r', len)
        && !memchr(text, '\n', len - 1)) {
        tell("warning", "%s is one line, and ssh does not read it: keep the "
             "line ends of a key (in a shell: \"$KEY\", with its quotes)",
             path);
    }
    if (len > 0 && text[len - 1] != '\n') {
        tell("warning", "%s has no line end after its last line, and ssh may "
             "not read it: add one (in YAML: key: | and not key: |-)", path);
    }
    if (len > 0 && text[0] != '-') {
        tell("warning", "%s has text before its key, and ssh may not read it: "
             "begin with the line -----BEGIN", path);
    }
    explicit_bzero(text, len);
    free(text);
}

/* --- owner and mode */

static void check_mode(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return;
    }
    if (access(path, R_OK) != 0) {
        tell("error", "%s belongs to uid %u with mode %04o and uid %u cannot "
             "read it: set fsGroup to a group of this user, or defaultMode "
             "0444 for the volume", path, (unsigned)st.st_uid,
             (unsigned)st.st_mode & 07777, (unsigned)geteuid());
    } else if (st.st_uid == geteuid() && (st.st_mode & 077) != 0) {
        tell("warning", "%s has mode %04o, and ssh ignores a private key of "
             "its own user that others may read (\"UNPROTECTED PRIVATE KEY "
             "FILE\"): defaultMode 0600 for the volume%s; hbrun does not mind",
             path, (unsigned)st.st_mode & 07777, st.st_mode & 040
             ? "; where fsGroup (or a sidecar's injector) adds the group's "
             "right, a copy with mode 0600 and ssh -i" : "");
    }
}

/* Whether sshd's StrictModes minds who may write here. */
static int is_loose(const char *path, const char *what)
{
    struct stat st;

    if (stat(path, &st) != 0
        || ((st.st_uid == 0 || st.st_uid == geteuid())
            && (st.st_mode & 022) == 0)) {
        return 0;
    }
    tell("warning", "%s has mode %04o and belongs to uid %u: sshd with "
         "StrictModes yes lets nobody in (\"bad ownership or modes for %s\"); "
         "StrictModes no, or hpcbootd serve in place of sshd", path,
         (unsigned)st.st_mode & 07777, (unsigned)st.st_uid, what);
    return 1;
}

static int is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return hb_starts_with(path, dir)
        && (path[len] == '/' || (len > 0 && dir[len - 1] == '/'));
}

/* authorized_keys itself, and each folder above it up to the user's home. A
 * file elsewhere may not be sshd's: its own folder will do. */
static void check_strict_modes(const char *path)
{
    const struct passwd *pw = getpwuid(geteuid());
    const char *home = pw ? pw->pw_dir : "/";
    char *real = realpath(path, NULL), *slash;
    int inside = real && is_below(real, home);
    int go_on = real && !is_loose(real, "file");

    while (go_on && (slash = strrchr(real, '/')) != NULL && slash != real) {
        *slash = '\0';
        go_on = !is_loose(real, "directory") && inside
            && !hb_streq(real, home);
    }
    free(real);
}

/* --- the private key, and what goes with it */

static char *public_of(const char *pem, const char **why_out)
{
    const void *symbol = NULL;

    if (hb_module_open(HB_SSH_MODULE, HB_KEY_OPS_SYMBOL, &symbol, NULL) < 0) {
        return NULL;
    }
    return ((const struct hb_key_ops *)symbol)->public_text(pem, why_out);
}

/* In a line that is no comment. */
static int file_holds(const char *path, const char *public)
{
    char *text = NULL, *save = NULL;
    size_t len = 0;
    int yes = 0;

    if (hb_file_read(path, FILE_MAX_BYTES, &text, &len, NULL) >= 0) {
        for (char *line = strtok_r(text, "\r\n", &save); line && !yes;
             line = strtok_r(NULL, "\r\n", &save)) {
            yes = line[strspn(line, " \t")] != '#'
                && strstr(line, strchr(public, ' ') + 1) != NULL;
        }
    }
    free(text);
    return yes;
}

static void check_public(const char *key, const char *public)
{
    char *dir = dir_of(key), *pub = hb_xasprintf("%s.pub", key);
    char *authorized = hb_xasprintf("%s/authorized_keys", dir);

    if (access(pub, R_OK) == 0 && !file_holds(pub, public)) {
        tell("warning", "%s is not the public half of %s, and ssh offers what "
             "the former says: ssh-keygen -y -f %s > %s", pub, key, key, pub);
    }
    if (access(authorized, F_OK) != 0) {
        tell("note", "%s is not there: sshd lets nobody in with this key; "
             "hpcbootd serve needs no such file", authorized);
    } else if (access(authorized, R_OK) == 0
               && !file_holds(authorized, public)) {
        tell("warning", "%s does not hold the public half of %s: sshd here "
             "refuses the gang's other members", authorized, key);
    } else {
        check_strict_modes(authorized);
    }
    free(authorized);
    free(pub);
    free(dir);
}

/* 1: a key that can be used. */
static int check_key(const char *path)
{
    static const char *const forms[] = {
        [HB_KEY_PKCS1] = "RSA, PKCS#1", [HB_KEY_SEC1] = "EC, SEC1",
        [HB_KEY_DSA] = "DSA", [HB_KEY_PKCS8] = "PKCS#8",
        [HB_KEY_OPENSSH] = "OpenSSH's form",
    };
    struct hpcboot_error err = {0};
    const char *why = "libssh, which would read it, is not there";
    struct hb_key_sniff sniff;
    char *pem = NULL, *public = NULL;
    int before = n_errors;

    check_subpath(path);
    check_mode(path);
    if (n_errors > before) {
        return 0;
    }
    if (hb_key_read(path, &pem, &sniff, &err) < 0) {
        check_bytes(path);
        if (n_errors == before) {
            tell("error", "%s", err.text);
        }
        return 0;
    }
    if (sniff.encrypted) {
        tell("error", "%s is encrypted, and no pod can be asked for the "
             "passphrase: ssh-keygen -p -N '' -f KEY on a copy", path);
    } else if (!(public = public_of(pem, &why))) {
        tell("error", "%s (%s) cannot be used: %s; make a new one with "
             "hpcboot keys --make DIR", path, forms[sniff.form], why);
    } else {
        printf("key: %s: %.*s (%s)\n", path, (int)strcspn(public, " "),
               public, forms[sniff.form]);
        check_layout(path);
        check_public(path, public);
    }
    hb_key_text_free(pem);
    free(public);
    return n_errors == before;
}

/* --- who we are */

static void check_user(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    const char *home = getenv("HOME");

    if (!pw) {
        tell("note", "uid %u has no passwd entry: ssh and sshd do not work for "
             "it, hbrun and hpcbootd serve do", (unsigned)geteuid());
    } else if (home && !hb_streq(home, pw->pw_dir)) {
        tell("note", "HOME is %s and the passwd entry says %s: ssh looks for "
             "keys in the latter only, hbrun in both", home, pw->pw_dir);
    }
}

/* Files of a directory that may have been meant as keys, where none is one. */
static void check_others(const char *dir)
{
    static const char *const names[] = {
        "id_rsa", "id_ed25519", "id_ecdsa", "ssh-privatekey",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = hb_xasprintf("%s/%s", dir, names[i]);

        if (access(path, F_OK) == 0) {
            check_place(dir);
            (void)check_key(path);
        }
        free(path);
    }
}

/* What was mounted, and is not found since this user cannot read it. */
static void check_closed(const struct hb_strv *dirs)
{
    for (size_t i = 0; i < dirs->n; i++) {
        struct hpcboot_error why = {0};

        if (hb_key_is_closed(dirs->v[i], &why)) {
            tell("error", "%s", why.text);
        }
    }
}

static int check_dirs(const char *named)
{
    struct hb_strv dirs = HB_STRV_INIT, keys = HB_STRV_INIT;
    struct hb_str looked = HB_STR_INIT;
    int good = 0;

    if (named) {
        hb_strv_push(&dirs, named);
    } else {
        hb_gang_key_dirs(getenv("HOME"), &dirs);
    }
    for (size_t i = 0; i < dirs.n; i++) {
        hb_strv_destroy(&keys);
        keys = (struct hb_strv)HB_STRV_INIT;
        if (access(dirs.v[i], F_OK) == 0) {
            hb_gang_keys_find(dirs.v[i], NULL, &keys);
        }
        if (keys.n > 0) {
            check_place(dirs.v[i]);
        } else {
            check_others(dirs.v[i]);
        }
        for (size_t k = 0; k < keys.n; k++) {
            good += check_key(keys.v[k]);
        }
        hb_str_putf(&looked, "%s%s", i > 0 ? ", " : "", dirs.v[i]);
    }
    if (good == 0 && n_errors == 0) {
        check_closed(&dirs);
    }
    if (good == 0 && n_errors == 0) {
        tell("error", "there is no private key in %s: mount the gang's Secret "
             "there, or say where it is (--key here, hbrun --identity, "
             "hpcbootd serve --key)", hb_str_text(&looked));
    }
    hb_strv_destroy(&dirs);
    hb_strv_destroy(&keys);
    hb_str_destroy(&looked);
    return good;
}

int keycheck_run(const char *named)
{
    struct stat st;
    int good;

    n_errors = 0;
    if (named && (stat(named, &st) != 0 || !S_ISDIR(st.st_mode))) {
        char *dir = dir_of(named);

        check_place(dir);
        free(dir);
        good = check_key(named);
    } else {
        good = check_dirs(named);
    }
    check_user();
    return good > 0 ? 0 : EXIT_ILL;
}
