/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Writes JSON text (RFC 8259) in order, without a tree: what is written is
 * what the caller calls, and commas are kept track of by one flag.
 *
 * The output is always valid UTF-8. Host names, paths and messages come from
 * outside and may be anything; bytes that do not form a shortest-form,
 * non-surrogate sequence become U+FFFD one by one.
 */
#include "config.h"

#include "lib/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hb_json_begin(struct hb_json *j, struct hb_str *out)
{
    j->out = out;
    j->need_comma = 0;
}

int hb_json_holds(const char *value)
{
    size_t n = 1;

    for (; *value != '\0' && n > 0; value += n) {
        n = hb_utf8_len((const unsigned char *)value);
    }
    return n > 0;
}

static void put_quoted(struct hb_str *out, const char *text)
{
    static const char short_from[] = "\"\\\n\r\t", short_to[] = "\"\\nrt";
    const char *at = text, *found;
    size_t n;

    hb_str_putc(out, '"');
    for (; *at != '\0'; at += n > 0 ? n : 1) {
        n = hb_utf8_len((const unsigned char *)at);
        found = strchr(short_from, *at);
        if (n == 0) {
            hb_str_put(out, "\xef\xbf\xbd");
        } else if (found != NULL) {
            hb_str_putf(out, "\\%c", short_to[found - short_from]);
        } else if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            hb_str_putf(out, "\\u%04x", (unsigned)*at);
        } else {
            hb_str_putn(out, at, n);
        }
    }
    hb_str_putc(out, '"');
}

/* What stands before any value: a comma where one is due, and the key. */
static struct hb_str *before_value(struct hb_json *j, const char *key)
{
    if (j->need_comma) {
        hb_str_putc(j->out, ',');
    }
    if (key != NULL) {
        put_quoted(j->out, key);
        hb_str_putc(j->out, ':');
    }
    j->need_comma = 1;
    return j->out;
}

void hb_json_object(struct hb_json *j, const char *key)
{
    hb_str_putc(before_value(j, key), '{');
    j->need_comma = 0;
}

void hb_json_end_object(struct hb_json *j)
{
    hb_str_putc(j->out, '}');
    j->need_comma = 1;
}

void hb_json_array(struct hb_json *j, const char *key)
{
    hb_str_putc(before_value(j, key), '[');
    j->need_comma = 0;
}

void hb_json_end_array(struct hb_json *j)
{
    hb_str_putc(j->out, ']');
    j->need_comma = 1;
}

void hb_json_str(struct hb_json *j, const char *key, const char *value)
{
    if (value == NULL) {
        hb_json_null(j, key);
        return;
    }
    put_quoted(before_value(j, key), value);
}

void hb_json_int(struct hb_json *j, const char *key, int64_t value)
{
    hb_str_putf(before_value(j, key), "%" PRId64, value);
}

/* The shortest of two precisions that reads back as the same number. JSON
 * has no infinities. A program may have set a locale with a decimal comma. */
void hb_json_real(struct hb_json *j, const char *key, double value)
{
    struct hb_str text = HB_STR_INIT;
    char *comma;

    if (!isfinite(value)) {
        hb_json_null(j, key);
        return;
    }
    hb_str_putf(&text, "%.15g", value);
    if (strtod(text.s, NULL) != value) {
        hb_str_destroy(&text);
        hb_str_putf(&text, "%.17g", value);
    }
    comma = strchr(text.s, ',');
    if (comma != NULL) {
        *comma = '.';
    }
    hb_str_put(before_value(j, key), text.s);
    hb_str_destroy(&text);
}

void hb_json_bool(struct hb_json *j, const char *key, int value)
{
    hb_str_put(before_value(j, key), value ? "true" : "false");
}

void hb_json_null(struct hb_json *j, const char *key)
{
    hb_str_put(before_value(j, key), "null");
}
