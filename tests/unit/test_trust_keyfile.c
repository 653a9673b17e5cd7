/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Private keys are told by what is in a file. That each form can be used to log
 * in is tested with real servers. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/trust/keyfile.h"

#define BLOCK(name, body)                       \
    "-----BEGIN " name "-----\n" body "\n"      \
    "-----END " name "-----\n"

static char dir[64];

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/hb_keyfile_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char *command = hb_xasprintf("rm -rf '%s'", dir);
    int rc = system(command);

    free(command);
    return rc;
}

static char *put(const char *name, const char *text)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void assert_sniffs(const char *text, enum hb_key_form form,
                          int encrypted)
{
    struct hb_key_sniff sniff;

    assert_int_equal(hb_key_sniff(text, strlen(text), &sniff), form);
    assert_int_equal(sniff.encrypted, encrypted);
}

static void forms_are_told_by_their_label(void **state)
{
    assert_sniffs(BLOCK("RSA PRIVATE KEY", "AA"), HB_KEY_PKCS1, 0);
    assert_sniffs(BLOCK("EC PRIVATE KEY", "AA"), HB_KEY_SEC1, 0);
    assert_sniffs(BLOCK("PRIVATE KEY", "AA"), HB_KEY_PKCS8, 0);
    assert_sniffs(BLOCK("DSA PRIVATE KEY", "AA"), HB_KEY_DSA, 0);
    assert_sniffs(BLOCK("OPENSSH PRIVATE KEY",
                        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"),
                  HB_KEY_OPENSSH, 0);
}

static void encryption_is_seen(void **state)
{
    assert_sniffs(BLOCK("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\nAA"),
                  HB_KEY_PKCS1, 1);
    assert_sniffs(BLOCK("ENCRYPTED PRIVATE KEY", "AA"), HB_KEY_PKCS8, 1);
    assert_sniffs(BLOCK("OPENSSH PRIVATE KEY",
                        "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHI"),
                  HB_KEY_OPENSSH, 1);
}

static void other_blocks_are_passed_over(void **state)
{
    assert_sniffs(BLOCK("EC PARAMETERS", "AA") BLOCK("EC PRIVATE KEY", "AA"),
                  HB_KEY_SEC1, 0);
    assert_sniffs(BLOCK("PUBLIC KEY", "AA"), HB_KEY_NONE, 0);
    assert_sniffs("ssh-rsa AAAA me\n", HB_KEY_NONE, 0);
    assert_sniffs("-----BEGIN PRIVATE KEY-----\nAA", HB_KEY_NONE, 0);
}

static void the_block_is_cut_out_with_plain_line_ends(void **state)
{
    char *path = put("k", "Bag Attributes\r\n"
                     "-----BEGIN PRIVATE KEY-----\r\nAA \r\n"
                     "-----END PRIVATE KEY-----");
    struct hb_key_sniff sniff;
    char *pem = NULL;

    assert_int_equal(hb_key_read(path, &pem, &sniff, NULL), HPCBOOT_OK);
    assert_string_equal(pem, BLOCK("PRIVATE KEY", "AA"));
    hb_key_text_free(pem);
    free(path);
}

static void what_cannot_be_a_key_file_is_refused_at_once(void **state)
{
    char *fifo = hb_xasprintf("%s/fifo", dir);
    char *none = hb_xasprintf("%s/none", dir);
    char *text = put("text", "hello\n");
    struct hb_key_sniff sniff;
    struct hpcboot_error err;
    char *pem = NULL;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(hb_key_read(fifo, &pem, &sniff, &err), HPCBOOT_ERR_PARSE);
    assert_int_equal(hb_key_read(none, &pem, &sniff, &err),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_int_equal(hb_key_read(text, &pem, &sniff, &err), HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "text holds no private key"));
    free(fifo);
    free(none);
    free(text);
}

/* As a Secret is mounted: links into ..data. */
static void keys_are_found_by_content_in_a_mounted_secret(void **state)
{
    char *data = hb_xasprintf("%s/..data", dir);
    char *link = hb_xasprintf("%s/ssh-privatekey", dir);
    struct hb_strv found = HB_STRV_INIT;

    assert_int_equal(mkdir(data, 0755), 0);
    free(put("..data/ssh-privatekey", BLOCK("EC PRIVATE KEY", "AA")));
    assert_int_equal(symlink("..data/ssh-privatekey", link), 0);
    free(put("authorized_keys", "ecdsa-sha2-nistp521 AAAA\n"));
    free(put("a-key", BLOCK("PRIVATE KEY", "AA")));
    hb_key_find(dir, &found);
    assert_int_equal(found.n, 2);
    assert_true(hb_ends_with(found.v[0], "/a-key"));
    assert_true(hb_ends_with(found.v[1], "/ssh-privatekey"));
    hb_strv_destroy(&found);
    free(data);
    free(link);
}

/* Whoever owns the folder could exchange the link for another at any time. */
static void keys_in_a_folder_of_others_are_nobodys(void **state)
{
    char *theirs = hb_xasprintf("%s/theirs", dir);
    char *link = hb_xasprintf("%s/theirs/k", dir);
    char *path = put("k", BLOCK("PRIVATE KEY", "AA"));
    struct hb_key_sniff sniff;
    struct hpcboot_error err;
    char *pem = NULL;

    if (geteuid() != 0) {
        print_message("only root can give files away\n");
        skip();
    }
    assert_int_equal(mkdir(theirs, 0755), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(hb_key_read_placed(link, &pem, &sniff, &err), HPCBOOT_OK);
    hb_key_text_free(pem);
    assert_int_equal(chown(theirs, 65534, 0), 0);
    assert_int_equal(hb_key_read_placed(link, &pem, &sniff, &err),
                     HPCBOOT_ERR_AUTH);
    assert_non_null(strstr(err.text, "its folder belongs to neither root nor"));
    assert_int_equal(hb_key_read_placed(path, &pem, &sniff, &err), HPCBOOT_OK);
    hb_key_text_free(pem);
    assert_int_equal(chown(path, 65534, 0), 0);
    assert_int_equal(hb_key_read_placed(path, &pem, &sniff, &err),
                     HPCBOOT_ERR_AUTH);
    free(theirs);
    free(link);
    free(path);
}

static void a_directory_that_is_not_there_has_no_keys(void **state)
{
    struct hb_strv found = HB_STRV_INIT;

    hb_key_find("/nonexistent/dir", &found);
    assert_int_equal(found.n, 0);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_told_by_their_label),
        cmocka_unit_test(encryption_is_seen),
        cmocka_unit_test(other_blocks_are_passed_over),
        IN_DIR(the_block_is_cut_out_with_plain_line_ends),
        IN_DIR(what_cannot_be_a_key_file_is_refused_at_once),
        IN_DIR(keys_are_found_by_content_in_a_mounted_secret),
        IN_DIR(keys_in_a_folder_of_others_are_nobodys),
        cmocka_unit_test(a_directory_that_is_not_there_has_no_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
