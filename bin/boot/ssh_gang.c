/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Derived host keys and proofs, as a login needs them. The own key of a host is
 * computed when it is met; those of all members once, when a host shows one
 * that is not its own, since behind names that all lead astray every host
 * would ask for all of them. */
#include "config.h"

#include "bin/boot/ssh_gang.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/trust/base64.h"
#include "lib/trust/derive.h"
#include "lib/trust/gangkey.h"

struct row {
    size_t member; /* its place among them */
    unsigned char blob[HB_ED25519_BLOB_BYTES];
};

/* The keys of all members by one secret, until other members are asked for: a
 * job that lives again may have others, at the same place in memory. */
struct table {
    struct table *next;
    unsigned char of[HB_ED25519_BYTES]; /* what tells the secret */
    struct hb_strv members;
    struct row *rows;
    size_t n;
};

static struct table *tables;

static int blob_for(const struct hb_secret *secret, const char *name,
                    unsigned char blob[HB_ED25519_BLOB_BYTES])
{
    char label[HB_HOST_LABEL_MAX + 1];
    struct hb_ed25519 key;
    int ok = hb_host_label(name, label)
        && hb_derive_host_key(secret, label, &key);

    if (ok) {
        hb_ed25519_blob(&key, blob);
        explicit_bzero(&key, sizeof key);
    }
    return ok;
}

static int has_members(const struct table *t, const char *const *members)
{
    size_t n = 0;

    while (n < t->members.n && hb_streq(t->members.v[n], members[n])) {
        n++;
    }
    return n == t->members.n && !members[n];
}

static void fill(struct table *t, const struct hb_secret *secret,
                 const char *const *members)
{
    hb_strv_destroy(&t->members);
    hb_strv_extend(&t->members, (char *const *)members);
    t->rows = hb_xrealloc(t->rows, (t->members.n + 1) * sizeof *t->rows);
    t->n = 0;
    for (size_t i = 0; i < t->members.n; i++) {
        if (blob_for(secret, members[i], t->rows[t->n].blob)) {
            t->rows[t->n++].member = i;
        }
    }
}

static const struct table *table_of(const struct hb_secret *secret,
                                    const char *const *members)
{
    struct hb_ed25519 nobody; /* the key of the empty name */
    struct table *t = tables;

    if (!hb_derive_host_key(secret, "", &nobody)) {
        return NULL;
    }
    explicit_bzero(nobody.seed, sizeof nobody.seed);
    while (t && memcmp(t->of, nobody.pub, sizeof t->of) != 0) {
        t = t->next;
    }
    if (!t) {
        t = hb_xcalloc(1, sizeof *t);
        memcpy(t->of, nobody.pub, sizeof t->of);
        t->next = tables;
        tables = t;
    }
    if (!t->rows || !has_members(t, members)) {
        fill(t, secret, members);
    }
    return t;
}

static const char *find_member(const struct table *t,
                               const char *const *members, const void *blob)
{
    for (size_t i = 0; t && i < t->n; i++) {
        if (memcmp(t->rows[i].blob, blob, HB_ED25519_BLOB_BYTES) == 0) {
            return members[t->rows[i].member];
        }
    }
    return NULL;
}

const char *hb_ssh_gang_member(const struct hb_ssh_gang *gang,
                               const char *host, const char *blob)
{
    unsigned char own[HB_ED25519_BLOB_BYTES];
    unsigned char offered[HB_BASE64_ROOM(4 * HB_ED25519_BLOB_BYTES)];
    size_t len = strlen(blob);
    const char *member = NULL;

    if (len > 2 * HB_ED25519_BLOB_BYTES
        || hb_base64_decode(blob, len, offered) != HB_ED25519_BLOB_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < gang->n_secrets; i++) {
        if (blob_for(&gang->secrets[i], host, own)
            && memcmp(own, offered, sizeof own) == 0) {
            return host;
        }
    }
    for (size_t i = 0; !member && gang->members && i < gang->n_secrets; i++) {
        member = find_member(table_of(&gang->secrets[i], gang->members),
                             gang->members, offered);
    }
    return member;
}

int hb_ssh_gang_proves(const struct hb_ssh_gang *gang, struct hb_bytes nonce,
                       const char *token, struct hb_bytes host_key,
                       struct hb_bytes proofs)
{
    const unsigned char *p = proofs.data;
    unsigned char want[HB_PROOF_BYTES];

    for (size_t i = 0; i < gang->n_secrets; i++) {
        if (!hb_gang_proof(&gang->secrets[i], nonce, token, host_key, want)) {
            continue;
        }
        for (size_t at = 0; at + sizeof want <= proofs.len;
             at += sizeof want) {
            if (hb_secret_equal(want, p + at, sizeof want)) {
                return 1;
            }
        }
    }
    return 0;
}
