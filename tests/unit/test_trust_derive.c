/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What is derived of a gang's key, against values that another implementation
 * (Python's hmac, OpenSSL's command) made. The first set stands in
 * hpcboot-protocol(7). */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/derive.h"
#include "lib/trust/gangkey.h"

struct vector {
    const char *file; /* NULL: the bytes 0, 1, ... 47 */
    size_t len;
    const char *seed, *pub, *proof; /* for worker-0; nonce 0..31, token t7 */
};

static const struct vector vectors[] = {
    {NULL, 48,
     "341c871949fbe04c6a8b6068e76afa5d5dab3005806926a9ff96314a56568fca",
     "AAAAC3NzaC1lZDI1NTE5AAAAID/CxMx6LdDh+2Z1Y7u+alUquuAp23y4ScXTw9Dec3xY",
     "c5367239a2221a37412244e85ca97491f21fdeb485bb03782270094614432211"},
    {"ed25519", 234,
     "870b72c0af58c4ebeb2099916e513dda6c8d9e3dd52efef67429f525da82d9be",
     "AAAAC3NzaC1lZDI1NTE5AAAAIFD0IXDKYAMcabrLyvlIKQF98z039DvHxULr5IOxv/xH",
     "9a2ee8e3d7ceb3eb699b47d063e67eb6b35c64a706a241cbc53dc5bda8b87a03"},
    {"sec1", 223,
     "430ae95cc2d8a8c6f6e546bb1a8ec8b504b54bea75fba486e7a7b0ff0e2120fb",
     "AAAAC3NzaC1lZDI1NTE5AAAAIB3DQ79wDVwQPqqPLi/MxdqQs96t/KPtRG7HBp1ZmKZM",
     "3aedd1a4cd5ed461b7818c778e153f62171e12ac3343d6e257cd574610ee2109"},
    {"pkcs1", 1190,
     "737fbd3e3a30962b3c2b709cf1bc15f2bbfc0e1b8e049412a909a85e67647578",
     "AAAAC3NzaC1lZDI1NTE5AAAAIOFhYX4f4JATmaQhzTBLHNM9qrM+pdv8C2UvNRQHDRMX",
     "c0c9300b10d2d2456304094690ef327ead409ae760be2710630acbcf9bc6fa81"},
    {"pkcs8", 241,
     "76c1bfcf342f83f8e89dafabac7a8f2220e69a855aa25038d8d8111634c4309c",
     "AAAAC3NzaC1lZDI1NTE5AAAAIAx6AyfXxnPd9HcUq0s3ZHH6gWIf33NpSDF+dlT0Qmyn",
     "3b0c941375eb6b2700e14e453f29c38cdcbde300cb04c2969774a6466ca6ae57"},
};
#define N_VECTORS (sizeof vectors / sizeof vectors[0])

static void read_secret(const struct vector *v, struct hb_secret *out)
{
    const char *src = getenv("srcdir");
    struct hpcboot_error err = {0};
    char *path;

    if (!v->file) {
        hb_secret_alloc(out, v->len);
        for (size_t i = 0; i < v->len; i++) {
            out->data[i] = (unsigned char)i;
        }
        return;
    }
    path = hb_xasprintf("%s/tests/data/trust/%s", src ? src : ".", v->file);
    if (hb_gang_secret_read(path, out, &err) < 0) {
        fail_msg("%s", err.text);
    }
    free(path);
}

static void assert_hex(const unsigned char *got, const char *want)
{
    char text[65];

    for (int i = 0; i < 32; i++) {
        snprintf(text + 2 * i, 3, "%02x", got[i]);
    }
    assert_string_equal(text, want);
}

static void host_keys_are_as_written_down(void **state)
{
    for (size_t i = 0; i < N_VECTORS; i++) {
        struct hb_secret secret = {0};
        struct hb_ed25519 key;
        char *text;

        read_secret(&vectors[i], &secret);
        assert_int_equal(secret.len, vectors[i].len);
        assert_true(hb_derive_host_key(&secret, "worker-0", &key));
        assert_hex(key.seed, vectors[i].seed);
        text = hb_ed25519_public_text(&key);
        assert_string_equal(text + strlen("ssh-ed25519 "), vectors[i].pub);
        free(text);
        hb_secret_free(&secret);
    }
}

static void another_label_is_another_key(void **state)
{
    struct hb_secret secret = {0};
    struct hb_ed25519 a, b;

    read_secret(&vectors[0], &secret);
    assert_true(hb_derive_host_key(&secret, "worker-0", &a));
    assert_true(hb_derive_host_key(&secret, "worker-1", &b));
    assert_memory_not_equal(a.pub, b.pub, sizeof a.pub);
    hb_secret_free(&secret);
}

static void proof_of(const struct vector *v, const char *token, int other_key,
                     unsigned char out[HB_PROOF_BYTES])
{
    struct hb_secret secret = {0};
    struct hb_ed25519 key;
    unsigned char nonce[HB_NONCE_BYTES], blob[HB_ED25519_BLOB_BYTES];

    for (int i = 0; i < HB_NONCE_BYTES; i++) {
        nonce[i] = (unsigned char)i;
    }
    read_secret(v, &secret);
    assert_true(hb_derive_host_key(&secret, "worker-0", &key));
    hb_ed25519_blob(&key, blob);
    blob[20] ^= (unsigned char)other_key;
    assert_true(hb_gang_proof(&secret, (struct hb_bytes){nonce, sizeof nonce},
                              token, (struct hb_bytes){blob, sizeof blob},
                              out));
    hb_secret_free(&secret);
}

static void proofs_are_as_written_down(void **state)
{
    unsigned char proof[HB_PROOF_BYTES];

    for (size_t i = 0; i < N_VECTORS; i++) {
        proof_of(&vectors[i], "t7", 0, proof);
        assert_hex(proof, vectors[i].proof);
    }
}

static void a_proof_holds_for_one_token_and_one_host_key(void **state)
{
    unsigned char a[HB_PROOF_BYTES], b[HB_PROOF_BYTES];

    proof_of(&vectors[0], "t7", 0, a);
    proof_of(&vectors[0], "t8", 0, b);
    assert_false(hb_secret_equal(a, b, sizeof a));
    proof_of(&vectors[0], "t7", 1, b);
    assert_false(hb_secret_equal(a, b, sizeof a));
    proof_of(&vectors[0], "t7", 0, b);
    assert_true(hb_secret_equal(a, b, sizeof a));
}

static void a_session_login_is_as_written_down(void **state)
{
    struct hb_secret session = {0};
    struct hb_ed25519 key;

    hb_secret_alloc(&session, HB_SESSION_KEY_BYTES);
    for (int i = 0; i < HB_SESSION_KEY_BYTES; i++) {
        session.data[i] = (unsigned char)i;
    }
    assert_true(hb_derive_session_login(&session, &key));
    assert_hex(key.seed, "f98939a5892e268467f2fa18f825e594"
                         "78ac8694c6c90a9015c12e63697852c6");
    hb_secret_free(&session);
}

/* Blanks that an editor or a template left do not make another secret. */
static void layout_does_not_matter(void **state)
{
    static const char plain[] = "-----BEGIN EC PRIVATE KEY-----\n"
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n"
        "-----END EC PRIVATE KEY-----\n";
    static const char headed[] = "-----BEGIN EC PRIVATE KEY-----\n"
        "X-Note: of no matter\n\n"
        "AAECAwQFBgcICQoLDA0ODxAR\nEhMUFRYXGBka GxwdHh8g\n"
        "-----END EC PRIVATE KEY-----\n";
    static const char one_line[] = "-----BEGIN EC PRIVATE KEY----- "
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g "
        "-----END EC PRIVATE KEY-----\n";
    static const char indented[] = "-----BEGIN EC PRIVATE KEY-----\n"
        "    AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n"
        "    -----END EC PRIVATE KEY-----\n";
    static const char returns[] = "-----BEGIN EC PRIVATE KEY-----\r"
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\r"
        "-----END EC PRIVATE KEY-----\n";
    static const char *const others[] = {headed, one_line, indented, returns};
    struct hb_key_sniff sniff = {.form = HB_KEY_SEC1};
    struct hb_secret a = {0}, b = {0};

    assert_int_equal(hb_gang_secret(plain, &sniff, "p", &a, NULL), 0);
    assert_int_equal(a.len, 33);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(hb_gang_secret(others[i], &sniff, "h", &b, NULL), 0);
        assert_int_equal(b.len, 33);
        assert_memory_equal(a.data, b.data, a.len);
        hb_secret_free(&b);
    }
    hb_secret_free(&a);
}

static void broken_keys_are_refused(void **state)
{
    static const char *const broken[] = {
        "-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nAAEC\n-----END EC PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\n"
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8?\n"
        "-----END EC PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----",
    };
    struct hb_key_sniff sniff = {.form = HB_KEY_SEC1};
    struct hb_secret s = {0};

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(hb_gang_secret(broken[i], &sniff, "x", &s, NULL),
                         HPCBOOT_ERR_PARSE);
        assert_null(s.data);
    }
    sniff.encrypted = 1;
    assert_int_equal(hb_gang_secret(broken[0], &sniff, "x", &s, NULL),
                     HPCBOOT_ERR_AUTH);
}

static void labels_of_names(void **state)
{
    char label[HB_HOST_LABEL_MAX + 1];

    assert_true(hb_host_label("Worker-0.sub.NS.svc", label));
    assert_string_equal(label, "worker-0");
    assert_true(hb_host_label("7", label));
    assert_string_equal(label, "7");
    assert_false(hb_host_label("10.0.0.7", label));
    assert_false(hb_host_label("fd00::7", label));
    assert_false(hb_host_label("", label));
    assert_false(hb_host_label(".x", label));
    assert_false(hb_host_label("a123456789b123456789c123456789d123456789"
                               "e123456789f123456789g123456789", label));
}

static void base64_is_strict(void **state)
{
    unsigned char out[16];

    assert_int_equal(hb_base64_decode("TWFu", 4, out), 3);
    assert_memory_equal(out, "Man", 3);
    assert_int_equal(hb_base64_decode("TW E=\n", 6, out), 2);
    assert_int_equal(hb_base64_decode("TQ==", 4, out), 1);
    assert_int_equal(hb_base64_decode("TR==", 4, out), -1); /* bits over */
    assert_int_equal(hb_base64_decode("TWF", 3, out), -1);
    assert_int_equal(hb_base64_decode("TQ==TQ==", 8, out), -1);
    assert_int_equal(hb_base64_decode("TW*u", 4, out), -1);
}

static void a_private_file_is_one_that_is_read_back(void **state)
{
    struct hb_ed25519 key;
    struct hb_key_sniff sniff;
    char *text;

    assert_true(hb_ed25519_generate(&key));
    text = hb_ed25519_private_text(&key, "gang");
    assert_int_equal(hb_key_sniff(text, strlen(text), &sniff), HB_KEY_OPENSSH);
    assert_false(sniff.encrypted);
    hb_key_text_free(text);
}

static void a_forked_child_does_not_see_a_secret(void **state)
{
    struct hb_secret s = {0};
    int status;
    pid_t pid;

    hb_secret_copy(&s, "secret", 6);
    pid = fork();
    if (pid == 0) {
        _exit(memcmp(s.data, "\0\0\0\0\0\0", 6) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_memory_equal(s.data, "secret", 6);
    hb_secret_free(&s);
}

/* "dd" among the flags of a mapping: not in core files. */
static void a_secret_is_in_no_core_file(void **state)
{
    struct hb_secret s = {0};
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512], wanted[32];
    int inside = 0, kept_out = 0;

    if (!f) {
        skip();
    }
    hb_secret_copy(&s, "secret", 6);
    snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)s.data);
    while (fgets(line, sizeof line, f)) {
        if (strchr(line, '-') && strstr(line, " rw-p ")) {
            inside = strncmp(line, wanted, strlen(wanted)) == 0;
        }
        kept_out |= inside && strncmp(line, "VmFlags:", 8) == 0
            && strstr(line, " dd") != NULL;
    }
    fclose(f);
    hb_secret_free(&s);
    assert_true(kept_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_keys_are_as_written_down),
        cmocka_unit_test(another_label_is_another_key),
        cmocka_unit_test(proofs_are_as_written_down),
        cmocka_unit_test(a_proof_holds_for_one_token_and_one_host_key),
        cmocka_unit_test(a_session_login_is_as_written_down),
        cmocka_unit_test(layout_does_not_matter),
        cmocka_unit_test(broken_keys_are_refused),
        cmocka_unit_test(labels_of_names),
        cmocka_unit_test(base64_is_strict),
        cmocka_unit_test(a_private_file_is_one_that_is_read_back),
        cmocka_unit_test(a_forked_child_does_not_see_a_secret),
        cmocka_unit_test(a_secret_is_in_no_core_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
