/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* From options, target and ssh_config to the settings of one login.
 *
 * What was asked for in person wins over ssh_config, that over the defaults.
 * Files that an operator writes to switch checks off have no such effect:
 * StrictHostKeyChecking is not read at all, and a UserKnownHostsFile of
 * /dev/null means the usual files.
 *
 * OpenSSH takes the home directory from passwd alone. Containers mount keys
 * where HOME points as well as where passwd points, and run as a uid that
 * passwd does not know; so both are looked at, HOME first, and neither need
 * exist. */
#include "config.h"

#include "bin/boot/ssh_settings.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bin/boot/remote.h"
#include "bin/boot/ssh_conf.h"
#include "bin/boot/ssh_known.h"
#include "lib/base/str.h"
#include "lib/trust/gangkey.h"
#include "lib/trust/keyfile.h"
#include "lib/trust/sshconfig.h"

#define SYSTEM_DIR "/etc/ssh"

/* In the order OpenSSH 9 looks for them. */
static const char *const default_keys[] = {"id_rsa", "id_ecdsa", "id_ed25519"};

struct maker {
    const struct hb_boot_config *config;
    const struct hb_boot_target *target;
    struct hb_ssh_settings *out;
    struct hb_ssh_conf conf;
    struct hb_strv homes;
    char *local_user;
    char local_host[256], uid[16];
};

static void add_once(struct hb_strv *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++) {
        if (hb_streq(list->v[i], text)) {
            return;
        }
    }
    hb_strv_push(list, text);
}

static void find_homes(struct maker *m)
{
    const struct passwd *pw = getpwuid(geteuid());
    const char *home = getenv("HOME");

    if (home && home[0] == '/') {
        add_once(&m->homes, home);
    }
    if (pw && pw->pw_dir && pw->pw_dir[0] == '/') {
        add_once(&m->homes, pw->pw_dir);
    }
    if (m->homes.n > 0) {
        m->out->home = hb_xstrdup(m->homes.v[0]);
    }
}

static int read_config(struct maker *m, struct hpcboot_error *err)
{
    const struct passwd *pw = getpwuid(geteuid());
    const struct hb_ssh_files files = {m->config->ssh_config, &m->homes,
                                       pw ? pw->pw_dir : NULL};
    struct hb_ssh_query query = {
        .host = m->target->host, .user = m->out->user,
        .local_user = m->local_user, .home = m->out->home,
    };

    return hb_ssh_conf_read(&m->conf, &files, &query, err);
}

static struct hb_ssh_tokens tokens(const struct maker *m)
{
    return (struct hb_ssh_tokens){
        .home = m->out->home, .host = m->out->hostname,
        .original = m->target->host,
        .alias = m->conf.host_key_alias ? m->out->known_as
                                        : m->target->host,
        .local_host = m->local_host, .local_user = m->local_user,
        .uid = m->uid, .user = m->out->user, .port = m->out->port,
    };
}

/* A file's name as ssh_config has it, with its letters replaced. NULL: they
 * cannot be, which is not passed over: what is in the file may matter. */
static char *file_of(const struct maker *m, const char *keyword,
                     const char *said, struct hpcboot_error *err)
{
    struct hb_ssh_tokens t = tokens(m);
    char *path = hb_ssh_expand(said, &t, 1);

    if (!path) {
        hb_fail(err, HPCBOOT_ERR_USAGE,
                "%s: %s \"%.160s\" of ssh_config has a %% letter that is not "
                "known here, or a variable or a user that is not there; try "
                "--launch-with ssh", m->target->host, keyword, said);
    }
    return path;
}

/* A uid that nothing names logs in as its number: hpcbootd serve takes any
 * name, and of sshd's refusal that is said to be the reason. */
static void choose_user(struct maker *m)
{
    struct hb_ssh_settings *out = m->out;
    const char *name = m->conf.user ? m->conf.user : m->local_user;

    if (!out->user && name) {
        out->user = hb_xstrdup(name);
    } else if (!out->user) {
        out->user = hb_xstrdup(m->uid);
        out->user_is_number = 1;
    }
}

static void choose_place(struct maker *m)
{
    struct hb_ssh_settings *out = m->out;
    const struct hb_ssh_conf *conf = &m->conf;
    int ports[] = {m->target->port, m->config->port, conf->port};
    const char *name = conf->hostname ? conf->hostname : m->target->host;

    out->port = HB_SSH_PORT;
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        if (ports[i] > 0) {
            out->port = ports[i];
            out->port_said = 1;
            break;
        }
    }
    out->hostname = hb_ssh_lower(name);
    out->known_as = hb_ssh_lower(conf->host_key_alias ? conf->host_key_alias
                                                      : name);
    out->known_port_is_22 = conf->host_key_alias != NULL;
}

/* "none" and /dev/null as the place of keys. */
static int is_nowhere(const char *path)
{
    return hb_streq(path, "none") || hb_streq(path, "/dev/null");
}

static int add_files(struct maker *m, const char *keyword,
                     const struct hb_strv *said, struct hb_strv *out,
                     struct hpcboot_error *err)
{
    for (size_t i = 0; i < said->n; i++) {
        char *path;

        if (is_nowhere(said->v[i])) {
            continue;
        }
        path = file_of(m, keyword, said->v[i], err);
        if (!path) {
            return HPCBOOT_ERR_USAGE;
        }
        add_once(out, path);
        free(path);
    }
    return HPCBOOT_OK;
}

static int choose_known_files(struct maker *m, struct hpcboot_error *err)
{
    struct hb_strv *files = &m->out->known_files;
    size_t before;

    if (add_files(m, "UserKnownHostsFile", &m->conf.user_known_hosts, files,
                  err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    m->out->known_said = files->n > 0;
    for (size_t i = 0; !m->out->known_said && i < m->homes.n; i++) {
        hb_strv_pushf(files, "%s/.ssh/known_hosts", m->homes.v[i]);
        hb_strv_pushf(files, "%s/.ssh/known_hosts2", m->homes.v[i]);
    }
    before = files->n;
    if (add_files(m, "GlobalKnownHostsFile", &m->conf.global_known_hosts,
                  files, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    m->out->known_said |= files->n > before;
    if (files->n == before) {
        hb_strv_push(files, SYSTEM_DIR "/ssh_known_hosts");
        hb_strv_push(files, SYSTEM_DIR "/ssh_known_hosts2");
    }
    if (m->config->known_hosts) {
        hb_strv_push(files, m->config->known_hosts);
        m->out->known_told = m->config->known_hosts;
    }
    if (m->conf.revoked_host_keys
        && !hb_streq(m->conf.revoked_host_keys, "none")) {
        m->out->revoked_file = file_of(m, "RevokedHostKeys",
                                       m->conf.revoked_host_keys, err);
        return m->out->revoked_file ? HPCBOOT_OK : HPCBOOT_ERR_USAGE;
    }
    return HPCBOOT_OK;
}

/* In a home that is not this user's anybody's keys may lie, and who has one
 * that is used here is believed. */
static int is_usable(const char *path, int is_home)
{
    struct hb_key_sniff sniff;
    char *pem = NULL;
    int rc = is_home ? HPCBOOT_OK
                     : hb_key_read_placed(path, &pem, &sniff, NULL);

    hb_key_text_free(pem);
    return rc == HPCBOOT_OK;
}

static void add_keys_of(struct hb_strv *keys, const char *dir, int is_home)
{
    struct hb_strv found = HB_STRV_INIT;

    hb_key_find(dir, &found);
    for (size_t i = 0; i < sizeof default_keys / sizeof *default_keys; i++) {
        char *path = hb_xasprintf("%s/%s", dir, default_keys[i]);

        if (access(path, F_OK) == 0 && is_usable(path, is_home)) {
            add_once(keys, path);
        }
        free(path);
    }
    for (size_t i = 0; i < found.n; i++) {
        if (is_usable(found.v[i], is_home)) {
            add_once(keys, found.v[i]);
        }
    }
    hb_strv_destroy(&found);
}

/* Those of the user; then, of the places where hpcbootd serve looks for the
 * gang's key, those that a Secret is mounted to. */
static void add_usual_keys(struct maker *m)
{
    struct hb_strv *keys = &m->out->identities, dirs = HB_STRV_INIT;

    for (size_t h = 0; h < m->homes.n; h++) {
        char *dir = hb_xasprintf("%s/.ssh", m->homes.v[h]);

        add_keys_of(keys, dir, 1);
        free(dir);
    }
    m->out->n_own = keys->n;
    hb_gang_key_dirs(m->out->home, &dirs);
    for (size_t i = 0; i < dirs.n; i++) {
        if (hb_is_mount_of_secret(dirs.v[i])) {
            add_keys_of(keys, dirs.v[i], 0);
        }
    }
    hb_strv_destroy(&dirs);
}

/* A path, or $NAME for what that variable has, SSH_AUTH_SOCK likewise. */
static int choose_agent(struct maker *m, struct hpcboot_error *err)
{
    const char *said = m->conf.identity_agent;
    char *whole = NULL;

    m->out->use_agent = !hb_streq(said, "none");
    if (!said || !m->out->use_agent || hb_streq(said, "SSH_AUTH_SOCK")) {
        return HPCBOOT_OK;
    }
    if (said[0] == '$' && said[1] != '{' && !getenv(said + 1)) {
        m->out->use_agent = 0; /* as with ssh */
        return HPCBOOT_OK;
    }
    if (said[0] == '$' && said[1] != '{') {
        whole = hb_xasprintf("${%s}", said + 1);
    }
    m->out->agent_socket = file_of(m, "IdentityAgent", whole ? whole : said,
                                   err);
    free(whole);
    return m->out->agent_socket ? HPCBOOT_OK : HPCBOOT_ERR_USAGE;
}

static int choose_identities(struct maker *m, struct hpcboot_error *err)
{
    struct hb_ssh_settings *out = m->out;

    out->identities_only = m->conf.identities_only;
    if (add_files(m, "CertificateFile", &m->conf.certificate_files,
                  &out->certificates, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    if (m->config->identity) {
        hb_strv_push(&out->identities, m->config->identity);
        out->n_named = out->n_own = out->identities.n;
        return HPCBOOT_OK;
    }
    if (add_files(m, "IdentityFile", &m->conf.identity_files,
                  &out->identities, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    if (m->config->gang_key) {
        add_once(&out->identities, m->config->gang_key);
    }
    out->n_named = out->n_own = out->identities.n;
    if (!m->conf.identities_only
        || (out->n_named == 0 && m->conf.identity_files.n == 0)) {
        add_usual_keys(m);
    }
    return HPCBOOT_OK;
}

/* The colon before the port in host[:port], or NULL. A host with several
 * colons is an IPv6 address, whose port can only follow a bracket. */
static const char *port_colon(const char *host)
{
    const char *colon = strrchr(host, ':');

    if (colon && colon > host && colon[-1] != ']'
        && colon != strchr(host, ':')) {
        return NULL;
    }
    return colon;
}

/* [user@]host as ssh takes it for its own: an IPv6 address in brackets, which
 * a hop may have, would be looked up as a name. */
static void push_host(struct hb_strv *words, const char *hop, const char *end)
{
    const char *open = memchr(hop, '[', (size_t)(end - hop));

    if (open && end[-1] == ']' && (open == hop || open[-1] == '@')) {
        hb_strv_pushf(words, "%.*s%.*s", (int)(open - hop), hop,
                      (int)(end - open) - 2, open + 1);
    } else {
        hb_strv_take(words, hb_xstrndup(hop, (size_t)(end - hop)));
    }
}

/* The hops of ProxyJump, [user@]host[:port] or ssh://...: the words of an ssh
 * that carries the stream from the last of them. */
static int jump_words(struct maker *m, const char *jump,
                      struct hpcboot_error *err)
{
    struct hb_strv *words = &m->out->proxy;
    const char *comma = strrchr(jump, ',');
    const char *hop = comma ? comma + 1 : jump;
    const char *at, *colon, *end;

    if (hb_starts_with(hop, "ssh://")) {
        hop += strlen("ssh://");
    }
    at = strrchr(hop, '@');
    end = hop + strcspn(hop, "/");
    colon = port_colon(at ? at + 1 : hop);
    if (*hop == '-' || *hop == '\0' || (at && at[1] == '-')) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: ProxyJump %s does not name a host",
                       m->target->host, jump);
    }
    hb_strv_push(words, "ssh");
    if (m->config->ssh_config) {
        hb_strv_push(words, "-F");
        hb_strv_push(words, m->config->ssh_config);
    }
    hb_strv_push(words, "-oBatchMode=yes");
    if (comma) {
        hb_strv_push(words, "-J");
        hb_strv_take(words, hb_xstrndup(jump, (size_t)(comma - jump)));
    }
    if (colon) {
        hb_strv_push(words, "-p");
        hb_strv_take(words, hb_xstrndup(colon + 1, (size_t)(end - colon - 1)));
        end = colon;
    }
    hb_strv_push(words, "-W");
    hb_strv_pushf(words, "[%s]:%d", m->out->hostname, m->out->port);
    push_host(words, hop, end);
    return HPCBOOT_OK;
}

static void command_words(struct maker *m, const char *command)
{
    hb_strv_push(&m->out->proxy, "/bin/sh");
    hb_strv_push(&m->out->proxy, "-c");
    hb_strv_pushf(&m->out->proxy, "%s%s",
                  hb_starts_with(command, "exec ") ? "" : "exec ", command);
}

static int choose_proxy(struct maker *m, struct hpcboot_error *err)
{
    const char *jump = m->conf.proxy_jump;
    const char *said = jump ? jump : m->conf.proxy_command;
    struct hb_ssh_tokens t = tokens(m);
    int rc = HPCBOOT_OK;
    char *text;

    if (!said) {
        return rc;
    }
    m->out->proxy_from = jump ? "ProxyJump" : "ProxyCommand";
    text = hb_ssh_expand(said, &t, 0);
    if (!text) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: %s \"%s\" has a %% letter that is not known; try "
                       "--launch-with ssh", m->target->host,
                       m->out->proxy_from, said);
    }
    if (jump) {
        rc = jump_words(m, text, err);
    } else {
        command_words(m, text);
    }
    free(text);
    return rc;
}

int hb_ssh_settings_make(struct hb_ssh_settings *out,
                         const struct hb_boot_config *config,
                         const struct hb_boot_target *target,
                         struct hpcboot_error *err)
{
    struct maker m = {.config = config, .target = target, .out = out};
    const char *user = target->user ? target->user : config->user;
    int rc;

    memset(out, 0, sizeof *out);
    hb_ssh_conf_init(&m.conf);
    m.local_user = hb_local_user();
    snprintf(m.uid, sizeof m.uid, "%u", (unsigned)geteuid());
    if (gethostname(m.local_host, sizeof m.local_host - 1) != 0) {
        m.local_host[0] = '\0';
    }
    out->user = user ? hb_xstrdup(user) : NULL;
    find_homes(&m);
    rc = read_config(&m, err);
    if (rc == HPCBOOT_OK) {
        choose_user(&m);
        choose_place(&m);
        rc = choose_known_files(&m, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = choose_agent(&m, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = choose_identities(&m, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = choose_proxy(&m, err);
    }
    free(m.local_user);
    hb_strv_destroy(&m.homes);
    hb_ssh_conf_destroy(&m.conf);
    if (rc != HPCBOOT_OK) {
        hb_ssh_settings_destroy(out);
    }
    return rc;
}

void hb_ssh_settings_destroy(struct hb_ssh_settings *s)
{
    free(s->hostname);
    free(s->known_as);
    free(s->user);
    free(s->home);
    free(s->agent_socket);
    free(s->revoked_file);
    hb_strv_destroy(&s->certificates);
    hb_strv_destroy(&s->proxy);
    hb_strv_destroy(&s->known_files);
    hb_strv_destroy(&s->identities);
    memset(s, 0, sizeof *s);
}

/* Others are given one text for all hosts; what it lacks they would not see to
 * be contradicted. */
static int known_by_others(const struct hb_ssh_settings *s)
{
    size_t sum = 0;

    for (size_t i = 0; i < s->known_files.n; i++) {
        struct hpcboot_error unread;
        const char *text;
        size_t len;

        if (hb_ssh_known_text(s->known_files.v[i], &text, &len, &unread) < 0) {
            return 0;
        }
        sum += len + 1;
    }
    return !s->known_said && sum < HB_BOOT_KNOWN_MAX;
}

int hb_ssh_by_others(const struct hb_boot_config *config,
                     const struct hb_boot_target *target, char **user_out,
                     int *port_out)
{
    size_t gang_keys = config->gang_key ? 1 : 0;
    struct hb_ssh_settings s;
    int usual;

    if (config->identity || config->ssh_config
        || hb_ssh_settings_make(&s, config, target, NULL) != HPCBOOT_OK) {
        return 0;
    }
    usual = s.proxy.n == 0 && s.n_named <= gang_keys
            && strcasecmp(s.hostname, target->host) == 0
            && strcasecmp(s.known_as, target->host) == 0
            && !s.known_port_is_22
            && !s.revoked_file && s.certificates.n == 0
            && known_by_others(&s);
    if (usual) {
        *user_out = hb_xstrdup(s.user);
        *port_out = s.port_said ? s.port : 0;
    }
    hb_ssh_settings_destroy(&s);
    return usual;
}

void hb_ssh_known_hosts(const struct hb_boot_config *config,
                        const struct hb_boot_target *target,
                        struct hb_buf *out)
{
    struct hb_ssh_settings s;

    if (hb_ssh_settings_make(&s, config, target, NULL) != HPCBOOT_OK) {
        return;
    }
    for (size_t i = 0; i < s.known_files.n; i++) {
        struct hpcboot_error unread;
        const char *text;
        size_t len;

        /* One that cannot be read any more: as hb_ssh_by_others saw it. */
        (void)hb_ssh_known_text(s.known_files.v[i], &text, &len, &unread);
        if (text && out->len + len < HB_BOOT_KNOWN_MAX) {
            hb_buf_put_raw(out, text, len);
            hb_buf_put_raw(out, "\n", 1);
        }
    }
    hb_ssh_settings_destroy(&s);
}
