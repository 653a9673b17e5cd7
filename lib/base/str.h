/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_STR_H
#define HB_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Zeroed, for what is allocated and freed often; NULL if there is none. */
void *hb_zalloc(size_t n);
/* abort(), behind the words that a program has set; a library sets none. They
 * are borrowed. */
_Noreturn void hb_no_memory(void);
void hb_no_memory_says(const char *words);
/* Memory that is small and must be there: hb_no_memory() on failure. */
void *hb_xmalloc(size_t n);
void *hb_xcalloc(size_t n, size_t size);
void *hb_xrealloc(void *p, size_t n);
char *hb_xstrdup(const char *s);
char *hb_xstrndup(const char *s, size_t n);
/* The next piece of *text that is not empty, up to `separator` or the end, and
 * *text moves behind it; NULL: none is left. The caller frees it. */
char *hb_next_piece(const char **text, char separator);
char *hb_xasprintf(const char *fmt, ...) HB_PRINTF(1, 2);

/* A string that grows. Start from HB_STR_INIT; .s is never NULL after a put. */
struct hb_str {
    char *s;
    size_t len, cap;
};
#define HB_STR_INIT {NULL, 0, 0}
void hb_str_put(struct hb_str *o, const char *text);
void hb_str_putn(struct hb_str *o, const char *text, size_t n);
void hb_str_putc(struct hb_str *o, char c);
void hb_str_putf(struct hb_str *o, const char *fmt, ...) HB_PRINTF(2, 3);
void hb_str_vputf(struct hb_str *o, const char *fmt, va_list ap);
const char *hb_str_text(const struct hb_str *o); /* "" when empty */
char *hb_str_steal(struct hb_str *o); /* free() it; o is then empty */
void hb_str_destroy(struct hb_str *o);

/* Whole-text number parsing: digits only, no blanks, no sign, within
 * [min, max]; else HPCBOOT_ERR_PARSE and *out untouched. */
int hb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* The same, and one '-' may stand in front. */
int hb_parse_int(const char *text, int min, int max, int *out);
/* "30", "30s", "5m", "1h", "250ms", "1.5" (seconds) -> milliseconds. */
int hb_parse_duration_ms(const char *text, int64_t *ms_out);

int hb_streq(const char *a, const char *b);            /* NULL-safe */
/* The same for what others must not guess: takes the same time wherever the
 * two differ. Of texts the length is no secret. */
int hb_secret_equal(const void *a, const void *b, size_t len);
int hb_secret_streq(const char *a, const char *b);
int hb_starts_with(const char *s, const char *prefix);
int hb_ends_with(const char *s, const char *suffix);
const char *hb_base_name(const char *path); /* what is behind its last slash */
/* Length of the NAME of "NAME=value", as a shell sees it before a command; 0
 * for any other word. */
size_t hb_assigned_name(const char *word);
/* Puts a byte for each \040, as the kernel writes blanks and backslashes in
 * mountinfo. In place. */
void hb_unescape_octal(char *s);
/* Whether the text is an address of the loopback device: one of 127.0.0.0/8,
 * ::1, or the former within IPv6 (::ffff:127.0.0.1). A name is none. */
int hb_is_loopback(const char *address);
/* Length of the byte order mark that some editors put before a text, or 0. */
size_t hb_bom_len(const char *text, size_t len);
/* Length of the valid UTF-8 sequence at s (Unicode, table 3-7), or 0. */
size_t hb_utf8_len(const unsigned char *s);
/* Length of what a terminal might obey at s: a control character, one of C1 in
 * UTF-8 too, or a byte that is no UTF-8. 0: another character is there. */
size_t hb_control_len(const char *s);
/* Puts a ? for each byte of such. In place. */
void hb_mask_controls(char *s);
/* The candidate nearest to `word` by edit distance, or NULL when none is
 * near. */
const char *hb_nearest(const char *word, const char *const *candidates,
                       size_t n);
/* Those that begin with `word`, in either case, as "a, b or c", free() it;
 * NULL: there are fewer than two. */
char *hb_all_beginning(const char *word, const char *const *candidates,
                       size_t n);

#endif
