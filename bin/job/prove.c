/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A host whose SSH host key nothing vouches for: neither known_hosts nor the
 * gang's key. It was logged in to, which tells it no more than our public key,
 * and its agent has said HELLO. Before it hears of the job it proves that it
 * holds a private key that we hold too: an HMAC keyed from that key over a
 * number made here, the token of its login, and the host key that was seen.
 * A host in the middle cannot make it, and one that was made for another host
 * key or login is of no use to it.
 *
 * Where the answer is none: `--host-keys pin` goes on with a warning, and
 * otherwise the host is not used.
 *
 * A host that is trusted is given the job's session key. From then on a lost
 * login is taken up again with that, and what becomes of the mounted key is of
 * no matter to the job. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/trust/derive.h"

struct job_doubt {
    char *fingerprint;
    unsigned char *host_key;
    size_t host_key_len;
    unsigned char nonce[HB_NONCE_BYTES];
    int asked;
    struct hb_frame hello; /* payload owned */
};

void host_doubt(struct job_host *h, const struct hb_boot_unverified *key)
{
    struct job_doubt *d;

    host_doubt_over(h);
    d = hb_xcalloc(1, sizeof *d);
    d->fingerprint = hb_xstrdup(key->fingerprint);
    d->host_key = hb_xmalloc(key->host_key.len + 1);
    memcpy(d->host_key, key->host_key.data, key->host_key.len);
    d->host_key_len = key->host_key.len;
    h->doubt = d;
    h->pinned = h->proven = 0;
}

void host_doubt_over(struct job_host *h)
{
    struct job_doubt *d = h->doubt;

    if (d == NULL) {
        return;
    }
    free(d->fingerprint);
    free(d->host_key);
    free((void *)(uintptr_t)d->hello.payload.data);
    free(d);
    h->doubt = NULL;
}

/* Mounted at the same place in all pods, as a rule. */
static const char *key_file(const struct job *j)
{
    const char *path = j->opt->identity != NULL ? j->opt->identity
                                                : j->gang.gang_key;

    return path != NULL && path[0] == '/' ? path : "";
}

void host_ask_proof(struct job_host *h, const struct hb_frame *hello)
{
    struct job_doubt *d = h->doubt;
    void *copy = hb_xmalloc(hello->payload.len + 1);

    if (getrandom(d->nonce, sizeof d->nonce, 0) != sizeof d->nonce) {
        abort(); /* no kernel of this century does that */
    }
    memcpy(copy, hello->payload.data, hello->payload.len);
    free((void *)(uintptr_t)d->hello.payload.data);
    d->hello = *hello;
    d->hello.payload.data = copy;
    d->asked = 1;
    HOST_SEND(h, prove, .nonce = {d->nonce, sizeof d->nonce},
              .host_key = {d->host_key, d->host_key_len},
              .key_file = key_file(h->job));
}

static int refuse(const struct job_host *h, const char *why,
                  struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_AUTH, "its host key %s is not known, and "
                   "its agent does not prove that it holds a key of ours: "
                   "%.160s (--host-keys pin accepts it unseen)",
                   h->doubt->fingerprint, why[0] != '\0' ? why
                   : "what it sent was not made with one");
}

int host_judge_proof(struct job_host *h, const struct hb_frame *f,
                     struct hb_frame *hello_out, struct hpcboot_error *err)
{
    struct job_doubt *d = h->doubt;
    struct hb_bytes host_key;
    struct hb_msg_proof m;
    int rc = hb_wire_get_proof(f, &m, err);

    if (rc == 0 && (d == NULL || !d->asked ||
                    m.proofs.len > HB_WIRE_PROOFS * HB_PROOF_BYTES)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a PROOF came out of turn");
    }
    if (rc < 0) {
        return rc;
    }
    d->asked = 0;
    host_key = (struct hb_bytes){d->host_key, d->host_key_len};
    if (hb_boot_proves(host_judge(h),
                       (struct hb_bytes){d->nonce, sizeof d->nonce}, h->token,
                       host_key, m.proofs)) {
        hb_log(HB_DEBUG, "host %s: has proven that it holds the gang's key",
               h->spec->name);
        h->proven = 1;
        if (h->via == NULL) {
            hb_boot_proven(h->boot, host_key);
        }
    } else if (h->job->boot.host_keys != HB_HOST_KEYS_PIN) {
        return refuse(h, m.text, err);
    } else {
        h->pinned = 1;
        hb_log(HB_INFO, "host %s: its host key %s is not known and was "
               "accepted", h->spec->name, d->fingerprint);
    }
    *hello_out = d->hello;
    return 1;
}

int job_session_make(struct job *j, struct hpcboot_error *err)
{
    hb_secret_alloc(&j->session, HB_SESSION_KEY_BYTES);
    if (getrandom(j->session.data, j->session.len, 0)
        != (ssize_t)j->session.len) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "no random numbers");
    }
    j->boot.session = &j->session;
    return 0;
}

/* A host that was only pinned gets none: with the key one can log in to the
 * job's other hosts. */
void host_send_session(struct job_host *h)
{
    const struct job *j = h->job;

    if (!h->pinned) {
        HOST_SEND(h, session, .key = {j->session.data, j->session.len});
        h->in_session = 1;
    }
}

void job_warn_pinned(const struct job *j)
{
    struct hb_str names = HB_STR_INIT;
    unsigned n = 0;

    for (size_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].pinned) {
            hb_str_putf(&names, "%s%s", n++ > 0 ? ", " : "",
                        j->hosts[i].spec->name);
        }
    }
    if (n > 0) {
        hb_log(HB_WARN, "host keys that are not known were accepted "
               "(--host-keys pin; -v shows them): %s", hb_str_text(&names));
    }
    hb_str_destroy(&names);
}
