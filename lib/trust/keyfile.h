/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_KEYFILE_H
#define HB_TRUST_KEYFILE_H

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* Private key files, told by what is in them: their names lie (an operator's
 * id_rsa holds an EC key), and their modes are what a mount gave them. */
enum hb_key_form {
    HB_KEY_NONE,    /* not a private key */
    HB_KEY_PKCS1,   /* RSA PRIVATE KEY */
    HB_KEY_SEC1,    /* EC PRIVATE KEY */
    HB_KEY_DSA,     /* DSA PRIVATE KEY: no server takes these any more */
    HB_KEY_PKCS8,   /* PRIVATE KEY, ENCRYPTED PRIVATE KEY */
    HB_KEY_OPENSSH  /* OPENSSH PRIVATE KEY */
};

struct hb_key_sniff {
    enum hb_key_form form;
    int encrypted;
    size_t begin, end; /* of the PEM block, within the text */
};

#define HB_KEY_FILE_MAX_BYTES 65536 /* RSA 16384 in PEM is 13 KB */

/* Finds the first private key in a text. Returns its form. */
enum hb_key_form hb_key_sniff(const char *text, size_t len,
                              struct hb_key_sniff *out);

/* Reads a key file and gives its PEM block alone, NUL-terminated, with plain
 * line ends (wipe and free with hb_key_text_free). Never waits: what is not a
 * regular file is refused. ERR_NOT_FOUND: no such file; ERR_PARSE: no private
 * key in it; ERR_SYSTEM: not readable. */
int hb_key_read(const char *path, char **pem_out, struct hb_key_sniff *out,
                struct hpcboot_error *err);
/* The same where anybody's keys may lie: ERR_AUTH where the file or its folder
 * is neither this user's nor root's (hb_file_read_placed). */
int hb_key_read_placed(const char *path, char **pem_out,
                       struct hb_key_sniff *out, struct hpcboot_error *err);
void hb_key_text_free(char *pem);

/* Private key files of a directory (not below it), by content, sorted by
 * name, at most HB_KEYS_PER_DIR. A directory that cannot be read has none. */
#define HB_KEYS_PER_DIR 32
void hb_key_find(const char *dir, struct hb_strv *paths_out);
/* 1, and in words which: a file is there that may be a private key, and that
 * its mode closes to this user; or `dir` is a mounted volume that this user
 * cannot look into. Otherwise *err is left as it is. */
int hb_key_is_closed(const char *dir, struct hpcboot_error *err);

#endif
