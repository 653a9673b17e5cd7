/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* hpcboot keys: the key of a gang. Makes one, as files with the modes that
 * every SSH program is content with, or as a Kubernetes Secret; prints the
 * known_hosts lines of hosts that `hpcbootd serve` serves, whose host keys
 * follow from it; or looks at what is mounted here. */

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/boot/boot_impl.h"
#include "bin/boot/keys.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/keycheck.h"
#include "bin/hpcboot/kubename.h"
#include "bin/hpcboot/result.h"
#include "bin/job/verdict.h"
#include "hostfile/hostfile.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/derive.h"
#include "lib/trust/gangkey.h"

#define KEY_NAME "id_ed25519"
#define COMMENT "hpcboot-gang"
#define SSH_PORT 22
#define PORT_MAX 65535

struct wanted {
    const char *make, *secret, *namespace, *key, *output;
    const char *host_list, *hostfile, *port;
    int known_hosts, check;
};

#define AT(field) offsetof(struct wanted, field)
static const struct hb_arg args[] = {
    {"check", NULL, "look at the key that is mounted here (the default)",
     AT(check), NULL},
    {"make", "DIR", "make a key, as files in DIR", AT(make), NULL},
    {"secret", "NAME", "print a Kubernetes Secret with a new key, or --key",
     AT(secret), NULL},
    {"namespace n", "NS", "the Secret's namespace", AT(namespace), NULL},
    {"known-hosts", NULL, "print known_hosts lines of the gang's hosts",
     AT(known_hosts), NULL},
    {"host H", "LIST", "hosts for them: a,b,n[01-16]", AT(host_list), NULL, 1},
    {"hostfile machinefile", "FILE", "hosts for them, from FILE",
     AT(hostfile), NULL},
    {"port", "N", "the port of their servers, where it is not 22", AT(port),
     NULL},
    {"key", "FILE|DIR", "this private key (default: what is mounted)", AT(key),
     NULL},
    {"output o", "FILE", "write to FILE", AT(output), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

/* A private key and its public half. */
struct pair {
    char *private, *public;
};

static void free_pair(struct pair *p)
{
    hb_key_text_free(p->private);
    free(p->public);
}

static int trust_ops(const struct hb_trust_ops **out,
                     struct hpcboot_error *err)
{
    const void *symbol = NULL;
    int rc = hb_module_open(HB_TRUST_MODULE, HB_TRUST_SYMBOL, &symbol, err);

    *out = symbol;
    return rc;
}

static int make_pair(struct pair *p, struct hpcboot_error *err)
{
    const struct hb_trust_ops *ops;
    struct hb_ed25519 key;
    int rc = trust_ops(&ops, err);

    if (rc < 0) {
        return rc;
    }
    if (!ops->generate(&key)) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL, "libcrypto makes no key");
    }
    p->private = ops->private_text(&key, COMMENT);
    p->public = ops->public_text(&key);
    explicit_bzero(&key, sizeof key);
    return HPCBOOT_OK;
}

static int read_pair_of(const char *path, struct pair *p,
                        struct hpcboot_error *err)
{
    const struct hb_key_ops *ops = NULL;
    struct hb_key_sniff sniff;
    const void *symbol = NULL;
    const char *why = NULL;
    int rc = hb_key_read(path, &p->private, &sniff, err);

    if (rc == HPCBOOT_OK && sniff.encrypted) {
        rc = hb_fail(err, HPCBOOT_ERR_AUTH, "%s is encrypted: a gang's key "
                     "has no passphrase", path);
    }
    if (rc == HPCBOOT_OK) {
        rc = hb_module_open(HB_SSH_MODULE, HB_KEY_OPS_SYMBOL, &symbol, err);
        ops = symbol;
    }
    if (rc == HPCBOOT_OK) {
        p->public = ops->public_text(p->private, &why);
        if (!p->public) {
            rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s: %s", path, why);
        }
    }
    return rc;
}

static int is_usable(const char *path)
{
    struct pair p = {0};
    int rc = read_pair_of(path, &p, NULL);

    free_pair(&p);
    return rc == HPCBOOT_OK;
}

/* The file of the gang's key: the first that can be used, as it is for
 * `hpcbootd serve`. Where none can (or libssh is not there to tell) the first,
 * and whoever reads it says what is wrong. free() it. */
static int find_key(const char *named, char **path_out,
                    struct hpcboot_error *err)
{
    struct hb_strv paths = HB_STRV_INIT;
    size_t i = 0;
    int rc = HPCBOOT_OK;

    hb_gang_keys_find(named, getenv("HOME"), &paths);
    while (i < paths.n && !is_usable(paths.v[i])) {
        i++;
    }
    if (paths.n == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "there is no private key in "
                     "%s; name one with --key, or make one with --make DIR",
                     named ? named : "~/.ssh, /root/.ssh, /home/mpiuser/.ssh");
    } else {
        *path_out = hb_xstrdup(paths.v[i < paths.n ? i : 0]);
    }
    hb_strv_destroy(&paths);
    return rc;
}

static int read_pair(const char *named, struct pair *p,
                     struct hpcboot_error *err)
{
    char *path = NULL;
    int rc = find_key(named, &path, err);

    if (rc == HPCBOOT_OK) {
        rc = read_pair_of(path, p, err);
    }
    free(path);
    return rc;
}

/* A new file with this mode from its first byte on; never over another. */
static int write_new(const char *dir, const char *name, mode_t mode,
                     const char *text, struct hpcboot_error *err)
{
    char *path = dir ? hb_xasprintf("%s/%s", dir, name) : hb_xstrdup(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    int rc = HPCBOOT_OK;

    if (fd < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s cannot be made", path);
    } else if (fchmod(fd, mode) != 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    } else {
        rc = hb_fd_write_all(fd, text, strlen(text), err);
        rc = rc < 0 ? hb_error_prefix(err, rc, "%s", path) : rc;
    }
    if (rc < 0 && fd >= 0) {
        unlink(path);
    }
    hb_fd_close(&fd);
    free(path);
    return rc;
}

/* All of the key's files, or none. */
static int write_all(const char *dir, const char *private, const char *line,
                     struct hpcboot_error *err)
{
    const struct {
        const char *name, *text;
        mode_t mode;
    } files[] = {
        {KEY_NAME, private, 0600},
        {KEY_NAME ".pub", line, 0644},
        {"authorized_keys", line, 0600},
    };
    size_t n = 0, all = sizeof files / sizeof *files;
    int rc = HPCBOOT_OK;

    for (; n < all && rc == HPCBOOT_OK; n++) {
        rc = write_new(dir, files[n].name, files[n].mode, files[n].text, err);
    }
    for (n--; rc != HPCBOOT_OK && n > 0; n--) {
        char *path = hb_xasprintf("%s/%s", dir, files[n - 1].name);

        unlink(path);
        free(path);
    }
    return rc;
}

static int make_files(const struct wanted *w, struct hpcboot_error *err)
{
    struct pair p = {0};
    char *line = NULL;
    int rc = make_pair(&p, err);

    if (rc == HPCBOOT_OK && mkdir(w->make, 0700) != 0 && errno != EEXIST) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s cannot be made",
                           w->make);
    }
    if (rc == HPCBOOT_OK) {
        line = hb_xasprintf("%s %s\n", p.public, COMMENT);
        rc = write_all(w->make, p.private, line, err);
    }
    if (rc == HPCBOOT_OK) {
        printf("%s/%s: mount %s into every pod of the gang\n", w->make,
               KEY_NAME, w->make);
    }
    free(line);
    free_pair(&p);
    return rc;
}

/* As kubectl writes it: in quotes where YAML would read a number, a date or a
 * truth, which Kubernetes refuses as a name. */
static void put_name(struct hb_str *out, const char *key, const char *name)
{
    static const char *const words[] = {
        "y", "yes", "n", "no", "on", "off", "true", "false", "null",
    };
    const char *quote = isdigit((unsigned char)name[0]) ? "\"" : "";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        quote = hb_streq(name, words[i]) ? "\"" : quote;
    }
    hb_str_putf(out, "  %s: %s%s%s\n", key, quote, name, quote);
}

static void put_data(struct hb_str *out, const char *name, const char *text)
{
    hb_str_putf(out, "  %s: ", name);
    hb_base64_encode(out, text, strlen(text), 0);
    hb_str_putc(out, '\n');
}

/* The operators' own Secrets are of this type and have these two entries; the
 * other three are what a pod wants to see in its .ssh. */
static void put_secret(struct hb_str *out, const struct wanted *w,
                       const struct pair *p)
{
    char *line = hb_xasprintf("%s %s\n", p->public, COMMENT);

    hb_str_put(out, "apiVersion: v1\nkind: Secret\nmetadata:\n");
    put_name(out, "name", w->secret);
    if (w->namespace) {
        put_name(out, "namespace", w->namespace);
    }
    hb_str_put(out, "type: kubernetes.io/ssh-auth\nimmutable: true\ndata:\n");
    put_data(out, "ssh-privatekey", p->private);
    put_data(out, "ssh-publickey", line);
    put_data(out, KEY_NAME, p->private);
    put_data(out, KEY_NAME ".pub", line);
    put_data(out, "authorized_keys", line);
    free(line);
}

static int make_secret(const struct wanted *w, struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    struct pair p = {0};
    int rc;

    if (kube_check_name("secret", w->secret, 1, err) < 0
        || kube_check_name("namespace", w->namespace, 0, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    rc = w->key ? read_pair(w->key, &p, err) : make_pair(&p, err);
    if (rc == HPCBOOT_OK) {
        put_secret(&text, w, &p);
        rc = w->output && !hb_streq(w->output, "-")
            ? write_new(NULL, w->output, 0600, text.s, err)
            : hb_result_write(NULL, text.s, text.len, err);
        explicit_bzero(text.s, text.len);
    }
    hb_str_destroy(&text);
    free_pair(&p);
    return rc;
}

static void put_known_host(struct hb_str *out, const struct hb_trust_ops *ops,
                           const struct hb_secret *secret,
                           const struct hb_host *host, int port)
{
    char label[HB_HOST_LABEL_MAX + 1];
    struct hb_ed25519 key;
    char *text;

    if (host->port > 0) {
        port = host->port;
    }
    if (!hb_host_label(host->name, label)
        || !ops->host_key(secret, label, &key)) {
        hb_log(HB_WARN, "%s: an address has no derived host key; name the "
               "host as its hostname command does", host->name);
        return;
    }
    text = ops->public_text(&key);
    explicit_bzero(&key, sizeof key);
    if (port == SSH_PORT) {
        hb_str_putf(out, "%s %s\n", host->name, text);
    } else {
        hb_str_putf(out, "[%s]:%d %s\n", host->name, port, text);
    }
    free(text);
}

static int print_known_hosts(const struct wanted *w,
                             struct hpcboot_error *err)
{
    const struct hb_trust_ops *ops = NULL;
    struct hb_secret secret = {0};
    struct hb_gang gang = {0};
    struct hb_gang_request req = {
        .host_list = w->host_list, .hostfile = w->hostfile,
    };
    struct hb_str text = HB_STR_INIT;
    char *path = NULL;
    int port = SSH_PORT, rc;

    if (w->port && hb_parse_int(w->port, 1, PORT_MAX, &port) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--port %s: expected 1 to %d",
                       w->port, PORT_MAX);
    }
    rc = trust_ops(&ops, err);
    if (rc == HPCBOOT_OK) {
        rc = hb_command_gang(&req, &gang, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = find_key(w->key ? w->key : gang.gang_key, &path, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = hb_gang_secret_read(path, &secret, err);
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < gang.n; i++) {
        put_known_host(&text, ops, &secret, &gang.hosts[i], port);
    }
    if (rc == HPCBOOT_OK) {
        rc = hb_result_write(w->output, hb_str_text(&text), text.len, err);
    }
    hb_str_destroy(&text);
    hb_secret_free(&secret);
    hb_gang_destroy(&gang);
    free(path);
    return rc;
}

/* Options of another action than the one that was asked for. */
static int check_words(const struct wanted *w, struct hpcboot_error *err)
{
    int rc = 0;

    if ((w->check > 0) + (w->make != NULL) + (w->secret != NULL) +
        (w->known_hosts > 0) > 1) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "one of --check, --make, "
                       "--secret and --known-hosts at a time");
    }
    if (!w->known_hosts) {
        rc = hb_args_go_with(args, w, "host hostfile port", "--known-hosts",
                             err);
    }
    if (rc == 0 && w->secret == NULL) {
        rc = hb_args_go_with(args, w, "namespace", "--secret", err);
    }
    if (rc == 0 && w->make != NULL) {
        rc = hb_args_go_with(args, w, "key", "--check, --secret or "
                             "--known-hosts; --make makes a new one", err);
    }
    if (rc == 0 && w->secret == NULL && !w->known_hosts) {
        rc = hb_args_go_with(args, w, "output", "--secret or --known-hosts",
                             err);
    }
    return rc;
}

static int exit_status(int rc)
{
    if (rc >= 0) {
        return 0;
    }
    return rc == HPCBOOT_ERR_SYSTEM ? HB_EXIT_OUTPUT : HB_EXIT_USAGE;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hpcboot_error err = {0};
    int rc = hb_command_scan(self, &w, argc, argv);

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    rc = check_words(&w, &err);
    if (rc < 0) {
        ; /* told below */
    } else if (w.make) {
        rc = make_files(&w, &err);
    } else if (w.secret) {
        rc = make_secret(&w, &err);
    } else if (w.known_hosts) {
        rc = print_known_hosts(&w, &err);
    } else {
        return keycheck_run(w.key);
    }
    if (rc < 0) {
        hb_log(HB_ERROR, "keys: %s", err.text);
    }
    return exit_status(rc);
}

const struct hb_command hb_command_keys = {
    .name = "keys",
    .summary = "the key of a gang: make it, hand it out, look at it",
    .args = args,
    .run = run,
};
