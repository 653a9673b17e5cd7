/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Logging in with keys. Key files are read as bytes by lib/trust and decoded
 * from memory, so that their names and modes do not matter. Each key is
 * offered with its signature at once, which saves a round trip over asking
 * first. Servers count refused keys and hang up after a few (MaxAuthTries, 6
 * by default); so a key that stands in two files is offered once, only so
 * many are offered, and where there is an agent some attempts are left for it.
 *
 * libssh talks to ssh-agent in a blocking way: an agent that asks its owner
 * before each signature makes the loop wait for that, within the limits of
 * ssh_agent.c. */
#include "config.h"

#include "bin/boot/ssh_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/boot/ssh_agent.h"
#include "bin/boot/ssh_keys.h"
#include "bin/boot/ssh_trust.h"
#include "bin/boot/ssh_words.h"
#include "lib/base/str.h"
#include "lib/trust/derive.h"
#include "lib/trust/gangkey.h"
#include "lib/trust/keyfile.h"

#define OFFERS_MAX 5        /* one below the default of MaxAuthTries */
#define OFFERS_WITH_AGENT 3 /* leaves some for the agent's keys */
#define KEYS_MAX 64
#define AGENT_SHARE(ms) ((ms) / 4 * 3) /* leaves time for what is tried then */

enum phase {
    PHASE_SERVICE, PHASE_KEYS, PHASE_AGENT, PHASE_MORE_KEYS, PHASE_NONE,
    PHASE_OVER
};

struct hb_ssh_auth {
    const struct hb_ssh_settings *settings;
    ssh_key keys[KEYS_MAX];
    const char *paths[KEYS_MAX]; /* of the settings */
    size_t n_keys;
    ssh_key gang[KEYS_MAX]; /* of `keys`, not owned */
    size_t n_gang;
    struct hb_secret secrets[KEYS_MAX]; /* of all keys */
    size_t n_secrets;
    const struct hb_boot_config *config;
    const char *agent;      /* the socket of one to ask, or NULL */
    const char *idle_agent; /* of one whose keys are none to use, or NULL */
    struct hb_ssh_agent *way; /* to it, while it is asked */
    struct hb_strv named;   /* of its keys, with IdentitiesOnly */
    enum phase phase;
    size_t next;            /* of keys */
    struct hb_str refused;  /* what was offered in vain */
    int was_refused;        /* the host has refused a key and stayed */
    int was_accepted;       /* it has taken one, and wants another */
    int asked_agent_again;  /* for that other one */
    struct hb_str unusable; /* files and why */
};

static void note_unusable(struct hb_ssh_auth *auth, const char *path,
                          const char *why)
{
    hb_str_putf(&auth->unusable, "%s%s: %s", auth->unusable.len ? ", " : "",
                path, why);
}

static int is_known_key(const struct hb_ssh_auth *auth, const ssh_key key)
{
    for (size_t i = 0; i < auth->n_keys; i++) {
        if (ssh_key_cmp(auth->keys[i], key, SSH_KEY_CMP_PUBLIC) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Offered before the bare key, which may be authorized where the certificate's
 * authority is not. */
static void take_certificate(struct hb_ssh_auth *auth, const char *path,
                             const char *pem, const char *cert_path)
{
    ssh_key cert = NULL, key = NULL;
    int ok = ssh_pki_import_cert_file(cert_path, &cert) == SSH_OK
        && ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, &key)
            == SSH_OK;

    if (!ok) {
        note_unusable(auth, cert_path, "not a certificate that can be read");
    } else if (auth->n_keys + 1 < KEYS_MAX
               && hb_ssh_cert_is_of(cert, key)
               && ssh_pki_copy_cert_to_privkey(cert, key) == SSH_OK) {
        auth->paths[auth->n_keys] = path;
        auth->keys[auth->n_keys++] = key;
        key = NULL;
    }
    ssh_key_free(key);
    ssh_key_free(cert);
}

/* KEY-cert.pub beside KEY, as ssh has it, and those that ssh_config names, if
 * they are of this key. */
static void take_certificates(struct hb_ssh_auth *auth, const char *path,
                              const char *pem)
{
    const struct hb_strv *said = &auth->settings->certificates;
    char *beside = hb_xasprintf("%s-cert.pub", path);

    if (access(beside, R_OK) == 0) {
        take_certificate(auth, path, pem, beside);
    }
    for (size_t i = 0; i < said->n; i++) {
        if (!hb_streq(said->v[i], beside)) {
            take_certificate(auth, path, pem, said->v[i]);
        }
    }
    free(beside);
}

static void take_key(struct hb_ssh_auth *auth, size_t number, int gang)
{
    const struct hb_ssh_settings *settings = auth->settings;
    const char *path = settings->identities.v[number];
    struct hb_key_sniff sniff = {0};
    struct hpcboot_error err = {0};
    const char *why = NULL;
    char *pem = NULL;
    ssh_key key = NULL;

    if ((number < settings->n_own ? hb_key_read : hb_key_read_placed)(
            path, &pem, &sniff, &err) < 0) {
        if (number < settings->n_named || err.code != HPCBOOT_ERR_NOT_FOUND) {
            hb_str_putf(&auth->unusable, "%s%s",
                        auth->unusable.len ? ", " : "", err.text);
        }
        return;
    }
    if (sniff.encrypted) {
        note_unusable(auth, path, "encrypted (add it to ssh-agent)");
    } else if (!hb_ssh_key_import(pem, &key, &why)) {
        note_unusable(auth, path, why);
    } else if (is_known_key(auth, key)) {
        ssh_key_free(key);
    } else {
        take_certificates(auth, path, pem);
        auth->paths[auth->n_keys] = path;
        auth->keys[auth->n_keys++] = key;
        if (hb_gang_secret(pem, &sniff, path,
                           &auth->secrets[auth->n_secrets], NULL) == 0) {
            auth->n_secrets++;
        }
        if (gang) {
            auth->gang[auth->n_gang++] = key;
        }
    }
    hb_key_text_free(pem);
}

static void take_session(struct hb_ssh_auth *auth,
                         const struct hb_secret *session)
{
    struct hb_ed25519 login;
    ssh_key key = NULL;
    char *pem;

    if (!session || !hb_derive_session_login(session, &login)) {
        return;
    }
    pem = hb_ed25519_private_text(&login, "");
    if (ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, &key)
        == SSH_OK) {
        auth->paths[auth->n_keys] = "the job's session key";
        auth->keys[auth->n_keys++] = key;
    }
    hb_key_text_free(pem);
    explicit_bzero(&login, sizeof login);
}

/* Where nothing is there to log in with: what was mounted, and is not found
 * since this user cannot read it. */
static void note_closed(struct hb_ssh_auth *auth)
{
    struct hb_strv dirs = HB_STRV_INIT;

    hb_gang_key_dirs(auth->settings->home, &dirs);
    for (size_t i = 0; i < dirs.n; i++) {
        struct hpcboot_error why = {0};

        if (hb_key_is_closed(dirs.v[i], &why)) {
            hb_str_putf(&auth->unusable, "%s%s",
                        auth->unusable.len ? ", " : "", why.text);
        }
    }
    hb_strv_destroy(&dirs);
}

static void choose_agent(struct hb_ssh_auth *auth)
{
    const struct hb_ssh_settings *settings = auth->settings;
    const char *socket = settings->agent_socket ? settings->agent_socket
                                                : getenv("SSH_AUTH_SOCK");

    if (!settings->use_agent || !socket || !*socket) {
        return;
    }
    if (settings->identities_only) {
        hb_ssh_keys_public(&settings->identities, &settings->certificates,
                           &auth->named);
    }
    *(settings->identities_only && auth->named.n == 0
          ? &auth->idle_agent : &auth->agent) = socket;
}

struct hb_ssh_auth *hb_ssh_auth_create(const struct hb_ssh_settings *settings,
                                       const struct hb_boot_config *config,
                                       const struct hb_secret *session)
{
    struct hb_ssh_auth *auth = hb_xcalloc(1, sizeof *auth);

    auth->settings = settings;
    auth->config = config;
    choose_agent(auth);
    take_session(auth, session);
    for (size_t i = 0; i < settings->identities.n && auth->n_keys < KEYS_MAX;
         i++) {
        const char *path = settings->identities.v[i];

        take_key(auth, i, config->inside_gang
                          || hb_streq(path, config->gang_key));
    }
    if (auth->n_keys == 0 && !auth->agent && !config->identity
        && auth->unusable.len == 0) {
        note_closed(auth);
    }
    return auth;
}

void hb_ssh_auth_destroy(struct hb_ssh_auth *auth)
{
    if (!auth) {
        return;
    }
    for (size_t i = 0; i < auth->n_keys; i++) {
        ssh_key_free(auth->keys[i]);
    }
    for (size_t i = 0; i < auth->n_secrets; i++) {
        hb_secret_free(&auth->secrets[i]);
    }
    hb_ssh_agent_close(auth->way);
    hb_strv_destroy(&auth->named);
    hb_str_destroy(&auth->refused);
    hb_str_destroy(&auth->unusable);
    free(auth);
}

struct hb_ssh_gang hb_ssh_auth_gang(const struct hb_ssh_auth *auth)
{
    return (struct hb_ssh_gang){
        .keys = auth->gang, .n = auth->n_gang,
        .secrets = auth->secrets, .n_secrets = auth->n_secrets,
        .members = auth->config->members,
        .operator_made = auth->config->inside_gang,
        .unusable = hb_str_text(&auth->unusable),
    };
}

static void note_refused(struct hb_ssh_auth *auth, const char *what)
{
    hb_str_putf(&auth->refused, "%s%s", auth->refused.len ? ", " : "", what);
}

/* What the host has said it accepts; it says so when it refuses a key. */
static void methods_text(ssh_session session, char *text, size_t size)
{
    int methods = ssh_userauth_list(session, NULL);

    snprintf(text, size, "%s%s%s%s",
             methods & SSH_AUTH_METHOD_PUBLICKEY ? " publickey" : "",
             methods & SSH_AUTH_METHOD_PASSWORD ? " password" : "",
             methods & SSH_AUTH_METHOD_INTERACTIVE ? " keyboard-interactive"
                                                   : "",
             methods & SSH_AUTH_METHOD_HOSTBASED ? " hostbased" : "");
    if (!*text) {
        snprintf(text, size, " nothing");
    }
}

static const char *advice(ssh_session session, const char *user)
{
    int methods = ssh_userauth_list(session, NULL);

    if (hb_ssh_is_serve(session)) {
        return "hpcbootd serve is there, and its log says which key it lets "
               "in: is that one mounted here (ssh-keygen -lf FILE)?";
    }
    if (methods != 0 && !(methods & SSH_AUTH_METHOD_PUBLICKEY)) {
        return "its sshd takes no keys: see PubkeyAuthentication and "
               "AuthenticationMethods in sshd_config there";
    }
    return hb_streq(user, "root")
               ? "is the public key in root's authorized_keys there (hpcboot "
                 "keys --check, run there, finds wrong modes), and does its "
                 "sshd let root in (PermitRootLogin)?"
               : "is the public key in that user's authorized_keys there "
                 "(hpcboot keys --check, run there, finds wrong modes)?";
}

static int give_up(struct hb_ssh_auth *auth, ssh_session session,
                   const char *host, struct hpcboot_error *err)
{
    const char *user = auth->settings->user, *home = auth->settings->home;
    const char *named = auth->config->identity;
    char methods[96];

    methods_text(session, methods, sizeof methods);
    if (auth->n_keys == 0 && !auth->agent) {
        return hb_fail(err, auth->settings->n_named > 0
                                ? HPCBOOT_ERR_USAGE : HPCBOOT_ERR_AUTH,
                       "%s: no private key to log in with as %s (%s"
                       "%s%s%s%s%.200s); name one with --identity", host, user,
                       auth->idle_agent ? "none of ssh-agent" : "no ssh-agent",
                       named ? "" : "; looked in ",
                       named ? "" : home ? home : "(no HOME)",
                       named ? "" : "/.ssh", auth->unusable.len ? "; " : "",
                       hb_str_text(&auth->unusable));
    }
    if (auth->settings->user_is_number && !hb_ssh_is_serve(session)) {
        return hb_fail(err, HPCBOOT_ERR_AUTH,
                       "%s: login as %s refused: this uid has no passwd entry "
                       "and USER is not set; set USER, or write USER@%s or "
                       "User in ~/.ssh/config", host, user, host);
    }
    if (auth->next < auth->n_keys) {
        hb_str_putf(&auth->unusable, "%s%zu more keys, since hosts hang up "
                    "after a few: name one with --identity",
                    auth->unusable.len ? ", " : "",
                    auth->n_keys - auth->next);
    }
    return hb_fail(err, HPCBOOT_ERR_AUTH,
                   "%s: login as %s refused (the host accepts:%s); offered: "
                   "%.160s%s%.120s; %s", host, user, methods,
                   hb_str_text(&auth->refused), auth->unusable.len
                   ? "; not usable: " : "", hb_str_text(&auth->unusable),
                   advice(session, user));
}

/* Servers also hang up after keys that they refused. One that does so before
 * it has refused any, and without a word, is on its way out, or up. */
static int is_over_keys(const struct hb_ssh_auth *auth, const char *words)
{
    return auth->refused.len &&
           (auth->was_refused || auth->phase == PHASE_AGENT ||
            strstr(words, "SSH_MSG_DISCONNECT") != NULL);
}

static int broken(struct hb_ssh_auth *auth, ssh_session session,
                  const char *host, struct hpcboot_error *err)
{
    const char *words = hb_ssh_words(session);
    int over_keys = is_over_keys(auth, words);

    return hb_fail(err, over_keys ? HPCBOOT_ERR_AUTH : HPCBOOT_ERR_HOST,
                   "%s: login as %s failed: %.200s (offered: %.160s)%s", host,
                   auth->settings->user, words,
                   auth->refused.len ? hb_str_text(&auth->refused)
                                     : "nothing yet",
                   !over_keys ? "" : auth->phase == PHASE_AGENT
                   ? "; hosts hang up after a few keys: name a file with "
                     "--identity, or use --launch-with ssh, which begins with "
                     "the key that IdentityFile names"
                   : "; hosts hang up after a few keys: name the right one "
                     "with --identity");
}

/* Of a host that ends the connection over a key libssh says that its answer is
 * still to come, and has closed the socket: nothing would come any more. */
static int unless_gone(ssh_session session, int rc)
{
    return rc == SSH_AUTH_AGAIN && !ssh_is_connected(session) ? SSH_AUTH_ERROR
                                                              : rc;
}

/* A phase gives SSH_AUTH_DENIED when it is through. */

/* Which signatures the server takes of an RSA key it has said before it
 * answers this; libssh takes none for all where it has not heard that yet. */
static int ask_service(struct hb_ssh_auth *auth, ssh_session session)
{
    int rc = ssh_service_request(session, "ssh-userauth");

    return rc == SSH_OK ? SSH_AUTH_DENIED
                        : rc == SSH_AGAIN ? SSH_AUTH_AGAIN : SSH_AUTH_ERROR;
}

static int offer_keys(struct hb_ssh_auth *auth, ssh_session session)
{
    size_t max = auth->agent && auth->phase == PHASE_KEYS ? OFFERS_WITH_AGENT
                                                          : OFFERS_MAX;
    int rc;

    while (auth->next < auth->n_keys && auth->next < max) {
        rc = unless_gone(session, ssh_userauth_publickey(
            session, NULL, auth->keys[auth->next]));
        if (rc == SSH_AUTH_AGAIN || rc == SSH_AUTH_SUCCESS) {
            return rc;
        }
        if (rc == SSH_AUTH_PARTIAL) {
            auth->next++;
            return rc;
        }
        note_refused(auth, auth->paths[auth->next]);
        auth->next++;
        if (!ssh_is_connected(session)) {
            return SSH_AUTH_ERROR;
        }
        auth->was_refused = 1;
    }
    return SSH_AUTH_DENIED;
}

/* libssh waits for it, and the loop with it. */
static int may_stall_ms(const struct hb_ssh_auth *auth)
{
    int share = AGENT_SHARE(auth->config->connect_timeout_ms);
    int stall = auth->config->stall_ms;

    return stall > 0 && (share <= 0 || stall < share) ? stall : share;
}

static void no_agent(struct hb_ssh_auth *auth)
{
    int is_short = may_stall_ms(auth) == auth->config->stall_ms;

    note_unusable(auth, auth->agent,
                  is_short && hb_ssh_agent_is_left_alone(auth->agent)
                      ? "no ssh-agent answers there; one that asks its owner "
                        "needs a longer --heartbeat"
                      : "no ssh-agent answers there");
    auth->agent = NULL;
}

/* It was asked, or there was no use. */
static void no_key_of_agent(struct hb_ssh_auth *auth)
{
    if (auth->agent) {
        note_unusable(auth, auth->agent, auth->settings->identities_only
                      ? "ssh-agent has none of the keys that are named"
                      : "ssh-agent has no keys");
        auth->idle_agent = auth->agent;
        auth->agent = NULL;
    } else if (auth->idle_agent) {
        note_unusable(auth, auth->idle_agent, "ssh-agent was not asked: no "
                      "key that is named has a public half that can be read");
    }
}

static void note_refused_agent(struct hb_ssh_auth *auth)
{
    note_refused(auth, auth->settings->identities_only
                 ? "the keys of ssh-agent that are named"
                 : "the keys of ssh-agent");
}

static int ask_agent(struct hb_ssh_auth *auth, ssh_session session)
{
    int rc;

    if (auth->agent && !auth->way) {
        auth->way = hb_ssh_agent_open(auth->agent,
                                      auth->settings->identities_only
                                          ? &auth->named : NULL, session);
    }
    if (!auth->way) {
        (auth->agent ? no_agent : no_key_of_agent)(auth);
        return SSH_AUTH_DENIED;
    }
    hb_ssh_agent_limit(auth->way, may_stall_ms(auth));
    rc = unless_gone(session, ssh_userauth_agent(session, NULL));
    if (rc == SSH_AUTH_AGAIN) {
        return rc;
    }
    if (hb_ssh_agent_is_silent(auth->way)) {
        no_agent(auth);
    } else if (hb_ssh_agent_has_none(auth->way)) {
        no_key_of_agent(auth);
    } else if (rc != SSH_AUTH_SUCCESS && rc != SSH_AUTH_PARTIAL) {
        note_refused_agent(auth);
    }
    hb_ssh_agent_close(auth->way);
    auth->way = NULL;
    return rc == SSH_AUTH_ERROR && ssh_is_connected(session) ? SSH_AUTH_DENIED
                                                             : rc;
}

/* Nothing was offered so far: some servers let everybody in, and the others
 * say what they would take. */
static int ask_nothing(struct hb_ssh_auth *auth, ssh_session session)
{
    return auth->refused.len || auth->was_accepted
        ? SSH_AUTH_DENIED : ssh_userauth_none(session, NULL);
}

static int takes_keys(ssh_session session)
{
    return (ssh_userauth_list(session, NULL) & SSH_AUTH_METHOD_PUBLICKEY) != 0;
}

/* The host has taken a key and wants another, which the same phase may have:
 * the agent's first one is refused when it is asked again. */
static int tries_again(struct hb_ssh_auth *auth, ssh_session session)
{
    if (!takes_keys(session)) {
        return 0;
    }
    auth->was_accepted = 1;
    if (auth->phase != PHASE_AGENT || !auth->asked_agent_again) {
        auth->asked_agent_again |= auth->phase == PHASE_AGENT;
        auth->phase--;
    }
    return 1;
}

/* AuthenticationMethods of its sshd has more than one. */
static int wants_more(const struct hb_ssh_auth *auth, ssh_session session,
                      const char *host, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_AUTH, "%s: the key of %s is accepted, but "
                   "the host wants a second %s", host, auth->settings->user,
                   takes_keys(session) ? "key as well, and takes none of the "
                   "others that are here"
                   : "proof, which a launcher cannot give");
}

int hb_ssh_auth_step(struct hb_ssh_auth *auth, ssh_session session,
                     const char *host, struct hpcboot_error *err)
{
    static int (*const phases[])(struct hb_ssh_auth *auth,
                                 ssh_session session) = {
        [PHASE_SERVICE] = ask_service,
        [PHASE_KEYS] = offer_keys,
        [PHASE_AGENT] = ask_agent,
        [PHASE_MORE_KEYS] = offer_keys,
        [PHASE_NONE] = ask_nothing,
    };

    for (; auth->phase != PHASE_OVER; auth->phase++) {
        int rc = unless_gone(session, phases[auth->phase](auth, session));

        if (rc == SSH_AUTH_SUCCESS) {
            return 1;
        }
        if (rc == SSH_AUTH_AGAIN) {
            return 0;
        }
        if (rc == SSH_AUTH_PARTIAL && !tries_again(auth, session)) {
            return wants_more(auth, session, host, err);
        }
        if (rc == SSH_AUTH_ERROR) {
            return broken(auth, session, host, err);
        }
    }
    return auth->was_accepted ? wants_more(auth, session, host, err)
                              : give_up(auth, session, host, err);
}
