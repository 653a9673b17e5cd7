/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Who is let in by `hpcbootd serve`, and the key this host shows.
 *
 * With the gang's private key at hand its public half is the one key that
 * logs in, and the host key is derived from it. Without one the host key is
 * made anew by each start, and the keys of an authorized_keys file log in.
 *
 * A mount of Kubernetes may change under a running pod: the files are looked at
 * before each login, and a new key takes the place of the old one whole. As
 * long as there is none that can be used, as while a file is written, the old
 * one stays. Where the keys that log in besides are other ones, the host key is
 * still the same. Jobs that run need neither (serve_jobs.c). */
#include "config.h"

#include "bin/boot/serve_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/boot/ssh_keys.h"
#include "bin/boot/ssh_known.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/trust/gangkey.h"

/* What changed and cannot be used is tried again, since what is in the way may
 * pass; any connection asks for it, and nobody may load the host or fill the
 * log by that. */
#define RETRY_MS 1000
#define TELL_EVERY_MS 10000
#define AUTHORIZED_MAX 64   /* keys of a file */
#define AUTHORIZED_MAX_BYTES 65536

/* Elliptic curves alone: a client that knows none of them is fifteen years
 * old, and finite fields cost a hundred times as much, before any login. */
#define KEX "curve25519-sha256,curve25519-sha256@libssh.org," \
    "ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521"
#define CIPHERS "aes128-gcm@openssh.com,aes256-gcm@openssh.com," \
    "chacha20-poly1305@openssh.com,aes128-ctr,aes256-ctr"
#define BANNER "hpcbootd"

/* Of a file of authorized keys. */
struct authorized {
    char *path; /* NULL: none is read */
    int placed; /* by whoever made the pod: see hb_file_read_placed */
    struct stat stat;
    ssh_key keys[AUTHORIZED_MAX];
    size_t n, n_more; /* left out */
};

/* What is in force; made whole or not at all. */
struct key_set {
    char *path; /* of the private key, or NULL */
    struct stat stat;
    ssh_bind bind;
    ssh_key own; /* the private key's public half */
    struct authorized others;
};

/* To take a file that has changed, which failed. */
struct attempt {
    struct stat file, others; /* as they were; zero: not there */
    int64_t at_ms, told_ms;
    char *words; /* that were said; NULL: it is the first */
};

struct hb_serve_keys {
    const struct hb_serve_config *config;
    struct key_set set;
    struct attempt own_failed, others_failed;
};

static void destroy_authorized(struct authorized *a)
{
    for (size_t i = 0; i < a->n; i++) {
        ssh_key_free(a->keys[i]);
    }
    free(a->path);
    memset(a, 0, sizeof *a);
}

static void destroy_set(struct key_set *set)
{
    destroy_authorized(&set->others);
    ssh_key_free(set->own);
    if (set->bind) {
        ssh_bind_free(set->bind); /* with its host key */
    }
    free(set->path);
    memset(set, 0, sizeof *set);
}

static int import_ed25519(struct hb_ed25519 *key, ssh_key *out)
{
    char *pem = hb_ed25519_private_text(key, "");
    int rc = ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, out);

    hb_key_text_free(pem);
    explicit_bzero(key, sizeof *key);
    return rc == SSH_OK;
}

static int host_name(char label[HB_HOST_LABEL_MAX + 1])
{
    char name[256] = "";

    return gethostname(name, sizeof name - 1) == 0
        && hb_host_label(name, label);
}

static int make_host_key(const struct hb_secret *gang, ssh_key *out,
                         struct hpcboot_error *err)
{
    char label[HB_HOST_LABEL_MAX + 1];
    struct hb_ed25519 key;
    int derived = gang->data && host_name(label);
    int ok = derived ? hb_derive_host_key(gang, label, &key)
                     : hb_ed25519_generate(&key);

    if (!ok || !import_ed25519(&key, out)) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                       "no host key could be made: libcrypto refuses");
    }
    return HPCBOOT_OK;
}

static char *fingerprint_of(const ssh_key key)
{
    unsigned char *hash = NULL;
    size_t len = 0;
    char *text = NULL, *copy;

    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len)
        == SSH_OK) {
        text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
    }
    copy = hb_xstrdup(text ? text : "?");
    ssh_clean_pubkey_hash(&hash);
    ssh_string_free_char(text);
    return copy;
}

/* libssh takes the host key. */
static int make_bind(struct key_set *set, ssh_key host_key,
                     struct hpcboot_error *err)
{
    int no = 0;
    const struct {
        enum ssh_bind_options_e option;
        const void *value;
    } options[] = {
        {SSH_BIND_OPTIONS_PROCESS_CONFIG, &no},
        {SSH_BIND_OPTIONS_BANNER, BANNER "_" PACKAGE_VERSION},
        {SSH_BIND_OPTIONS_KEY_EXCHANGE, KEX},
        {SSH_BIND_OPTIONS_CIPHERS_C_S, CIPHERS},
        {SSH_BIND_OPTIONS_CIPHERS_S_C, CIPHERS},
        {SSH_BIND_OPTIONS_HOSTKEY_ALGORITHMS, "ssh-ed25519"},
        {SSH_BIND_OPTIONS_IMPORT_KEY, host_key},
    };
    int rc = 0;

    set->bind = ssh_bind_new();
    for (size_t i = 0; set->bind && rc == 0
         && i < sizeof options / sizeof *options; i++) {
        rc = ssh_bind_options_set(set->bind, options[i].option,
                                  options[i].value);
    }
    if (!set->bind || rc != 0) {
        ssh_key_free(host_key);
        return hb_fail(err, HPCBOOT_ERR_INTERNAL, "libssh: no server: %s",
                       set->bind ? ssh_get_error(set->bind) : "no memory");
    }
    return HPCBOOT_OK;
}

/* A line of authorized_keys: type and key; one with options in front is left
 * out, since they restrict what may be done in ways not known here. */
static void take_line(struct authorized *a, char *line)
{
    char *save = NULL;
    const char *type = strtok_r(line, " \t\r", &save);
    const char *blob = strtok_r(NULL, " \t\r", &save);
    enum ssh_keytypes_e kind = type ? ssh_key_type_from_name(type)
                                    : SSH_KEYTYPE_UNKNOWN;
    ssh_key key = NULL;

    if (!blob || kind == SSH_KEYTYPE_UNKNOWN || type[0] == '#'
        || ssh_pki_import_pubkey_base64(blob, kind, &key) != SSH_OK) {
        return;
    }
    if (a->n < AUTHORIZED_MAX) {
        a->keys[a->n++] = key;
    } else {
        a->n_more++;
        ssh_key_free(key);
    }
}

static int read_authorized(struct authorized *a, const char *path, int placed,
                           struct hpcboot_error *err)
{
    char *text = NULL, *save = NULL;
    size_t len = 0;
    struct stat st = {0};
    int rc;

    /* Before it is read: what takes its place meanwhile is a change. */
    (void)stat(path, &st);
    rc = (placed ? hb_file_read_placed : hb_file_read)(
        path, AUTHORIZED_MAX_BYTES, &text, &len, err);

    if (rc < 0) {
        return rc;
    }
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        take_line(a, line);
    }
    free(text);
    if (a->n_more > 0) {
        hb_log(HB_WARN, "%s: only the first %d keys log in, %zu more do not",
               path, AUTHORIZED_MAX, a->n_more);
    }
    free(a->path);
    a->path = hb_xstrdup(path);
    a->placed = placed;
    a->stat = st;
    return HPCBOOT_OK;
}

/* The private key's own public half. */
static int take_private(struct key_set *set, const char *path, int placed,
                        struct hb_secret *gang, struct hpcboot_error *err)
{
    const char *why = "libssh cannot split it";
    struct hb_key_sniff sniff = {0};
    char *pem = NULL;
    ssh_key private = NULL, public = NULL;
    int rc;

    /* Before it is read: what takes its place meanwhile is a change. */
    (void)stat(path, &set->stat);
    rc = (placed ? hb_key_read_placed : hb_key_read)(path, &pem, &sniff, err);
    if (rc == HPCBOOT_OK) {
        rc = hb_gang_secret(pem, &sniff, path, gang, err);
    }
    if (rc == HPCBOOT_OK
        && (!hb_ssh_key_import(pem, &private, &why)
            || ssh_pki_export_privkey_to_pubkey(private, &public) != SSH_OK)) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s: %s", path, why);
    }
    if (rc == HPCBOOT_OK) {
        set->own = public;
        set->path = hb_xstrdup(path);
    }
    ssh_key_free(private);
    hb_key_text_free(pem);
    return rc;
}

/* A mounted key that its mode closes to this user is not found, and what is
 * served then is not the gang that was meant. */
static void tell_closed(const struct hb_serve_config *config, int level)
{
    struct hb_strv dirs = HB_STRV_INIT;

    if (config->key) {
        hb_strv_push(&dirs, config->key);
    } else {
        hb_gang_key_dirs(config->home, &dirs);
    }
    for (size_t i = 0; i < dirs.n; i++) {
        struct hpcboot_error why = {0};

        if (hb_key_is_closed(dirs.v[i], &why)) {
            hb_log(level, "%s", why.text);
        }
    }
    hb_strv_destroy(&dirs);
}

/* The first of the keys there that can be used. What a person named and cannot
 * be used is an error; what was found is passed over. */
static int find_private(struct key_set *set,
                        const struct hb_serve_config *config, int level,
                        struct hb_secret *gang, struct hpcboot_error *err)
{
    struct hb_strv paths = HB_STRV_INIT;
    int rc = HPCBOOT_ERR_NOT_FOUND;

    hb_gang_keys_find(config->key, config->home, &paths);
    for (size_t i = 0; i < paths.n && rc != HPCBOOT_OK; i++) {
        struct hpcboot_error why = {0};

        hb_secret_free(gang);
        rc = take_private(set, paths.v[i],
                          hb_gang_key_is_placed(paths.v[i], config->key,
                                                config->home), gang, &why);
        if (rc < 0 && config->key) {
            rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--key: %s", why.text);
        } else if (rc < 0) {
            hb_log(level, "%s", why.text);
        }
    }
    if (paths.n == 0) {
        tell_closed(config, level);
    }
    if (paths.n == 0 && config->key) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE,
                     "--key: there is no private key in %s", config->key);
    }
    hb_strv_destroy(&paths);
    return config->key || rc == HPCBOOT_OK ? rc : HPCBOOT_ERR_AGAIN;
}

/* authorized_keys where no private key is: beside where one would be. */
static int find_authorized(struct authorized *a, int has_own,
                           const struct hb_serve_config *config,
                           struct hpcboot_error *err)
{
    struct hb_strv dirs = HB_STRV_INIT;
    struct hb_str looked = HB_STR_INIT;
    struct hpcboot_error why = {0};
    int rc = HPCBOOT_OK;

    if (config->authorized_keys) {
        rc = read_authorized(a, config->authorized_keys, 0, &why) < 0
            ? hb_fail(err, HPCBOOT_ERR_USAGE, "--authorized-keys: %s",
                      why.text) : HPCBOOT_OK;
    } else if (!has_own) {
        hb_gang_key_dirs(config->home, &dirs);
    }
    for (size_t i = 0; a->n == 0 && i < dirs.n; i++) {
        char *path = hb_xasprintf("%s/authorized_keys", dirs.v[i]);
        int placed = !hb_gang_dir_is_home(dirs.v[i], config->home);

        if (access(path, F_OK) == 0
            && read_authorized(a, path, placed, &why) == HPCBOOT_ERR_AUTH) {
            hb_log(HB_WARN, "%s", why.text);
        }
        hb_str_putf(&looked, "%s%s", i > 0 ? ", " : "", dirs.v[i]);
        free(path);
    }
    if (rc == HPCBOOT_OK && !has_own && a->n == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "nobody could log in: no key in "
                     "%s; mount the gang's key there, or say where it is with "
                     "--key", config->authorized_keys ? config->authorized_keys
                     : hb_str_text(&looked));
    }
    hb_strv_destroy(&dirs);
    hb_str_destroy(&looked);
    return rc;
}

static void announce(const struct key_set *set, const ssh_key host_key)
{
    char *own = fingerprint_of(host_key);
    char *first = fingerprint_of(set->own ? set->own : set->others.keys[0]);

    hb_log(HB_INFO, "lets in %s%s%s; host key %s (%s)",
           (set->own != NULL) + set->others.n > 1
               ? "keys of authorized_keys, the first is " : "the key ",
           first, set->path ? ", the gang's" : "", own,
           set->path ? "derived from it" : "made anew");
    if (set->path) {
        hb_log(HB_DEBUG, "the gang's key is %s", set->path);
    }
    free(own);
    free(first);
}

/* `before`: the private key in force, which keys that are authorized beside it
 * do not stand in for; or NULL. `level`: of what is said of keys that are
 * passed over. */
static int make_set(struct key_set *set, const struct hb_serve_config *config,
                    const char *before, int level, struct hpcboot_error *err)
{
    struct hb_secret gang = {0};
    ssh_key host_key = NULL;
    int rc = find_private(set, config, level, &gang, err);

    if (rc == HPCBOOT_ERR_AGAIN && before) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s is no private key that "
                     "could be used, nor is another there", before);
    }
    /* While the kubelet changes a Secret its folder may have no key. */
    if (rc == HPCBOOT_OK && before && hb_has_left_its_mount(before)
        && !hb_is_beside(set->path, before)) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s is gone, and no other "
                     "key is beside it", before);
    }
    if (rc == HPCBOOT_OK || rc == HPCBOOT_ERR_AGAIN) {
        rc = find_authorized(&set->others, set->own != NULL, config, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = make_host_key(&gang, &host_key, err);
    }
    if (rc == HPCBOOT_OK) {
        announce(set, host_key);
        rc = make_bind(set, host_key, err);
    }
    hb_secret_free(&gang);
    if (rc < 0) {
        destroy_set(set);
    }
    return rc;
}

int hb_serve_keys_open(struct hb_serve_keys **out,
                       const struct hb_serve_config *config,
                       struct hpcboot_error *err)
{
    struct hb_serve_keys *keys = hb_xcalloc(1, sizeof *keys);
    int rc;

    keys->config = config;
    rc = make_set(&keys->set, config, NULL, HB_WARN, err);
    if (rc < 0) {
        free(keys);
        return rc;
    }
    *out = keys;
    return HPCBOOT_OK;
}

void hb_serve_keys_close(struct hb_serve_keys *keys)
{
    if (!keys) {
        return;
    }
    destroy_set(&keys->set);
    free(keys->own_failed.words);
    free(keys->others_failed.words);
    free(keys);
}

/* `path`, if there is one, is not the file that it was. One that is gone leaves
 * what was read of it in force. */
static int has_changed(const char *path, const struct stat *known,
                       struct stat *now)
{
    return path && stat(path, now) == 0 && !hb_ssh_is_same_file(now, known);
}

static void look_at(const char *path, struct stat *out)
{
    if (!path || stat(path, out) < 0) {
        memset(out, 0, sizeof *out);
    }
}

static void forget(struct attempt *last)
{
    free(last->words);
    last->words = NULL;
}

/* At once where one of the two files is another one than before. */
static int is_due(struct attempt *last, const struct hb_serve_keys *keys,
                  const struct stat *file)
{
    int64_t now = hb_now_ms();
    struct stat others;

    look_at(keys->config->authorized_keys, &others);
    if (!hb_ssh_is_same_file(file, &last->file)
        || !hb_ssh_is_same_file(&others, &last->others)) {
        forget(last);
    } else if (last->words && now - last->at_ms < RETRY_MS) {
        return 0;
    }
    last->at_ms = now;
    last->file = *file;
    last->others = others;
    return 1;
}

static void tell(struct attempt *last, int level, const char *what,
                 const char *why)
{
    if (last->words && hb_streq(last->words, why)
        && last->at_ms - last->told_ms < TELL_EVERY_MS) {
        return;
    }
    hb_log(level, "%s: %s", what, why);
    free(last->words);
    last->words = hb_xstrdup(why);
    last->told_ms = last->at_ms;
}

/* A file that has no key has none until it is written again, and is not looked
 * at before. What else keeps from using it may pass. */
static void refresh_authorized(struct hb_serve_keys *keys)
{
    struct key_set *set = &keys->set;
    struct authorized fresh = {0};
    struct hpcboot_error err = {0};
    struct stat st;

    if (!has_changed(set->others.path, &set->others.stat, &st)
        || !is_due(&keys->others_failed, keys, &st)) {
        return;
    }
    if (read_authorized(&fresh, set->others.path, set->others.placed, &err) == 0
        && !set->own && fresh.n == 0) {
        set->others.stat = st;
        (void)hb_fail(&err, HPCBOOT_ERR_NOT_FOUND, "no key in %s", fresh.path);
    }
    if (err.code < 0) {
        tell(&keys->others_failed, HB_WARN, "the keys that may log in have "
             "changed and cannot be used, those read before stay", err.text);
        destroy_authorized(&fresh);
        return;
    }
    forget(&keys->others_failed);
    destroy_authorized(&set->others);
    set->others = fresh;
    hb_log(HB_INFO, "lets in %zu key%s of %s", fresh.n,
           fresh.n == 1 ? "" : "s", fresh.path);
}

static int has_no_key(const struct hb_serve_keys *keys)
{
    const struct hb_serve_config *config = keys->config;
    const char *path = keys->set.path;
    struct key_set set = {0};
    struct hb_secret gang = {0};
    int placed = hb_gang_key_is_placed(path, config->key, config->home);
    int rc = take_private(&set, path, placed, &gang, NULL);

    destroy_set(&set);
    hb_secret_free(&gang);
    return rc == HPCBOOT_ERR_PARSE;
}

void hb_serve_keys_refresh(struct hb_serve_keys *keys)
{
    struct key_set fresh = {0};
    struct hpcboot_error err = {0};
    struct stat st = {0};
    int gone = keys->set.path && hb_has_left_its_mount(keys->set.path);
    int level = gone ? HB_DEBUG : HB_WARN;

    refresh_authorized(keys);
    if ((!gone && !has_changed(keys->set.path, &keys->set.stat, &st))
        || !is_due(&keys->own_failed, keys, &st)) {
        return;
    }
    if (make_set(&fresh, keys->config, keys->set.path,
                 keys->own_failed.words ? HB_DEBUG : level, &err) < 0) {
        keys->set.stat = !gone && has_no_key(keys) ? st : keys->set.stat;
        tell(&keys->own_failed, level, "the key has changed and cannot be "
             "used, the one read before stays", err.text);
        return;
    }
    forget(&keys->own_failed);
    destroy_set(&keys->set);
    keys->set = fresh;
}

ssh_bind hb_serve_keys_bind(const struct hb_serve_keys *keys)
{
    return keys->set.bind;
}

const char *hb_serve_keys_path(const struct hb_serve_keys *keys)
{
    return keys->set.path;
}

static int is_key(const ssh_key a, const ssh_key b)
{
    return a && ssh_key_cmp(a, b, SSH_KEY_CMP_PUBLIC) == 0;
}

int hb_serve_keys_accepts(const struct hb_serve_keys *keys, const ssh_key key)
{
    if (is_key(keys->set.own, key)) {
        return 1;
    }
    for (size_t i = 0; i < keys->set.others.n; i++) {
        if (is_key(keys->set.others.keys[i], key)) {
            return 1;
        }
    }
    return 0;
}
