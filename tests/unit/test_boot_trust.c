/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Which host keys count as known, from one login of a job to the next. What a
 * session was set up with, and the gang, are this test's own. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <libssh/libssh.h>
#include <string.h>

#include "bin/boot/ssh_advice.h"
#include "bin/boot/ssh_gang.h"
#include "bin/boot/ssh_trust.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"

static ssh_key offered;

int ssh_get_server_publickey(ssh_session session, ssh_key *key)
{
    (void)session;
    return ssh_pki_export_privkey_to_pubkey(offered, key);
}

const char *ssh_get_serverbanner(ssh_session session)
{
    (void)session;
    return "SSH-2.0-OpenSSH";
}

const char *hb_ssh_gang_member(const struct hb_ssh_gang *gang,
                               const char *host, const char *blob)
{
    (void)gang;
    (void)host;
    (void)blob;
    return NULL;
}

char *hb_ssh_command_to_add(const struct hb_ssh_settings *s, const char *host)
{
    (void)s;
    return hb_xstrdup(host);
}

char *hb_ssh_command_to_forget(const struct hb_ssh_settings *s, int port,
                               const char *file)
{
    (void)s;
    (void)port;
    return hb_xstrdup(file);
}

/* What libssh 0.12 has in its place is not in 0.10. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static ssh_key new_key(void)
{
    ssh_key key = NULL;

    assert_int_equal(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key), SSH_OK);
    return key;
}
#pragma GCC diagnostic pop

/* Logs in to who has `key`, and goes by the name that all have: 1 when that is
 * known to be its key. */
static int is_known(const struct hb_ssh_settings *settings, ssh_key key)
{
    static const struct hb_secret secret;
    const struct hb_ssh_gang gang = {
        .secrets = &secret, .n_secrets = 1, .operator_made = 1, .unusable = "",
    };
    struct hb_ssh_verdict verdict = {0};
    struct hpcboot_error err = {0};
    int known;

    offered = key;
    assert_int_equal(hb_ssh_host_key_check(NULL, "host", settings, &gang,
                                           HB_HOST_KEYS_STRICT, &verdict,
                                           &err), 0);
    known = verdict.unverified == NULL;
    hb_ssh_verdict_destroy(&verdict);
    return known;
}

static void proves(const struct hb_ssh_settings *settings, ssh_key key)
{
    unsigned char bytes[256];
    char *blob;
    long n;

    assert_int_equal(ssh_pki_export_pubkey_base64(key, &blob), SSH_OK);
    n = hb_base64_decode(blob, strlen(blob), bytes);
    assert_true(n > 0);
    hb_ssh_host_key_proven(settings, (struct hb_bytes){bytes, (size_t)n});
    ssh_string_free_char(blob);
}

static void a_proof_makes_a_key_known(void **state)
{
    const struct hb_ssh_settings settings = {
        .hostname = (char *)"one", .known_as = (char *)"one",
    };
    ssh_key key = new_key();

    (void)state;
    assert_false(is_known(&settings, key));
    assert_false(is_known(&settings, key));
    proves(&settings, key);
    assert_true(is_known(&settings, key));
    ssh_key_free(key);
}

/* Hosts of one HostKeyAlias: who shows a key while another proves itself. */
static void a_proof_is_of_the_key_that_it_was_made_for(void **state)
{
    const struct hb_ssh_settings settings = {
        .hostname = (char *)"all", .known_as = (char *)"all",
    };
    ssh_key key = new_key(), others = new_key();

    (void)state;
    assert_false(is_known(&settings, key));
    assert_false(is_known(&settings, others));
    proves(&settings, key);
    assert_false(is_known(&settings, others));
    ssh_key_free(key);
    ssh_key_free(others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_makes_a_key_known),
        cmocka_unit_test(a_proof_is_of_the_key_that_it_was_made_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
