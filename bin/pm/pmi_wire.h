/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_PMI_WIRE_H
#define HB_PM_PMI_WIRE_H

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* The two wire formats of PMI, cut into commands and pairs. PMI-1:
 *
 *     cmd=NAME key=value key=value\n      a backslash escapes in values
 *     mcmd=NAME\nkey=value\n...endcmd\n   values run to the end of their line
 *
 * PMI-2: six characters of decimal payload length, padded with blanks (before
 * the digits when sent), then
 *
 *     cmd=NAME;key=value;...;             a ';' of a value is written twice */
#define HB_PMI_MESSAGE_MAX (1u << 20) /* a spawn block may carry many args */
#define HB_PMI2_HEADER 6u
#define HB_PMI2_PAYLOAD_MAX 999999u /* what six digits can say */
#define HB_PMI_PAIRS_MAX 65536u

struct hb_pmi_pair {
    const char *key;
    const char *value; /* NULL: the key stood alone */
};

struct hb_pmi_msg {
    char *text; /* owned; everything below points into it */
    const char *cmd;
    struct hb_pmi_pair *pairs; /* [n_pairs], without cmd */
    size_t n_pairs;
};

/* Takes the next whole message out of `in`: 1 and *out (valid until `in`
 * changes; without newline or frame header), 0 when more bytes are needed,
 * HPCBOOT_ERR_PROTOCOL. */
int hb_pmi_next_line(struct hb_buf *in, struct hb_bytes *out,
                     struct hpcboot_error *err);
int hb_pmi_next_frame(struct hb_buf *in, struct hb_bytes *out,
                      struct hpcboot_error *err);

/* Cuts a message taken by the function above. HPCBOOT_ERR_PROTOCOL. */
int hb_pmi_parse_line(struct hb_pmi_msg *out, struct hb_bytes in,
                      struct hpcboot_error *err);
int hb_pmi_parse_frame(struct hb_pmi_msg *out, struct hb_bytes in,
                       struct hpcboot_error *err);
void hb_pmi_msg_destroy(struct hb_pmi_msg *msg);

/* The first value of a key, or NULL. */
const char *hb_pmi_value(const struct hb_pmi_msg *msg, const char *key);

/* Appends " key=value" with what PMI-1 needs escaped. An empty value, which
 * MPICH's clients refuse to parse, is left out with its key. */
void hb_pmi_put_line_value(struct hb_str *line, const char *key,
                           const char *value);
/* Appends "key=value;", or a piece of a value. */
void hb_pmi_put_frame_value(struct hb_str *payload, const char *key,
                            const char *value);
void hb_pmi_put_frame_text(struct hb_str *payload, const char *text);
/* Puts the length before a finished PMI-2 payload. */
char *hb_pmi_frame(const struct hb_str *payload); /* free() it */

#endif
