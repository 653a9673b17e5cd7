/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The reader of ssh_config files. A file is a list of lines `Keyword values`;
 * Host and Match lines switch the following lines on or off for the host in
 * question. Keywords are dispatched by a table; one that is not in it is
 * passed over, since the file was written for another program.
 *
 * An included file starts in the state of the line that includes it and has no
 * effect on the lines behind that. No command is executed: `Match exec` counts
 * as not met. */
#include "config.h"

#include "lib/trust/sshconfig.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/trust/pattern.h"

#define INCLUDES_MAX 256 /* files of one Include line */

struct reader {
    struct hb_ssh_conf *conf;
    const struct hb_ssh_query *query;
    const char *file, *dir;
    int line;
    int active; /* the lines apply to this host */
    int depth;
    struct hpcboot_error *err;
};

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
    hb_strv_destroy(&conf->certificate_files);
    hb_strv_destroy(&conf->identity_files);
    hb_strv_destroy(&conf->user_known_hosts);
    hb_strv_destroy(&conf->global_known_hosts);
    hb_ssh_conf_init(conf);
}

static int complain(struct reader *r, const char *what)
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
static int on_hostname(struct reader *r, const struct hb_strv *v)
{
    struct hb_ssh_tokens t = {.host = r->query->host};
    char *name;

    if (r->conf->hostname) {
        return HPCBOOT_OK;
    }
    name = hb_ssh_expand(v->v[0], &t, 0);
    if (!name) {
        return complain(r, "HostName knows %h and %% only");
    }
    r->conf->hostname = name;
    return HPCBOOT_OK;
}

static int on_alias(struct reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->host_key_alias, v->v[0]);
    return HPCBOOT_OK;
}

static int on_port(struct reader *r, const struct hb_strv *v)
{
    int port;

    if (hb_parse_int(v->v[0], 1, 65535, &port) < 0) {
        return complain(r, "not a port number");
    }
    if (r->conf->port == 0) {
        r->conf->port = port;
    }
    return HPCBOOT_OK;
}

static int on_user(struct reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->user, v->v[0]);
    return HPCBOOT_OK;
}

static int on_identity(struct reader *r, const struct hb_strv *v)
{
    hb_strv_push(&r->conf->identity_files, v->v[0]);
    return HPCBOOT_OK;
}

static int on_certificate(struct reader *r, const struct hb_strv *v)
{
    hb_strv_push(&r->conf->certificate_files, v->v[0]);
    return HPCBOOT_OK;
}

static int on_revoked(struct reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->revoked_host_keys, v->v[0]);
    return HPCBOOT_OK;
}

static int on_identities_only(struct reader *r, const struct hb_strv *v)
{
    if (!r->conf->identities_only_said) {
        r->conf->identities_only_said = 1;
        r->conf->identities_only = strcasecmp(v->v[0], "yes") == 0
            || strcasecmp(v->v[0], "true") == 0;
    }
    return HPCBOOT_OK;
}

static int on_agent(struct reader *r, const struct hb_strv *v)
{
    set_once(&r->conf->identity_agent, v->v[0]);
    return HPCBOOT_OK;
}

static int on_proxy(struct reader *r, char **slot, const struct hb_strv *v)
{
    struct hb_str command = HB_STR_INIT;

    if (r->conf->proxy_said) {
        return HPCBOOT_OK;
    }
    r->conf->proxy_said = 1;
    if (strcasecmp(v->v[0], "none") == 0) {
        return HPCBOOT_OK;
    }
    for (size_t i = 0; i < v->n; i++) {
        hb_str_putf(&command, "%s%s", i ? " " : "", v->v[i]);
    }
    *slot = hb_str_steal(&command);
    return HPCBOOT_OK;
}

static int on_proxy_jump(struct reader *r, const struct hb_strv *v)
{
    return on_proxy(r, &r->conf->proxy_jump, v);
}

static int on_proxy_command(struct reader *r, const struct hb_strv *v)
{
    return on_proxy(r, &r->conf->proxy_command, v);
}

static int on_user_known(struct reader *r, const struct hb_strv *v)
{
    if (r->conf->user_known_hosts.n == 0) {
        hb_strv_extend(&r->conf->user_known_hosts, v->v);
    }
    return HPCBOOT_OK;
}

static int on_global_known(struct reader *r, const struct hb_strv *v)
{
    if (r->conf->global_known_hosts.n == 0) {
        hb_strv_extend(&r->conf->global_known_hosts, v->v);
    }
    return HPCBOOT_OK;
}

static int on_host(struct reader *r, const struct hb_strv *v)
{
    r->active = 0;
    for (size_t i = 0; i < v->n; i++) {
        const char *pattern = v->v[i];
        int found = hb_pattern_list(r->query->host, pattern, strlen(pattern),
                                    "");

        if (found < 0) {
            r->active = 0;
            break;
        }
        r->active |= found;
    }
    return HPCBOOT_OK;
}

/* One criterion of Match: 1 or 0; -1 for one that is not known. */
static int criterion_met(const struct reader *r, const char *name,
                         const char *value)
{
    const struct hb_ssh_conf *conf = r->conf;
    const char *text = NULL;

    if (strcasecmp(name, "all") == 0) {
        return 1;
    }
    if (strcasecmp(name, "host") == 0) {
        text = conf->hostname ? conf->hostname : r->query->host;
    } else if (strcasecmp(name, "originalhost") == 0) {
        text = r->query->host;
    } else if (strcasecmp(name, "user") == 0) {
        text = r->query->user ? r->query->user : conf->user;
        text = text ? text : r->query->local_user;
    } else if (strcasecmp(name, "localuser") == 0) {
        text = r->query->local_user;
    } else {
        return -1;
    }
    return text && hb_pattern_list(text, value, strlen(value), ",") > 0;
}

static int stands_alone(const char *criterion)
{
    return strcasecmp(criterion, "all") == 0 ||
           strcasecmp(criterion, "canonical") == 0 ||
           strcasecmp(criterion, "final") == 0;
}

/* Cuts the words of a Match line at the first = of each criterion, which may
 * stand in for the blank: `host=a`, `host= a`, `host = a`. What comes out is
 * a criterion and its value ("" for one that has none) by turns. */
static int match_pairs(struct reader *r, const struct hb_strv *v,
                       struct hb_strv *out)
{
    for (size_t i = 0; i < v->n; i++) {
        size_t len = strcspn(v->v[i], "=");
        const char *value = v->v[i] + len;
        char *name = hb_xstrndup(v->v[i], len);
        int alone = stands_alone(name + (*name == '!'));

        hb_strv_take(out, name);
        if (*value == '\0' && !alone) {
            value = ++i < v->n ? v->v[i] : "";
        }
        if (*value == '=') {
            value++;
            value = *value == '\0' && ++i < v->n ? v->v[i] : value;
        }
        if (*value == '\0' && !alone) {
            return complain(r, "a criterion of Match has no value");
        }
        hb_strv_push(out, value);
    }
    return HPCBOOT_OK;
}

static int on_match(struct reader *r, const struct hb_strv *v)
{
    struct hb_strv pairs = HB_STRV_INIT;
    int rc = match_pairs(r, v, &pairs);

    r->active = rc == HPCBOOT_OK;
    for (size_t i = 0; r->active && i < pairs.n; i += 2) {
        const char *name = pairs.v[i];
        int negated = *name == '!';
        int met = criterion_met(r, name + negated, pairs.v[i + 1]);

        r->active = met >= 0 && met != negated;
    }
    hb_strv_destroy(&pairs);
    return rc;
}

static int read_file(struct reader *r, const char *path);

static int include_one(struct reader *r, const char *pattern)
{
    struct hb_str full = HB_STR_INIT;
    glob_t found = {0};
    int rc = HPCBOOT_OK;

    if (pattern[0] == '~' && pattern[1] == '/' && r->query->home) {
        hb_str_putf(&full, "%s%s", r->query->home, pattern + 1);
    } else if (pattern[0] == '/') {
        hb_str_put(&full, pattern);
    } else {
        hb_str_putf(&full, "%s/%s", r->dir, pattern);
    }
    if (glob(hb_str_text(&full), 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && i < INCLUDES_MAX; i++) {
            struct reader inner = *r;

            inner.depth++;
            rc = read_file(&inner, found.gl_pathv[i]);
            if (rc == HPCBOOT_ERR_PARSE || rc == HPCBOOT_ERR_LIMIT) {
                break;
            }
            rc = HPCBOOT_OK;
        }
    }
    globfree(&found);
    hb_str_destroy(&full);
    return rc;
}

static int on_include(struct reader *r, const struct hb_strv *v)
{
    int rc = HPCBOOT_OK;

    if (!r->dir) {
        return rc;
    }
    if (r->depth >= HB_SSH_INCLUDE_DEPTH) {
        return complain(r, "files include each other too deeply");
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < v->n; i++) {
        rc = include_one(r, v->v[i]);
    }
    return rc;
}

struct keyword {
    const char *name;
    int (*take)(struct reader *r, const struct hb_strv *values);
    int always; /* also in lines that do not apply */
};

static const struct keyword keywords[] = {
    {"host", on_host, 1},
    {"match", on_match, 1},
    {"include", on_include, 0},
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

static int read_line(struct reader *r, const char *p, const char *end)
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
        rc = complain(r, "a quote is not closed");
    } else if (values.n == 0 || !*values.v[0]) {
        rc = complain(r, "the value is missing");
    } else {
        rc = word->take(r, &values);
    }
    hb_strv_destroy(&values);
    return rc;
}

static int read_text(struct reader *r, const char *text, size_t len)
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

static int read_file(struct reader *r, const char *path)
{
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    int rc;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return hb_fail(r->err, HPCBOOT_ERR_SYSTEM, "%s is not a file", path);
    }
    rc = hb_file_read(path, HB_SSH_CONF_MAX_BYTES, &text, &len, r->err);
    if (rc == HPCBOOT_OK) {
        r->file = path;
        r->line = 0;
        rc = read_text(r, text, len);
    }
    free(text);
    return rc;
}

int hb_ssh_conf_file(struct hb_ssh_conf *conf, const char *path,
                     const char *dir, const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct reader r = {.conf = conf, .query = query, .dir = dir, .active = 1,
                       .err = err};

    return read_file(&r, path);
}

int hb_ssh_conf_text(struct hb_ssh_conf *conf, const char *text, size_t len,
                     const char *file, const char *dir,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct reader r = {.conf = conf, .query = query, .file = file, .dir = dir,
                       .active = 1, .err = err};

    return read_text(&r, text, len);
}

static const char *token_value(char letter, const struct hb_ssh_tokens *t,
                               char *number, size_t size)
{
    switch (letter) {
    case '%':
        return "%";
    case 'd':
        return t->home;
    case 'h':
        return t->host;
    case 'n':
        return t->original;
    case 'k':
        return t->alias;
    case 'i':
        return t->uid;
    case 'l':
    case 'L':
        return t->local_host;
    case 'r':
        return t->user;
    case 'u':
        return t->local_user;
    case 'p':
        snprintf(number, size, "%d", t->port);
        return t->port ? number : NULL;
    default:
        return NULL;
    }
}

/* Puts the value of the letter or variable that *p begins with; *p is then at
 * its last character. 0: it has none. */
static int put_value(const char **p, const struct hb_ssh_tokens *t,
                     struct hb_str *out)
{
    const char *value, *end = strchr(*p, '}');
    char number[16], *name;

    if (**p == '$') {
        name = end ? hb_xstrndup(*p + 2, (size_t)(end - *p - 2)) : NULL;
        value = name ? getenv(name) : NULL;
        *p = end;
        free(name);
    } else {
        value = token_value(*++(*p), t, number, sizeof number);
    }
    if (value) {
        hb_str_putn(out, value,
                    **p == 'L' ? strcspn(value, ".") : strlen(value));
    }
    return value != NULL;
}

char *hb_ssh_expand(const char *text, const struct hb_ssh_tokens *t, int file)
{
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "");
    if (file && text[0] == '~' && text[1] == '/' && t->home) {
        hb_str_put(&out, t->home);
        text++;
    }
    for (; *text; text++) {
        if (*text != '%' && !(file && hb_starts_with(text, "${"))) {
            hb_str_putc(&out, *text);
        } else if (!put_value(&text, t, &out)) {
            hb_str_destroy(&out);
            return NULL;
        }
    }
    return hb_str_steal(&out);
}
