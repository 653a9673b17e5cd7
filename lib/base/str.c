/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Strings: allocation that does not fail, a string that grows, numbers and
 * durations out of text, and the nearest word to one that was mistyped.
 *
 * Memory here is small (names, sentences, command lines), and a launcher
 * that cannot have a hundred bytes has no better answer than a sentence and
 * abort(). What may be large is taken from struct hb_buf or malloc, and
 * checked.
 *
 * Number parsers take the whole text or nothing: "4x", " 4" and "" are
 * errors, so that a mistyped option is never half understood.
 */
#include "config.h"

#include "lib/base/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define STR_FIRST_CAP 64u /* a short line */
/* glibc keeps freed blocks of up to so many bytes for each thread; its calloc
 * (that of 2.36) takes none of them, but searches, and tidies, the heap. */
#define KEPT_MOST ((size_t)1032)

static const char *last_words;

void hb_no_memory_says(const char *words)
{
    last_words = words;
}

void hb_no_memory(void)
{
    if (last_words != NULL) {
        ssize_t n = write(STDERR_FILENO, last_words, strlen(last_words));

        (void)n;
    }
    abort();
}

static void *must_have(void *p)
{
    if (p == NULL) {
        hb_no_memory();
    }
    return p;
}

/* Zero bytes is asked for as one: NULL means "none" everywhere else. */
void *hb_xmalloc(size_t n)
{
    return must_have(malloc(n > 0 ? n : 1));
}

void *hb_zalloc(size_t n)
{
    void *p = n <= KEPT_MOST ? malloc(n > 0 ? n : 1) : calloc(1, n);

    return p != NULL && n <= KEPT_MOST ? memset(p, 0, n) : p;
}

void *hb_xcalloc(size_t n, size_t size)
{
    size_t bytes;

    return must_have(__builtin_mul_overflow(n, size, &bytes)
                         ? NULL : hb_zalloc(bytes));
}

void *hb_xrealloc(void *p, size_t n)
{
    return must_have(realloc(p, n > 0 ? n : 1));
}

char *hb_xstrdup(const char *s)
{
    return must_have(strdup(s));
}

char *hb_xstrndup(const char *s, size_t n)
{
    return must_have(strndup(s, n));
}

char *hb_next_piece(const char **text, char separator)
{
    const char *begin = *text, *end;

    while (*begin != '\0' && *begin == separator) {
        begin++;
    }
    end = strchrnul(begin, separator);
    *text = end;
    return end > begin ? hb_xstrndup(begin, (size_t)(end - begin)) : NULL;
}

char *hb_xasprintf(const char *fmt, ...)
{
    struct hb_str o = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&o, fmt, ap);
    va_end(ap);
    return hb_str_steal(&o);
}

/* Makes room for n more bytes and the NUL. */
static void make_room(struct hb_str *o, size_t n)
{
    size_t cap = o->cap > 0 ? o->cap : STR_FIRST_CAP;

    if (n > SIZE_MAX / 2 - o->len - 1) {
        hb_no_memory();
    }
    while (cap < o->len + n + 1) {
        cap *= 2;
    }
    if (cap > o->cap) {
        o->s = hb_xrealloc(o->s, cap);
        o->cap = cap;
    }
}

void hb_str_putn(struct hb_str *o, const char *text, size_t n)
{
    make_room(o, n);
    if (n > 0) {
        memcpy(o->s + o->len, text, n);
    }
    o->len += n;
    o->s[o->len] = '\0';
}

void hb_str_put(struct hb_str *o, const char *text)
{
    hb_str_putn(o, text, strlen(text));
}

void hb_str_putc(struct hb_str *o, char c)
{
    hb_str_putn(o, &c, 1);
}

void hb_str_putf(struct hb_str *o, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(o, fmt, ap);
    va_end(ap);
}

void hb_str_vputf(struct hb_str *o, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    make_room(o, 0);
    va_copy(again, ap);
    n = vsnprintf(o->s + o->len, o->cap - o->len, fmt, ap);
    if (n < 0) {
        abort(); /* a format that cannot be printed is a defect of ours */
    }
    if ((size_t)n >= o->cap - o->len) {
        make_room(o, (size_t)n);
        vsnprintf(o->s + o->len, o->cap - o->len, fmt, again);
    }
    va_end(again);
    o->len += (size_t)n;
}

const char *hb_str_text(const struct hb_str *o)
{
    return o->s != NULL ? o->s : "";
}

char *hb_str_steal(struct hb_str *o)
{
    char *s = o->s != NULL ? o->s : hb_xstrdup("");

    memset(o, 0, sizeof(*o));
    return s;
}

void hb_str_destroy(struct hb_str *o)
{
    free(o->s);
    memset(o, 0, sizeof(*o));
}

/* Reads digits as far as they go; NULL when there are none or too many. */
static const char *scan_digits(const char *text, uint64_t *out)
{
    const char *at = text;
    uint64_t v = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');

        if (v > (UINT64_MAX - digit) / 10) {
            return NULL;
        }
        v = v * 10 + digit;
    }
    *out = v;
    return at > text ? at : NULL;
}

int hb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    const char *end = text != NULL ? scan_digits(text, &v) : NULL;

    if (end == NULL || *end != '\0' || v < min || v > max) {
        return HPCBOOT_ERR_PARSE;
    }
    *out = v;
    return HPCBOOT_OK;
}

int hb_parse_int(const char *text, int min, int max, int *out)
{
    int negative = text != NULL && text[0] == '-';
    uint64_t magnitude = 0;
    int64_t v;

    if (hb_parse_u64(text != NULL ? text + negative : NULL, 0,
                     (uint64_t)INT_MAX + 1, &magnitude) < 0) {
        return HPCBOOT_ERR_PARSE;
    }
    v = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if (v < min || v > max) {
        return HPCBOOT_ERR_PARSE;
    }
    *out = (int)v;
    return HPCBOOT_OK;
}

static const struct unit {
    const char *suffix;
    int64_t ms;
} units[] = {
    {"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000},
};

static int64_t unit_ms(const char *suffix)
{
    size_t i;

    for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (hb_streq(units[i].suffix, suffix)) {
            return units[i].ms;
        }
    }
    return 0;
}

int hb_parse_duration_ms(const char *text, int64_t *ms_out)
{
    const uint64_t max_units = 1000000000; /* 30 years of seconds */
    uint64_t whole = 0, part = 0, scale = 1;
    const char *at, *digits;
    int64_t unit;

    at = text != NULL ? scan_digits(text, &whole) : NULL;
    if (at != NULL && *at == '.') {
        digits = at + 1;
        at = scan_digits(digits, &part);
        if (at == NULL || at - digits > 9) {
            return HPCBOOT_ERR_PARSE;
        }
        for (; digits < at; digits++) {
            scale *= 10;
        }
    }
    unit = at != NULL ? unit_ms(at) : 0;
    if (unit == 0 || whole > max_units) {
        return HPCBOOT_ERR_PARSE;
    }
    *ms_out = (int64_t)(whole * (uint64_t)unit + part * (uint64_t)unit / scale);
    return HPCBOOT_OK;
}

int hb_streq(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

int hb_secret_equal(const void *a, const void *b, size_t len)
{
    const volatile unsigned char *x = a, *y = b;
    unsigned char differs = 0;

    for (size_t i = 0; i < len; i++) {
        differs |= x[i] ^ y[i];
    }
    return differs == 0;
}

int hb_secret_streq(const char *a, const char *b)
{
    size_t len = strlen(a);

    return strlen(b) == len && hb_secret_equal(a, b, len);
}

int hb_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

int hb_ends_with(const char *s, const char *suffix)
{
    size_t len = strlen(s), n = strlen(suffix);

    return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

const char *hb_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

size_t hb_assigned_name(const char *word)
{
    size_t n = 0;

    while (isalnum((unsigned char)word[n]) || word[n] == '_') {
        n++;
    }
    return word[n] == '=' && !isdigit((unsigned char)word[0]) ? n : 0;
}

void hb_unescape_octal(char *s)
{
    char *to = s;

    for (; *s != '\0'; s++, to++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
            s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else {
            *to = *s;
        }
    }
    *to = '\0';
}

#define WORD_MAX_LEN 64u /* no option or key is longer */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

static int is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b, whatever
 * their case; three rows of the usual table are enough. Both at most
 * WORD_MAX_LEN long. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX_LEN + 1];
    size_t la = strlen(a), lb = strlen(b), i, j;

    for (j = 0; j <= lb; j++) {
        rows[0][j] = j;
    }
    for (i = 1; i <= la; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3];
        const size_t *before = rows[(i + 1) % 3];

        row[0] = i;
        for (j = 1; j <= lb; j++) {
            size_t replaced = last[j - 1] +
                              !is_same_letter(a[i - 1], b[j - 1]);

            row[j] = min3(replaced, last[j] + 1, row[j - 1] + 1);
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2])
                && is_same_letter(a[i - 2], b[j - 1])
                && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
    }
    return rows[la % 3][lb];
}

const char *hb_nearest(const char *word, const char *const *candidates,
                       size_t n)
{
    const char *best = NULL;
    size_t i, limit, distance;

    if (word == NULL || strlen(word) > WORD_MAX_LEN) {
        return NULL;
    }
    /* One edit in a short word, up to three in a long one; a word whose
     * every letter would change is not near. */
    limit = 1 + strlen(word) / 4;
    limit = limit < 3 ? limit : 3;
    for (i = 0; i < n; i++) {
        if (strlen(candidates[i]) > WORD_MAX_LEN) {
            continue;
        }
        distance = edit_distance(word, candidates[i]);
        if (distance <= limit && distance < strlen(word)) {
            best = candidates[i];
            limit = distance;
            if (distance == 0) {
                break;
            }
            limit--;
        }
    }
    return best;
}

char *hb_all_beginning(const char *word, const char *const *candidates,
                       size_t n)
{
    struct hb_str list = HB_STR_INIT;
    const char *last = NULL;
    size_t count = 0;

    for (size_t i = 0; word[0] != '\0' && i < n; i++) {
        if (strncasecmp(candidates[i], word, strlen(word)) != 0) {
            continue;
        }
        if (last != NULL) {
            hb_str_putf(&list, "%s%s", count > 1 ? ", " : "", last);
        }
        last = candidates[i];
        count++;
    }
    if (count < 2) {
        hb_str_destroy(&list);
        return NULL;
    }
    hb_str_putf(&list, " or %s", last);
    return hb_str_steal(&list);
}

int hb_is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, address, &v4) == 1) {
        return ntohl(v4.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
    }
    return inet_pton(AF_INET6, address, &v6) == 1 &&
           (IN6_IS_ADDR_LOOPBACK(&v6) ||
            (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET));
}

size_t hb_bom_len(const char *text, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";

    return len >= 3 && memcmp(text, bom, 3) == 0 ? 3 : 0;
}

size_t hb_utf8_len(const unsigned char *s)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n, i;

    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] < 0xc2 || s[0] > 0xf4) {
        return 0;
    }
    n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] == 0xe0) {
        low = 0xa0; /* shorter form exists */
    } else if (s[0] == 0xed) {
        high = 0x9f; /* surrogates */
    } else if (s[0] == 0xf0) {
        low = 0x90; /* shorter form exists */
    } else if (s[0] == 0xf4) {
        high = 0x8f; /* above U+10FFFF */
    }
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (i = 2; i < n; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) {
            return 0;
        }
    }
    return n;
}

size_t hb_control_len(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t n = hb_utf8_len(u);

    if (n == 0 || *u < ' ' || *u == 0x7f) {
        return 1;
    }
    return n == 2 && u[0] == 0xc2 && u[1] < 0xa0 ? n : 0;
}

void hb_mask_controls(char *s)
{
    while (*s) {
        size_t bad = hb_control_len(s);

        memset(s, '?', bad);
        s += bad > 0 ? bad : hb_utf8_len((const unsigned char *)s);
    }
}
