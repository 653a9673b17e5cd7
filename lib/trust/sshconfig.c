/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The reader of ssh_config files. A file is a list of lines `Keyword values`;
 * Host and Match lines switch the following lines on or off for the host in
 * question. Keywords are dispatched by a table; one that is not in it is
 * passed over, since the file was written for another program.
 *
 * An included file starts in the state of the line that includes it and has no
 * effect on the lines behind that. One that is included by a line that does
 * not apply is read for `Match final`, which counts wherever it stands. */
#include "config.h"

#include "lib/trust/sshconfig_impl.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define INCLUDES_MAX 256 /* files of one word of Include */

void hb_ssh_conf_init(struct hb_ssh_conf *conf)
{
    memset(conf, 0, sizeof *conf);
}

void hb_ssh_conf_destroy(struct hb_ssh_conf *conf)
{
    free(conf->hostname);
    free(conf->host_key_alias);
    free(conf->user);
    free(conf->proxy_jump);
    free(conf->proxy_command);
    free(conf->identity_agent);
    free(conf->revoked_host_keys);
    free(conf->tag);
    hb_strv_destroy(&conf->certificate_files);
    hb_strv_destroy(&conf->identity_files);
    hb_strv_destroy(&conf->user_known_hosts);
    hb_strv_destroy(&conf->global_known_hosts);
    hb_ssh_conf_init(conf);
}

int hb_ssh_complain(struct hb_ssh_reader *r, const char *what)
{
    return hb_fail(r->err, HPCBOOT_ERR_PARSE, "%s:%d: %s", r->file, r->line,
                   what);
}

/* Whether the backslash at *p only says that what follows is of the value. */
static int is_escaped(const char *p, const char *end, char quote)
{
    return p + 1 < end && p[1] != '\0'
        && (strchr("\"'\\", p[1]) || (!quote && p[1] == ' '));
}

/* A value, in quotes or up to a blank. */
static int next_value(const char **p, const char *end, struct hb_str *out)
{
    char quote = 0;

    while (*p < end && strchr(" \t\r", **p)) {
        (*p)++;
    }
    if (*p == end || **p == '#') {
        *p = end;
        return 0;
    }
    hb_str_put(out, "");
    for (; *p < end && (quote || !strchr(" \t\r", **p)); (*p)++) {
        if (quote ? **p == quote : (**p == '"' || **p == '\'')) {
            quote = quote ? 0 : **p;
        } else if (**p == '\\' && is_escaped(*p, end, quote)) {
            hb_str_putc(out, *++(*p));
        } else {
            hb_str_putc(out, **p);
        }
    }
    return quote ? -1 : 1;
}

static int split_values(const char *p, const char *end, struct hb_strv *out)
{
    int got;

    do {
        struct hb_str value = HB_STR_INIT;

        got = next_value(&p, end, &value);
        if (got > 0) {
            hb_strv_take(out, hb_str_steal(&value));
        }
        hb_str_destroy(&value);
    } while (got > 0);
    return got;
}

static void set_once(char **slot, const char *value)
{
    if (!*slot) {
        *slot = hb_xstrdup(value);
    }
}

/* The name that Host and Match host look at, and HostName's %h. */
static int on_hostname(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    struct hb_ssh_tokens t = {.host = r->query->host};
    char *name;

    if (r->conf->hostname) {
        return HPCBOOT_OK;
    }
    name = hb_ssh_expand(v->v[0], &t, 0);
    if (!name) {
        return hb_ssh_complain(r, "HostName knows %h and %% only");
    }
    r->conf->hostname = name;
    return HPCBOOT_OK;
}

static int on_alias(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->host_key_alias, v->v[0]);
    return HPCBOOT_OK;
}

static int on_port(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    int port;

    if (hb_parse_int(v->v[0], 1, 65535, &port) < 0) {
        return hb_ssh_complain(r, "not a port number");
    }
    if (r->conf->port == 0) {
        r->conf->port = port;
    }
    return HPCBOOT_OK;
}

static int on_user(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->user, v->v[0]);
    return HPCBOOT_OK;
}

/* A second reading finds those of the first again. */
static void push_once(struct hb_strv *list, const char *value)
{
    for (size_t i = 0; i < list->n; i++) {
        if (hb_streq(list->v[i], value)) {
            return;
        }
    }
    hb_strv_push(list, value);
}

static int on_identity(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    push_once(&r->conf->identity_files, v->v[0]);
    return HPCBOOT_OK;
}

static int on_certificate(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    push_once(&r->conf->certificate_files, v->v[0]);
    return HPCBOOT_OK;
}

static int on_revoked(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->revoked_host_keys, v->v[0]);
    return HPCBOOT_OK;
}

static int on_identities_only(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    if (!r->conf->identities_only_said) {
        r->conf->identities_only_said = 1;
        r->conf->identities_only = strcasecmp(v->v[0], "yes") == 0
            || strcasecmp(v->v[0], "true") == 0;
    }
    return HPCBOOT_OK;
}

static int on_tag(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->tag, v->v[0]);
    return HPCBOOT_OK;
}

static int on_canonical(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    struct hb_ssh_conf *conf = r->conf;

    if (!conf->canonical_said) {
        conf->canonical_said = 1;
        conf->canonical = strcasecmp(v->v[0], "always") == 0
            ? HB_CANONICAL_ALWAYS
            : strcasecmp(v->v[0], "yes") == 0
              || strcasecmp(v->v[0], "true") == 0
            ? HB_CANONICAL_YES : HB_CANONICAL_NO;
    }
    return HPCBOOT_OK;
}

static int on_canonical_rules(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    r->conf->canonical_rules |= strcasecmp(v->v[0], "none") != 0;
    return HPCBOOT_OK;
}

static int on_agent(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->identity_agent, v->v[0]);
    return HPCBOOT_OK;
}

static char *unless_none(const char *value)
{
    return strcasecmp(value, "none") ? hb_xstrdup(value) : NULL;
}

/* Of several words the first counts. As with ssh, "ProxyJump none" is the end
 * of jumps and leaves a ProxyCommand its say. */
static int on_proxy_jump(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    struct hb_ssh_conf *conf = r->conf;

    if (!conf->jump_said && !conf->command_said) {
        conf->jump_said = 1;
        conf->proxy_jump = unless_none(v->v[0]);
    }
    return HPCBOOT_OK;
}

/* The value is the rest of the line (line_values). */
static int on_proxy_command(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    struct hb_ssh_conf *conf = r->conf;

    if (!conf->proxy_jump && !conf->command_said) {
        conf->command_said = 1;
        conf->proxy_command = unless_none(v->v[0]);
    }
    return HPCBOOT_OK;
}

static int on_user_known(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    if (r->conf->user_known_hosts.n == 0) {
        hb_strv_extend(&r->conf->user_known_hosts, v->v);
    }
    return HPCBOOT_OK;
}

static int on_global_known(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    if (r->conf->global_known_hosts.n == 0) {
        hb_strv_extend(&r->conf->global_known_hosts, v->v);
    }
    return HPCBOOT_OK;
}

static int read_file(struct hb_ssh_reader *r, const char *path);

/* As with ssh what is not there says nothing, nor does a folder; what is there
 * and cannot be read may be what keeps a login safe. */
static int include_found(struct hb_ssh_reader *r, const char *path)
{
    struct hb_ssh_reader inner = *r;
    struct stat st;
    int rc;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return HPCBOOT_OK;
    }
    inner.depth++;
    inner.never = !r->active;
    inner.own = 1;
    rc = read_file(&inner, path);
    if (rc == HPCBOOT_ERR_SYSTEM) {
        struct hpcboot_error why = {.text = ""};

        if (r->err) {
            why = *r->err;
        }
        return hb_fail(r->err, HPCBOOT_ERR_PARSE, "%s:%d: Include: %.360s",
                       r->file, r->line, why.text);
    }
    return rc == HPCBOOT_ERR_NOT_FOUND ? HPCBOOT_OK : rc;
}

static int include_one(struct hb_ssh_reader *r, const char *pattern)
{
    struct hb_str full = HB_STR_INIT;
    glob_t found = {0};
    int rc = HPCBOOT_OK, got;

    if (pattern[0] == '~' && pattern[1] == '/' && r->query->home) {
        hb_str_putf(&full, "%s%s", r->query->home, pattern + 1);
    } else if (pattern[0] == '/' || pattern[0] == '~') {
        hb_str_put(&full, pattern);
    } else {
        hb_str_putf(&full, "%s/%s", r->dir, pattern);
    }
    got = glob(hb_str_text(&full), GLOB_TILDE, NULL, &found);
    if (got != 0 && got != GLOB_NOMATCH) {
        rc = hb_ssh_complain(r, "the files of Include cannot be listed");
    } else if (got == 0 && found.gl_pathc > INCLUDES_MAX) {
        rc = hb_ssh_complain(r, "Include means more than 256 files");
    }
    for (size_t i = 0; rc == HPCBOOT_OK && got == 0 && i < found.gl_pathc;
         i++) {
        rc = include_found(r, found.gl_pathv[i]);
    }
    globfree(&found);
    hb_str_destroy(&full);
    return rc;
}

static int on_include(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    int rc = HPCBOOT_OK;

    if (!r->dir) {
        return rc;
    }
    if (r->depth >= HB_SSH_INCLUDE_DEPTH) {
        return hb_ssh_complain(r, "files include each other too deeply");
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < v->n; i++) {
        rc = include_one(r, v->v[i]);
    }
    return rc;
}

struct keyword {
    const char *name;
    int (*take)(struct hb_ssh_reader *r, const struct hb_strv *values);
    int always; /* also in lines that do not apply */
};

static const struct keyword keywords[] = {
    {"host", hb_ssh_on_host, 1},
    {"match", hb_ssh_on_match, 1},
    {"include", on_include, 1},
    {"hostname", on_hostname, 0},
    {"hostkeyalias", on_alias, 0},
    {"port", on_port, 0},
    {"user", on_user, 0},
    {"identityfile", on_identity, 0},
    {"certificatefile", on_certificate, 0},
    {"identitiesonly", on_identities_only, 0},
    {"identityagent", on_agent, 0},
    {"proxyjump", on_proxy_jump, 0},
    {"proxycommand", on_proxy_command, 0},
    {"userknownhostsfile", on_user_known, 0},
    {"globalknownhostsfile", on_global_known, 0},
    {"revokedhostkeys", on_revoked, 0},
    {"tag", on_tag, 0},
    {"canonicalizehostname", on_canonical, 0},
    {"canonicaldomains", on_canonical_rules, 0},
    {"canonicalizepermittedcnames", on_canonical_rules, 0},
};

static const struct keyword *find_keyword(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (strlen(keywords[i].name) == len
            && strncasecmp(keywords[i].name, name, len) == 0) {
            return &keywords[i];
        }
    }
    return NULL;
}

/* ProxyCommand is for a shell to read: its value is the rest of the line. */
static int line_values(const struct keyword *word, const char *p,
                       const char *end, struct hb_strv *values)
{
    if (word->take != on_proxy_command) {
        return split_values(p, end, values);
    }
    while (end > p && strchr(" \t\r", end[-1])) {
        end--;
    }
    if (end > p) {
        hb_strv_take(values, hb_xstrndup(p, (size_t)(end - p)));
    }
    return 0;
}

static int read_line(struct hb_ssh_reader *r, const char *p, const char *end)
{
    struct hb_strv values = HB_STRV_INIT;
    const struct keyword *word;
    const char *name;
    int rc = HPCBOOT_OK;

    while (p < end && isspace((unsigned char)*p)) {
        p++;
    }
    for (name = p; p < end && isalnum((unsigned char)*p); p++) {
    }
    word = find_keyword(name, (size_t)(p - name));
    if (!word || !(r->active || word->always)) {
        return HPCBOOT_OK;
    }
    while (p < end && strchr(" \t\r", *p)) {
        p++;
    }
    if (p < end && *p == '=') {
        p++;
    }
    while (p < end && strchr(" \t\r", *p)) {
        p++;
    }
    if (line_values(word, p, end, &values) < 0) {
        rc = hb_ssh_complain(r, "a quote is not closed");
    } else if (values.n == 0 || !*values.v[0]) {
        rc = hb_ssh_complain(r, "the value is missing");
    } else {
        rc = word->take(r, &values);
    }
    hb_strv_destroy(&values);
    return rc;
}

static int read_text(struct hb_ssh_reader *r, const char *text, size_t len)
{
    const char *end = text + len;
    int rc = HPCBOOT_OK;

    while (rc == HPCBOOT_OK && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        r->line++;
        stop = stop ? stop : end;
        rc = read_line(r, text, stop);
        text = stop + 1;
    }
    return rc;
}

static int read_file(struct hb_ssh_reader *r, const char *path)
{
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    int rc;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return hb_fail(r->err, HPCBOOT_ERR_SYSTEM, "%s is not a file", path);
    }
    rc = (r->own ? hb_file_read_own : hb_file_read)(
        path, HB_SSH_CONF_MAX_BYTES, &text, &len, r->err);
    if (rc == HPCBOOT_OK) {
        r->file = path;
        r->line = 0;
        rc = read_text(r, text, len);
    }
    free(text);
    return rc;
}

int hb_ssh_conf_file(struct hb_ssh_conf *conf, const char *path,
                     const char *dir, int own,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct hb_ssh_reader r = {.conf = conf, .query = query, .dir = dir,
                              .active = 1, .own = own, .err = err};

    return read_file(&r, path);
}

int hb_ssh_conf_text(struct hb_ssh_conf *conf, const char *text, size_t len,
                     const char *file, const char *dir,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct hb_ssh_reader r = {.conf = conf, .query = query, .file = file,
                              .dir = dir, .active = 1, .err = err};

    return read_text(&r, text, len);
}
