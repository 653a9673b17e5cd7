/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMI wire formats: bytes of a rank to commands and pairs. A message is first
 * found whole in the input (next_*), then copied and cut in place (parse_*);
 * keys and values are NUL-terminated pieces of that copy.
 *
 * Liberal where clients differ (any byte in a key, an empty value), strict
 * where a mistake would make the next message start at a wrong place: lengths,
 * NUL bytes, and messages without a command are refused.
 *
 * It knows no command but the words that frame a block. */
#include "config.h"

#include "bin/pm/pmi_wire.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_START "mcmd="
#define BLOCK_END "\nendcmd\n"

static int too_long(struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                   "PMI: a message of more than %u bytes",
                   HB_PMI_MESSAGE_MAX);
}

int hb_pmi_next_line(struct hb_buf *in, struct hb_bytes *out,
                     struct hpcboot_error *err)
{
    const char *start = (const char *)hb_buf_next(in);
    size_t left = hb_buf_left(in), start_len = strlen(BLOCK_START);
    const char *end, *mark = "\n";

    if (left == 0) {
        return 0;
    }
    if (left >= start_len && memcmp(start, BLOCK_START, start_len) == 0) {
        mark = BLOCK_END;
    }
    end = memmem(start, left, mark, strlen(mark));
    if (end == NULL) {
        return left > HB_PMI_MESSAGE_MAX ? too_long(err) : 0;
    }
    out->data = start;
    out->len = (size_t)(end - start);
    hb_buf_skip(in, out->len + strlen(mark));
    return out->len > HB_PMI_MESSAGE_MAX ? too_long(err) : 1;
}

/* Six characters: digits with blanks before (MPICH) or behind (Slurm). */
static int frame_length(const unsigned char *at, size_t *len_out,
                        struct hpcboot_error *err)
{
    size_t i = 0, digits, len = 0;

    while (i < HB_PMI2_HEADER && at[i] == ' ') {
        i++;
    }
    digits = i;
    while (i < HB_PMI2_HEADER && at[i] >= '0' && at[i] <= '9') {
        len = len * 10 + (at[i] - '0');
        i++;
    }
    digits = i - digits;
    while (i < HB_PMI2_HEADER && at[i] == ' ') {
        i++;
    }
    if (digits == 0 || i < HB_PMI2_HEADER) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI-2: a frame that does not begin with its length");
    }
    *len_out = len;
    return HPCBOOT_OK;
}

int hb_pmi_next_frame(struct hb_buf *in, struct hb_bytes *out,
                      struct hpcboot_error *err)
{
    const unsigned char *start = hb_buf_next(in);
    size_t left = hb_buf_left(in), len = 0;
    int rc;

    if (left < HB_PMI2_HEADER) {
        return 0;
    }
    rc = frame_length(start, &len, err);
    if (rc < 0) {
        return rc;
    }
    if (left - HB_PMI2_HEADER < len) {
        return 0;
    }
    out->data = start + HB_PMI2_HEADER;
    out->len = len;
    hb_buf_skip(in, HB_PMI2_HEADER + len);
    return 1;
}

static int begin(struct hb_pmi_msg *out, struct hb_bytes in,
                 struct hpcboot_error *err)
{
    if (in.len > 0 && memchr(in.data, '\0', in.len) != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: a NUL byte inside a message");
    }
    memset(out, 0, sizeof(*out));
    out->text = hb_xstrndup(in.len > 0 ? in.data : "", in.len);
    return HPCBOOT_OK;
}

/* Room grows by doubling: whenever n_pairs is a power of two it is full. */
static int add_pair(struct hb_pmi_msg *msg, const char *key,
                    const char *value, struct hpcboot_error *err)
{
    size_t n = msg->n_pairs;

    if (strcmp(key, "cmd") == 0 || strcmp(key, "mcmd") == 0) {
        msg->cmd = msg->cmd != NULL ? msg->cmd : value;
        return HPCBOOT_OK;
    }
    if (n >= HB_PMI_PAIRS_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: more than %u pairs in a message",
                       HB_PMI_PAIRS_MAX);
    }
    if ((n & (n - 1)) == 0) {
        msg->pairs = hb_xrealloc(msg->pairs, (n == 0 ? 1 : 2 * n) *
                                                 sizeof(*msg->pairs));
    }
    msg->pairs[n].key = key;
    msg->pairs[n].value = value;
    msg->n_pairs++;
    return HPCBOOT_OK;
}

static int finish(struct hb_pmi_msg *msg, int rc, struct hpcboot_error *err)
{
    if (rc == 0 && (msg->cmd == NULL || msg->cmd[0] == '\0')) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                     "PMI: a message without a command: %.80s", msg->text);
    }
    if (rc < 0) {
        hb_pmi_msg_destroy(msg);
    }
    return rc;
}

/* Ends the value at `p`, takes escapes out of it, and returns what follows. */
typedef char *(*value_cutter)(char *p);

/* At the first blank without a backslash before it. */
static char *cut_word(char *p)
{
    char *to = p;

    while (*p != '\0' && *p != ' ') {
        if (*p == '\\' && p[1] != '\0') {
            p++;
        }
        *to++ = *p++;
    }
    p += *p == ' ';
    *to = '\0';
    return p;
}

static char *cut_line(char *p)
{
    char *end = strchrnul(p, '\n');
    char *next = end + (*end == '\n');

    *end = '\0';
    return next;
}

/* At the first semicolon that no other follows: two are one of the value. */
static char *cut_doubled(char *p)
{
    char *to = p;

    while (*p != '\0' && (*p != ';' || p[1] == ';')) {
        p += *p == ';';
        *to++ = *p++;
    }
    p += *p == ';';
    *to = '\0';
    return p;
}

/* Pairs, and keys that stand alone. A key ends before one of `ends`: '=' or
 * what parts the pairs. */
static int parse_pairs(struct hb_pmi_msg *msg, const char *ends,
                       value_cutter cut, struct hpcboot_error *err)
{
    char *p = msg->text;
    int rc = HPCBOOT_OK;

    while (rc == 0 && *p != '\0') {
        char *key = p;
        size_t key_len = strcspn(p, ends);
        char *value = NULL;

        if (key_len == 0) {
            p++;
            continue;
        }
        if (key[key_len] == '=') {
            value = key + key_len + 1;
            p = cut(value);
        } else {
            p = key + key_len + (key[key_len] != '\0');
        }
        key[key_len] = '\0';
        rc = add_pair(msg, key, value, err);
    }
    return rc;
}

int hb_pmi_parse_line(struct hb_pmi_msg *out, struct hb_bytes in,
                      struct hpcboot_error *err)
{
    int rc = begin(out, in, err);

    if (rc < 0) {
        return rc;
    }
    if (hb_starts_with(out->text, BLOCK_START)) {
        rc = parse_pairs(out, "=\n", cut_line, err);
    } else {
        rc = parse_pairs(out, "= ", cut_word, err);
    }
    return finish(out, rc, err);
}

int hb_pmi_parse_frame(struct hb_pmi_msg *out, struct hb_bytes in,
                       struct hpcboot_error *err)
{
    int rc = begin(out, in, err);

    if (rc < 0) {
        return rc;
    }
    return finish(out, parse_pairs(out, "=;", cut_doubled, err), err);
}

void hb_pmi_msg_destroy(struct hb_pmi_msg *msg)
{
    free(msg->text);
    free(msg->pairs);
    memset(msg, 0, sizeof(*msg));
}

const char *hb_pmi_value(const struct hb_pmi_msg *msg, const char *key)
{
    for (size_t i = 0; i < msg->n_pairs; i++) {
        if (strcmp(msg->pairs[i].key, key) == 0) {
            return msg->pairs[i].value;
        }
    }
    return NULL;
}

void hb_pmi_put_line_value(struct hb_str *line, const char *key,
                           const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    hb_str_putf(line, " %s=", key);
    for (; *value != '\0'; value++) {
        if (*value == ' ' || *value == '\\') {
            hb_str_putc(line, '\\');
        }
        hb_str_putc(line, *value);
    }
}

void hb_pmi_put_frame_text(struct hb_str *payload, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == ';') {
            hb_str_putc(payload, ';');
        }
        hb_str_putc(payload, *text);
    }
}

void hb_pmi_put_frame_value(struct hb_str *payload, const char *key,
                            const char *value)
{
    hb_str_putf(payload, "%s=", key);
    hb_pmi_put_frame_text(payload, value);
    hb_str_putc(payload, ';');
}

char *hb_pmi_frame(const struct hb_str *payload)
{
    return hb_xasprintf("%6zu%s", payload->len, hb_str_text(payload));
}
