/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_JSON_H
#define HB_BASE_JSON_H

#include <stdint.h>

#include "lib/base/str.h"

/* Writes JSON text in order; commas are its business. `key` is NULL inside
 * arrays and for the outermost value. Bytes that are not UTF-8 are written
 * as U+FFFD. */
struct hb_json {
    struct hb_str *out;
    int need_comma;
};
void hb_json_begin(struct hb_json *j, struct hb_str *out);
void hb_json_object(struct hb_json *j, const char *key);
void hb_json_end_object(struct hb_json *j);
void hb_json_array(struct hb_json *j, const char *key);
void hb_json_end_array(struct hb_json *j);
/* A NULL value is written as null. */
void hb_json_str(struct hb_json *j, const char *key, const char *value);
void hb_json_int(struct hb_json *j, const char *key, int64_t value);
void hb_json_real(struct hb_json *j, const char *key, double value);
void hb_json_bool(struct hb_json *j, const char *key, int value);
void hb_json_null(struct hb_json *j, const char *key);
/* Whether hb_json_str loses nothing of it: all of it is UTF-8. */
int hb_json_holds(const char *value);

#endif
