/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the agent has to do with secrets: it proves to its launcher that this
 * host holds the gang's key, and keeps the job's session key.
 *
 * The key is looked for where the launcher has it, where the server that
 * started this agent has it, and where operators mount it. What is read is
 * wiped as soon as the proof is made. A process that has had a secret in its
 * memory leaves no core file and cannot be traced by its ranks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/boot/serve.h"
#include "bin/hpcbootd/agent.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"
#include "lib/trust/derive.h"
#include "lib/trust/gangkey.h"
#include "lib/trust/keyfile.h"

#define NONCE_MIN 16u
#define HOST_KEY_MAX 2048u /* RSA 16384 as SSH writes it */
#define TEXT_MAX 200u      /* of what was looked at */

static char *served_key; /* of HB_SERVE_KEY_VAR */

void agent_take_key_file(void)
{
    const char *path = getenv(HB_SERVE_KEY_VAR);

    if (path != NULL && served_key == NULL) {
        served_key = hb_xstrdup(path);
    }
    unsetenv(HB_SERVE_KEY_VAR); /* no matter of the ranks */
}

static void find_keys(const char *hint, struct hb_strv *out)
{
    if (served_key != NULL) {
        hb_strv_push(out, served_key);
    }
    if (hint[0] == '/') {
        hb_strv_push(out, hint);
    }
    hb_gang_keys_find(NULL, getenv("HOME"), out);
}

static void tell_none(struct hb_str *why)
{
    struct hb_strv dirs = HB_STRV_INIT;
    struct hpcboot_error err = {0};

    hb_gang_key_dirs(getenv("HOME"), &dirs);
    for (size_t i = 0; i < dirs.n && err.code == 0; i++) {
        (void)hb_key_is_closed(dirs.v[i], &err);
    }
    hb_str_put(why, err.code != 0 ? err.text
                                  : "no private key is mounted there");
    hb_strv_destroy(&dirs);
}

/* Appends a proof for each key; what cannot be used goes into `why`. */
static void make_proofs(const struct hb_trust_ops *ops, const char *token,
                        const struct hb_msg_prove *m, struct hb_buf *proofs,
                        struct hb_str *why)
{
    struct hb_strv paths = HB_STRV_INIT;

    find_keys(m->key_file, &paths);
    for (size_t i = 0; i < paths.n && proofs->len
         < (size_t)HB_WIRE_PROOFS * HB_PROOF_BYTES; i++) {
        unsigned char proof[HB_PROOF_BYTES];
        struct hb_secret secret = {0};
        struct hpcboot_error err = {0};

        if (hb_gang_secret_read(paths.v[i], &secret, &err) == 0) {
            if (ops->proof(&secret, m->nonce, token, m->host_key, proof)) {
                hb_buf_put_raw(proofs, proof, sizeof proof);
            }
            hb_secret_free(&secret);
        } else if (why->len < TEXT_MAX) {
            hb_str_putf(why, "%s%s", why->len > 0 ? "; " : "", err.text);
        }
    }
    if (proofs->len == 0 && why->len == 0) {
        tell_none(why);
    }
    hb_strv_destroy(&paths);
}

int agent_prove_frame(struct agent *a, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_prove m;
    struct hpcboot_error no_module = {0};
    struct hb_str why = HB_STR_INIT;
    struct hb_buf proofs;
    const void *ops = NULL;
    int rc = hb_wire_get_prove(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->job_id != NULL || m.nonce.len < NONCE_MIN
        || m.host_key.len > HOST_KEY_MAX || m.nonce.len > HOST_KEY_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PROVE came out of turn");
    }
    hb_secret_shut_process();
    hb_buf_init(&proofs, (size_t)HB_WIRE_PROOFS * HB_PROOF_BYTES);
    if (hb_module_open(HB_TRUST_MODULE, HB_TRUST_SYMBOL, &ops, &no_module)
        < 0) {
        hb_str_put(&why, no_module.text);
    } else {
        make_proofs(ops, a->token, &m, &proofs, &why);
    }
    AGENT_SEND(a, proof, .proofs = {proofs.data, proofs.len},
               .text = proofs.len > 0 ? "" : hb_str_text(&why));
    hb_buf_destroy(&proofs);
    hb_str_destroy(&why);
    return 0;
}

int agent_session_key_frame(struct agent *a, const struct hb_frame *f,
                            struct hpcboot_error *err)
{
    struct hb_msg_session m;
    int rc = hb_wire_get_session(f, &m, err);

    if (rc == 0 && (m.key.len != HB_SESSION_KEY_BYTES
                    || a->session_key.data != NULL)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "SESSION came out of turn");
    }
    if (rc < 0) {
        return rc;
    }
    hb_secret_shut_process();
    hb_secret_copy(&a->session_key, m.key.data, m.key.len);
    agent_served_session(a, m.key.data, m.key.len);
    /* The link's buffer is ordinary memory. */
    explicit_bzero((void *)(uintptr_t)m.key.data, m.key.len);
    return 0;
}
