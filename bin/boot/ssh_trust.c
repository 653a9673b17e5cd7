/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The decision on a host key. In this order:
 *
 *   revoked in known_hosts, or by     refused
 *   RevokedHostKeys of ssh_config
 *   equal to a key of the gang        accepted: its holder has the secret
 *   derived from a key of ours        accepted: the same
 *   the launcher knows another key    refused, where an agent asks: what the
 *                                     agent's host knows does not outweigh it
 *   known_hosts has this key          accepted
 *   known_hosts has another key       refused, in every mode; by port 22, too,
 *                                     where that has refused and nobody asked
 *                                     for this one, unless a proof follows
 *   known_hosts trusts an authority   refused: libssh 0.10 knows no host
 *                                     certificates; the ssh program does
 *   seen before in this process       accepted or refused by comparison; one
 *                                     that will have to prove itself may show
 *                                     another key: a pod that was made anew
 *   nothing known                     refused; or unverified, where the host
 *                                     can be asked for a proof, and by `pin`
 *
 * libssh's own look at known_hosts is not used: it does not know markers, and
 * a marked line must never count as an ordinary one. */
#include "config.h"

#include "bin/boot/ssh_trust.h"

#include <errno.h>
#include <libssh/libssh.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/boot/ssh_advice.h"
#include "bin/boot/ssh_gang.h"
#include "bin/boot/ssh_known.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/hash.h"
#include "lib/trust/knownhosts.h"

#define SERVE_BANNER "SSH-2.0-hpcbootd"

/* Host keys that were accepted, on the loop's thread. */
struct pin {
    struct pin *next;
    char *host;
    int port;
    char *type, *blob;
    int verified; /* it was vouched for, or has proven itself */
};

static struct pin *pins;

struct offered {
    ssh_key key;
    const char *type;
    char *blob;        /* base64 */
    char *fingerprint; /* "SHA256:..." */
};

struct judge {
    ssh_session session;
    const char *host;
    const struct hb_ssh_settings *settings;
    struct offered offered;
    struct hb_known known;
    struct hpcboot_error unread; /* of what else would be known; code 0: all */
    struct hpcboot_error *err;
};

static const char *type_of(const ssh_key key)
{
    const char *ecdsa = ssh_pki_key_ecdsa_name(key);

    switch (ssh_key_type(key)) {
    case SSH_KEYTYPE_ECDSA_P256:
    case SSH_KEYTYPE_ECDSA_P384:
    case SSH_KEYTYPE_ECDSA_P521:
        return ecdsa ? ecdsa : "ecdsa";
    default:
        return ssh_key_type_to_char(ssh_key_type(key));
    }
}

/* The port that is part of the host's name. Not kept in the settings: the
 * port may still change when 22 refuses. */
static int known_port(const struct hb_ssh_settings *s)
{
    return s->known_port_is_22 ? HB_SSH_PORT : s->port;
}

/* 22 has refused, and this is the port that is tried then: any user there may
 * have it. */
static int is_other_port(const struct hb_ssh_settings *s)
{
    return !s->port_said && known_port(s) != HB_SSH_PORT;
}

static struct pin *find_pin_at(const struct hb_ssh_settings *s, int port)
{
    struct pin *p = pins;

    while (p && !(p->port == port && hb_streq(p->host, s->known_as))) {
        p = p->next;
    }
    return p;
}

static struct pin *find_pin(const struct hb_ssh_settings *s)
{
    return find_pin_at(s, known_port(s));
}

static int scan_files(const struct hb_ssh_settings *s,
                      const struct hb_strv *files, const char *type,
                      const char *blob, struct hb_known *known,
                      struct hpcboot_error *err)
{
    struct hb_known_query query = {
        .host = s->known_as, .port = known_port(s), .key_type = type,
        .key_blob = blob, .hmac = hb_hmac_sha1,
    };

    memset(known, 0, sizeof *known);
    return hb_ssh_known_scan(files, &query, known, err);
}

struct key_kind {
    const char *type;       /* of the key */
    const char *algorithms; /* that sign with it */
};

static const struct key_kind kinds[] = {
    {"ssh-ed25519", "ssh-ed25519"},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"},
    {"ssh-rsa", "rsa-sha2-512,rsa-sha2-256"},
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

static void add_kind(struct hb_str *list, int used[N_KINDS], const char *type)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (!used[i] && hb_streq(kinds[i].type, type)) {
            used[i] = 1;
            hb_str_putf(list, "%s%s", list->len ? "," : "",
                        kinds[i].algorithms);
        }
    }
}

static int is_known_by(const struct hb_known *known, const char *type)
{
    for (size_t i = 0; i < known->n_types; i++) {
        if (hb_streq(known->types[i], type)) {
            return 1;
        }
    }
    return 0;
}

char *hb_ssh_host_key_order(const struct hb_ssh_settings *settings,
                            const struct hb_ssh_gang *gang)
{
    const struct pin *pin = find_pin(settings);
    struct hb_str list = HB_STR_INIT;
    int used[N_KINDS] = {0};
    struct hb_known known;
    struct hpcboot_error unread;

    (void)scan_files(settings, &settings->known_files, NULL, NULL, &known,
                     &unread);
    /* The best first, as ssh does, not that of the first line: a key of
     * another kind may have been left there when the host was made anew. */
    for (size_t i = 0; i < N_KINDS; i++) {
        if (is_known_by(&known, kinds[i].type)) {
            add_kind(&list, used, kinds[i].type);
        }
    }
    if (pin) {
        add_kind(&list, used, pin->type);
    }
    for (size_t i = 0; i < gang->n; i++) {
        add_kind(&list, used, type_of(gang->keys[i]));
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        add_kind(&list, used, kinds[i].type);
    }
    return hb_str_steal(&list);
}

static int get_offered(ssh_session session, struct judge *j)
{
    struct offered *o = &j->offered;
    unsigned char *hash = NULL;
    size_t hash_len = 0;
    int rc = HPCBOOT_OK;

    if (ssh_get_server_publickey(session, &o->key) != SSH_OK
        || ssh_pki_export_pubkey_base64(o->key, &o->blob) != SSH_OK
        || ssh_get_publickey_hash(o->key, SSH_PUBLICKEY_HASH_SHA256, &hash,
                                  &hash_len) != SSH_OK) {
        rc = hb_fail(j->err, HPCBOOT_ERR_AUTH,
                     "%s: the host key cannot be read", j->host);
    } else {
        o->type = type_of(o->key);
        o->fingerprint = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256,
                                                  hash, hash_len);
        rc = o->fingerprint ? HPCBOOT_OK
            : hb_fail(j->err, HPCBOOT_ERR_NOMEM, "no memory for a host key");
    }
    ssh_clean_pubkey_hash(&hash);
    return rc;
}

static void free_offered(struct offered *o)
{
    ssh_key_free(o->key);
    ssh_string_free_char(o->blob);
    ssh_string_free_char(o->fingerprint);
}

static int is_gang_key(const struct judge *j, const struct hb_ssh_gang *gang)
{
    for (size_t i = 0; i < gang->n; i++) {
        if (ssh_key_cmp(gang->keys[i], j->offered.key, SSH_KEY_CMP_PUBLIC)
            == 0) {
            return 1;
        }
    }
    return 0;
}

/* A line of other hosts, too, stays: ssh-keygen would take it from all. */
static int refuse_changed(const struct judge *j,
                          const struct hb_known_place *place, int port)
{
    char *command = place->of_others
        ? hb_ssh_command_to_add(j->settings, j->host)
        : hb_ssh_command_to_forget(j->settings, port, place->file);
    int rc = hb_fail(j->err, HPCBOOT_ERR_AUTH,
                     "%s: the host key has CHANGED: it shows %s %s, %s:%d says "
                     "another; if the host was made anew, %s (%s), else "
                     "somebody stands between", j->host, j->offered.type,
                     j->offered.fingerprint, place->file, place->line,
                     place->of_others
                     ? "add its key beside that line, which is for other "
                       "hosts, too" : "remove that line", command);

    free(command);
    return rc;
}

/* It may be known by another key: that must not depend on how the file server
 * is, or how many files are open. */
static int refuse_unread(const struct judge *j,
                         const struct hpcboot_error *unread)
{
    return hb_fail(j->err, HPCBOOT_ERR_AUTH, "%s: its host key %s %s cannot be "
                   "compared with what is known: %s", j->host, j->offered.type,
                   j->offered.fingerprint, unread->text);
}

/* What known_hosts says: 1 known, 0 nothing, or refused. */
static int ask_known_hosts(const struct judge *j, int proof_needed)
{
    const struct hb_known *known = &j->known;
    int port = known_port(j->settings);

    if (known->match.line) {
        return 1;
    }
    if (known->differs.line) {
        return refuse_changed(j, &known->differs, port);
    }
    if (known->authority.line) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                       "%s: %s:%d trusts a certificate authority "
                       "(@cert-authority), and host certificates need the ssh "
                       "program: use --launch-with ssh", j->host,
                       known->authority.file, known->authority.line);
    }
    if (known->other.line) {
        return refuse_changed(j, &known->other, port);
    }
    if (known->elsewhere.line && is_other_port(j->settings) && !proof_needed) {
        return refuse_changed(j, &known->elsewhere, HB_SSH_PORT);
    }
    return j->unread.code == 0 ? 0 : refuse_unread(j, &j->unread);
}

/* What the launcher knows, where this is an agent's login. The launcher then
 * tries itself, and says in which file of its own that is. */
static int ask_launcher(const struct judge *j)
{
    struct hb_strv files = HB_STRV_INIT;
    struct hb_known told;
    struct hpcboot_error unread;
    int rc;

    if (!j->settings->known_told) {
        return HPCBOOT_OK;
    }
    hb_strv_push(&files, j->settings->known_told);
    rc = scan_files(j->settings, &files, j->offered.type, j->offered.blob,
                    &told, &unread);
    hb_strv_destroy(&files);
    if (rc < 0) {
        return refuse_unread(j, &unread);
    }
    if (told.match.line || !(told.differs.line || told.authority.line
                             || told.other.line)) {
        return HPCBOOT_OK;
    }
    return hb_fail(j->err, HPCBOOT_ERR_AUTH, "%s: the host key has CHANGED: it "
                   "shows %s %s, and the launcher knows another", j->host,
                   j->offered.type, j->offered.fingerprint);
}

#define HB_PINNED 2 /* seen before, and still not verified */

/* The same for keys that were pinned before. `proof_needed`: whoever has
 * another key now is told nothing before it has proven itself. */
static int ask_pins(const struct judge *j, int proof_needed,
                    struct hb_ssh_verdict *out)
{
    const struct pin *pin = find_pin(j->settings);

    if (!pin && is_other_port(j->settings)) {
        pin = find_pin_at(j->settings, HB_SSH_PORT);
    }
    if (!pin) {
        return 0;
    }
    if (hb_streq(pin->type, j->offered.type)
        && hb_streq(pin->blob, j->offered.blob)) {
        return pin->verified ? 1 : HB_PINNED;
    }
    if (proof_needed) {
        out->changed = 1;
        return 0;
    }
    return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                   "%s: the host key has CHANGED since this job first saw it: "
                   "now %s %s", j->host, j->offered.type,
                   j->offered.fingerprint);
}

int hb_ssh_is_serve(ssh_session session)
{
    const char *banner = ssh_get_serverbanner(session);

    return banner && hb_starts_with(banner, SERVE_BANNER);
}

/* The first of the files that this user may not read, or NULL. */
static const char *closed_file(const struct hb_ssh_settings *s)
{
    for (size_t i = 0; i < s->known_files.n; i++) {
        if (access(s->known_files.v[i], R_OK) < 0 && errno == EACCES) {
            return s->known_files.v[i];
        }
    }
    return NULL;
}

static int refuse_unknown(const struct judge *j,
                          const struct hb_ssh_gang *gang)
{
    const struct hb_ssh_settings *s = j->settings;
    const char *closed = closed_file(s);
    char *command;
    int rc;

    if (gang->n_secrets == 0 && *gang->unusable && (gang->operator_made
        || hb_ssh_is_serve(j->session))) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                       "%s: the host key is not known: %s %s; the gang's "
                       "private key would vouch for it, and there is none that "
                       "can be used: %.200s; mount a whole one without a "
                       "passphrase", j->host, j->offered.type,
                       j->offered.fingerprint, gang->unusable);
    }
    if (hb_ssh_is_serve(j->session)) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                       "%s: the host key is not known: %s %s; hpcbootd serve "
                       "is known by the gang's private key, and none was found "
                       "here: mount it, or name it with --identity", j->host,
                       j->offered.type, j->offered.fingerprint);
    }
    if (closed) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                       "%s: the host key is not known: %s %s; uid %u may not "
                       "read %s, where it may be", j->host, j->offered.type,
                       j->offered.fingerprint, (unsigned)geteuid(), closed);
    }
    command = hb_ssh_command_to_add(s, j->host);
    rc = hb_fail(j->err, HPCBOOT_ERR_AUTH,
                 "%s: the host key is not known: %s %s; when that is right, "
                 "add it: %s (or accept keys unseen with --host-keys pin)",
                 j->host, j->offered.type, j->offered.fingerprint, command);
    free(command);
    return rc;
}

void hb_ssh_verdict_destroy(struct hb_ssh_verdict *v)
{
    free(v->unverified);
    free(v->host_key);
    free(v->reached);
    memset(v, 0, sizeof *v);
}

/* As with ssh: where the file cannot be read no host key is accepted. */
static int ask_revoked(const struct judge *j)
{
    const char *path = j->settings->revoked_file;
    struct hpcboot_error why = {0};
    int line = path ? hb_ssh_known_revoked(path, j->offered.blob, &why) : 0;

    if (line < 0) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH, "%s: no host key is accepted, "
                       "since RevokedHostKeys of ssh_config is not known: %s",
                       j->host, why.text);
    }
    return line == 0 ? HPCBOOT_OK
        : hb_fail(j->err, HPCBOOT_ERR_AUTH, "%s: its host key %s %s is revoked "
                  "by %s:%d (RevokedHostKeys)", j->host, j->offered.type,
                  j->offered.fingerprint, path, line);
}

/* A proof after the login is worth asking for: in the gang of an operator, and
 * of a server that can always give it. Elsewhere an unknown host is not even
 * shown our public keys. */
static int may_prove(const struct judge *j, const struct hb_ssh_gang *gang)
{
    return gang->n_secrets > 0
        && (gang->operator_made || hb_ssh_is_serve(j->session));
}

/* By the name that ssh_config has for the host, by the one the gang has, by
 * the names of all others. */
static int is_derived_key(const struct judge *j, const struct hb_ssh_gang *gang,
                          struct hb_ssh_verdict *out)
{
    const char *member;

    if (!hb_streq(j->offered.type, "ssh-ed25519")) {
        return 0;
    }
    member = hb_ssh_gang_member(gang, j->settings->hostname, j->offered.blob);
    if (member == j->settings->hostname) {
        return 1;
    }
    member = hb_ssh_gang_member(gang, j->host, j->offered.blob);
    if (member && member != j->host) {
        out->reached = hb_xstrdup(member);
    }
    return member != NULL;
}

/* What was decided holds for later logins to the host, whatever has become of
 * the files by then. */
static void remember(const struct judge *j, int verified)
{
    struct pin *pin = find_pin(j->settings);

    if (!pin) {
        pin = hb_xcalloc(1, sizeof *pin);
        pin->host = hb_xstrdup(j->settings->known_as);
        pin->port = known_port(j->settings);
        pin->next = pins;
        pins = pin;
    }
    free(pin->type);
    free(pin->blob);
    pin->type = hb_xstrdup(j->offered.type);
    pin->blob = hb_xstrdup(j->offered.blob);
    pin->verified = verified;
}

void hb_ssh_host_key_proven(const struct hb_ssh_settings *settings,
                            struct hb_bytes host_key)
{
    struct pin *pin = find_pin(settings);
    struct hb_str blob = HB_STR_INIT;

    hb_base64_encode(&blob, host_key.data, host_key.len, 0);
    if (pin && hb_streq(pin->blob, hb_str_text(&blob))) {
        pin->verified = 1;
    }
    hb_str_destroy(&blob);
}

static int judge_key(const struct judge *j, const struct hb_ssh_gang *gang,
                     enum hb_host_keys mode, struct hb_ssh_verdict *out)
{
    int strict = mode == HB_HOST_KEYS_STRICT;
    int proof_needed = strict && may_prove(j, gang);
    int rc;

    if (j->known.revoked.line) {
        return hb_fail(j->err, HPCBOOT_ERR_AUTH,
                       "%s: its host key %s %s is marked @revoked in %s:%d",
                       j->host, j->offered.type, j->offered.fingerprint,
                       j->known.revoked.file, j->known.revoked.line);
    }
    rc = ask_revoked(j);
    if (rc < 0) {
        return rc;
    }
    if (is_gang_key(j, gang) || is_derived_key(j, gang, out)) {
        remember(j, 1);
        return HPCBOOT_OK;
    }
    rc = ask_launcher(j);
    if (rc == 0) {
        rc = ask_known_hosts(j, proof_needed);
    }
    if (rc == 0) {
        rc = ask_pins(j, proof_needed, out);
    }
    if (rc == 0 && strict && !proof_needed) {
        rc = refuse_unknown(j, gang);
    }
    if (rc == 0) {
        remember(j, 0);
    }
    if (rc == 0 || rc == HB_PINNED) {
        out->unverified = hb_xasprintf("%s %s", j->offered.type,
                                       j->offered.fingerprint);
        out->host_key = hb_xstrdup(j->offered.blob);
    }
    return rc < 0 ? rc : HPCBOOT_OK;
}

int hb_ssh_host_key_check(ssh_session session, const char *host,
                          const struct hb_ssh_settings *settings,
                          const struct hb_ssh_gang *gang,
                          enum hb_host_keys mode,
                          struct hb_ssh_verdict *out,
                          struct hpcboot_error *err)
{
    struct judge j = {
        .session = session, .host = host, .settings = settings, .err = err,
    };
    int rc = get_offered(session, &j);

    if (rc == HPCBOOT_OK) {
        (void)scan_files(settings, &settings->known_files, j.offered.type,
                         j.offered.blob, &j.known, &j.unread);
        rc = judge_key(&j, gang, mode, out);
    }
    free_offered(&j.offered);
    return rc;
}
