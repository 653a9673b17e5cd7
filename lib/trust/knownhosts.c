/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reading known_hosts files, by the rules of sshd(8), "SSH_KNOWN_HOSTS FILE
 * FORMAT": a line is `[@marker] names type base64 [comment]`, and names are
 * patterns separated by commas or one hashed name `|1|salt|hash`. Under a port
 * other than 22 a host is called `[host]:port`; as in OpenSSH, a plain name
 * still vouches for a key there, but does not contradict one.
 *
 * A line that cannot be read says nothing; it never stops the scan. */
#include "config.h"

#include "lib/trust/knownhosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/pattern.h"

#define SSH_PORT 22
#define SHA1_BASE64 28 /* of 20 bytes, one of the characters being padding */
#define HOST_MAX_BYTES 1024 /* DNS allows 253 */

struct word {
    const char *text;
    size_t len;
};

struct scan {
    const struct hb_known_query *query;
    struct hb_known *known;
    char exact[HOST_MAX_BYTES + 16]; /* host, or [host]:port */
    char plain[HOST_MAX_BYTES];      /* host; empty under port 22 */
    struct hb_known_place here;
};

/* How a line's names meet the host. */
enum meets { MEETS_NOT, MEETS_PLAIN, MEETS_EXACT };

static struct word next_word(const char **p, const char *end)
{
    struct word w;

    while (*p < end && (**p == ' ' || **p == '\t')) {
        (*p)++;
    }
    w.text = *p;
    while (*p < end && **p != ' ' && **p != '\t' && **p != '\r') {
        (*p)++;
    }
    w.len = (size_t)(*p - w.text);
    return w;
}

static int word_is(struct word w, const char *text)
{
    return w.len == strlen(text) && memcmp(w.text, text, w.len) == 0;
}

/* The value of a base64 digit, or -1. */
static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;

    return p ? (int)(p - digits) : -1;
}

/* Decodes exactly one SHA-1 value. */
static int decode_sha1(const char *text, unsigned char out[HB_SHA1_BYTES])
{
    unsigned bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < SHA1_BASE64 - 1; i++) {
        int value = digit(text[i]);

        if (value < 0) {
            return 0;
        }
        bits = bits << 6 | (unsigned)value;
        /* Each digit but the first of four completes a byte. */
        if (i % 4 != 0) {
            out[n++] = (unsigned char)(bits >> (6 - i % 4 * 2));
        }
    }
    return text[SHA1_BASE64 - 1] == '=';
}

/* |1|salt|hash */
static int hashed_match(const struct scan *s, const char *host,
                        struct word names)
{
    static const char magic[] = "|1|";
    unsigned char salt[HB_SHA1_BYTES], wanted[HB_SHA1_BYTES];
    unsigned char got[HB_SHA1_BYTES];
    const char *p = names.text + strlen(magic);

    if (!*host || !s->query->hmac
        || names.len != strlen(magic) + 2 * SHA1_BASE64 + 1
        || memcmp(names.text, magic, strlen(magic)) != 0
        || p[SHA1_BASE64] != '|' || !decode_sha1(p, salt)
        || !decode_sha1(p + SHA1_BASE64 + 1, wanted)) {
        return 0;
    }
    return s->query->hmac(salt, sizeof salt, host, strlen(host), got)
        && memcmp(got, wanted, sizeof got) == 0;
}

static int names_match(const struct scan *s, const char *host,
                       struct word names)
{
    if (names.len > 0 && names.text[0] == '|') {
        return hashed_match(s, host, names);
    }
    return *host && hb_pattern_list(host, names.text, names.len, ",") > 0;
}

/* A pattern, or more names than one, the same with its domain, and an address,
 * which are one host's. */
static int of_others(struct word names)
{
    size_t commas = 0, wild = 0;

    for (size_t i = 0; i < names.len; i++) {
        commas += names.text[i] == ',';
        wild += names.text[i] == '*' || names.text[i] == '?';
    }
    return commas > 2 || wild > 0;
}

static enum meets meets_host(const struct scan *s, struct word names)
{
    if (names_match(s, s->exact, names)) {
        return MEETS_EXACT;
    }
    return names_match(s, s->plain, names) ? MEETS_PLAIN : MEETS_NOT;
}

static void note(struct hb_known_place *place,
                 const struct hb_known_place *here)
{
    if (place->line == 0) {
        *place = *here;
    }
}

static void add_type(struct hb_known *known, enum meets meets,
                     struct word type)
{
    if (meets == MEETS_PLAIN && known->exact_types) {
        return;
    }
    if (meets == MEETS_EXACT && !known->exact_types) {
        known->exact_types = 1;
        known->n_types = 0;
    }
    for (size_t i = 0; i < known->n_types; i++) {
        if (word_is(type, known->types[i])) {
            return;
        }
    }
    if (known->n_types < HB_KNOWN_TYPES_MAX
        && type.len < HB_KNOWN_TYPE_BYTES) {
        snprintf(known->types[known->n_types++], HB_KNOWN_TYPE_BYTES, "%.*s",
                 (int)type.len, type.text);
    }
}

static int is_key(const struct scan *s, struct word type, struct word blob)
{
    return s->query->key_type && word_is(type, s->query->key_type)
        && word_is(blob, s->query->key_blob);
}

/* A row of strings, the first of which is the type. Half a line, as a full disk
 * leaves one, is no other key of the host. */
static int is_whole(struct word type, struct word blob)
{
    unsigned char *bytes = hb_xmalloc(HB_BASE64_ROOM(blob.len));
    long n = hb_base64_decode(blob.text, blob.len, bytes);
    struct hb_bytes first;
    struct hb_buf view;
    int whole;

    hb_buf_view(&view, bytes, n > 0 ? (size_t)n : 0);
    first = hb_buf_get_blob(&view, view.len);
    whole = first.len == type.len && hb_buf_left(&view) > 0
        && memcmp(first.data, type.text, type.len) == 0;
    while (!hb_buf_failed(&view) && hb_buf_left(&view) > 0) {
        (void)hb_buf_get_blob(&view, view.len);
    }
    whole = whole && !hb_buf_failed(&view);
    free(bytes);
    return whole;
}

static void plain_line(struct scan *s, enum meets meets, struct word type,
                       struct word blob)
{
    struct hb_known *known = s->known;

    if (!is_whole(type, blob)) {
        return;
    }
    add_type(known, meets, type);
    if (is_key(s, type, blob)) {
        note(&known->match, &s->here);
    } else if (s->query->key_type) {
        note(meets != MEETS_EXACT ? &known->elsewhere
             : word_is(type, s->query->key_type) ? &known->differs
                                                 : &known->other, &s->here);
    }
}

static void scan_line(struct scan *s, const char *p, const char *end)
{
    struct word marker = {"", 0}, names = next_word(&p, end), type, blob;
    enum meets meets;

    if (names.len == 0 || names.text[0] == '#') {
        return;
    }
    if (names.text[0] == '@') {
        marker = names;
        names = next_word(&p, end);
    }
    type = next_word(&p, end);
    blob = next_word(&p, end);
    /* Keys of SSH 1 are numbers, the first of them where others have a type. */
    meets = blob.len > 0 && !isdigit((unsigned char)type.text[0])
        ? meets_host(s, names) : MEETS_NOT;
    if (meets == MEETS_NOT) {
        return;
    }
    s->here.of_others = of_others(names);
    if (marker.len == 0) {
        plain_line(s, meets, type, blob);
    } else if (word_is(marker, "@cert-authority")) {
        note(&s->known->authority, &s->here);
    } else if (word_is(marker, "@revoked") && is_key(s, type, blob)) {
        note(&s->known->revoked, &s->here);
    }
}

static void lower(char *text)
{
    for (; *text; text++) {
        *text = (char)tolower((unsigned char)*text);
    }
}

void hb_known_scan(const char *text, size_t len, const char *file,
                   const struct hb_known_query *query, struct hb_known *known)
{
    struct scan s = {.query = query, .known = known};
    const char *end = text + len;

    if (query->port == 0 || query->port == SSH_PORT) {
        snprintf(s.exact, sizeof s.exact, "%.*s", HOST_MAX_BYTES - 1,
                 query->host);
    } else {
        snprintf(s.exact, sizeof s.exact, "[%.*s]:%d", HOST_MAX_BYTES - 1,
                 query->host, query->port);
        snprintf(s.plain, sizeof s.plain, "%s", query->host);
    }
    lower(s.exact); /* hashes are made of lower-case names */
    lower(s.plain);
    snprintf(s.here.file, sizeof s.here.file, "%s", file);
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        s.here.line++;
        stop = stop ? stop : end;
        scan_line(&s, text, stop);
        text = stop + 1;
    }
}
