/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_KNOWNHOSTS_H
#define HB_TRUST_KNOWNHOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* What OpenSSH's known_hosts files say about a host. A scan gathers facts over
 * any number of files; deciding is the caller's. */

#define HB_SHA1_BYTES 20

/* HMAC-SHA1 of a text, for hashed names: hb_hmac_sha1 of hash.h where libcrypto
 * is at hand. 1: done. */
typedef int (*hb_known_hmac)(const unsigned char *key, size_t key_len,
                             const char *text, size_t len,
                             unsigned char out[HB_SHA1_BYTES]);

struct hb_known_query {
    const char *host;     /* as it will be connected to */
    int port;
    const char *key_type; /* "ssh-ed25519"; NULL: no key is offered yet */
    const char *key_blob; /* base64 of the public key */
    hb_known_hmac hmac;   /* NULL: hashed names match nothing */
};

/* Where a line stands, for an error's text. */
struct hb_known_place {
    char file[256];
    int line;      /* 0: there is none */
    int of_others; /* it may be the line of other hosts, too */
};

#define HB_KNOWN_TYPES_MAX 8 /* more kinds of keys than there are */
#define HB_KNOWN_TYPE_BYTES 40

struct hb_known {
    struct hb_known_place match;     /* this host with this key */
    struct hb_known_place differs;   /* with another key of the same type */
    struct hb_known_place other;     /* with a key of another type */
    struct hb_known_place elsewhere; /* its plain name, with another key */
    struct hb_known_place revoked;   /* this key, marked @revoked */
    struct hb_known_place authority; /* @cert-authority for this host */
    /* The types this host is known by, in the order of the lines; those of
     * its plain name only where no line has it with its port. */
    int exact_types;
    char types[HB_KNOWN_TYPES_MAX][HB_KNOWN_TYPE_BYTES];
    size_t n_types;
};

#define HB_KNOWN_FILE_MAX_BYTES (16u << 20) /* a large site has 1 MB of it */

/* Adds what a text says; `known` starts as all zeros. */
void hb_known_scan(const char *text, size_t len, const char *file,
                   const struct hb_known_query *query, struct hb_known *known);

#endif
