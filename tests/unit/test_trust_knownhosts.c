/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What known_hosts says about a host. Hashed names are as ssh-keygen made
 * them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/trust/hash.h"
#include "lib/trust/pattern.h"

/* Whole ones, whose bits are of no matter. */
#define KEY "AAAAC3NzaC1lZDI1NTE5AAAABG1pbmU="
#define RSA "AAAAB3NzaC1yc2EAAAAEbWluZQ=="
#define ECDSA "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAEbWluZQ=="
#define OTHER "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8Q" \
    "ERITFBUWFxgZGhscHR4f"
#define OTHER_RSA "AAAAB3NzaC1yc2EAAAABAwAAACAAyMjIyMjIyMjIyMjIyMjI" \
    "yMjIyMjIyMjIyMjIyMjIyA=="
#define HASHED "|1|ADpHkJJ5gjJ6FhT4yQ391LFGKpE=|qna15fJ2qtYVtOE5bkOhWqXuWhM="
#define HASHED_2222 \
    "|1|5tM/0beHltEvfUAzIrSqE6FRpt0=|bPzXgMt6aRd6aSjE6tNCsokQebo="

static struct hb_known scan_as(const char *host, int port, const char *text)
{
    struct hb_known_query query = {
        .host = host, .port = port, .key_type = "ssh-ed25519",
        .key_blob = KEY, .hmac = hb_hmac_sha1,
    };
    struct hb_known known = {0};

    hb_known_scan(text, strlen(text), "f", &query, &known);
    return known;
}

static struct hb_known scan(const char *text)
{
    return scan_as("node-1", 22, text);
}

static void a_plain_name_matches(void **state)
{
    assert_int_equal(scan("# x\n\nnode-1 ssh-ed25519 " KEY " c\n").match.line,
                     3);
    assert_int_equal(scan("a,node-1,b ssh-ed25519 " KEY "\r\n").match.line, 1);
    assert_int_equal(scan("NODE-1 ssh-ed25519 " KEY).match.line, 1);
    assert_int_equal(scan("node-10 ssh-ed25519 " KEY "\n").match.line, 0);
}

static void patterns_match_and_negate(void **state)
{
    assert_int_equal(scan("node-* ssh-ed25519 " KEY "\n").match.line, 1);
    assert_int_equal(scan("node-?,!node-1 ssh-ed25519 " KEY "\n").match.line,
                     0);
}

static void another_key_differs(void **state)
{
    struct hb_known known = scan("node-1 ssh-ed25519 " OTHER "\n");

    assert_int_equal(known.match.line, 0);
    assert_int_equal(known.differs.line, 1);
    assert_string_equal(known.differs.file, "f");
}

static void one_of_several_keys_is_enough(void **state)
{
    assert_int_equal(scan("node-1 ssh-ed25519 " OTHER "\nnode-1 ssh-ed25519 "
                          KEY "\n").match.line, 2);
}

static void another_type_is_told_apart(void **state)
{
    struct hb_known known = scan("node-1 ssh-rsa " OTHER_RSA "\n");

    assert_int_equal(known.differs.line, 0);
    assert_int_equal(known.other.line, 1);
    assert_int_equal(known.n_types, 1);
    assert_string_equal(known.types[0], "ssh-rsa");
}

static void markers_do_not_count_as_keys(void **state)
{
    struct hb_known known = scan("@revoked * ssh-ed25519 " KEY "\n"
                                 "@cert-authority *-1 ssh-ed25519 " KEY "\n"
                                 "@what * ssh-ed25519 " KEY "\n");

    assert_int_equal(known.match.line, 0);
    assert_int_equal(known.revoked.line, 1);
    assert_int_equal(known.authority.line, 2);
    assert_int_equal(known.n_types, 0);
    assert_int_equal(scan("@revoked * ssh-ed25519 " OTHER "\n").revoked.line,
                     0);
}

static void hashed_names_match(void **state)
{
    assert_int_equal(scan(HASHED " ssh-ed25519 " KEY "\n").match.line, 1);
    assert_int_equal(scan_as("node-2", 22, HASHED " ssh-ed25519 " KEY "\n")
                     .match.line, 0);
    assert_int_equal(scan_as("Node-1", 2222, HASHED_2222 " ssh-ed25519 " KEY)
                     .match.line, 1);
}

static void a_port_is_part_of_the_name(void **state)
{
    const char *text = "[node-1]:2222 ssh-ed25519 " KEY "\n";

    assert_int_equal(scan_as("node-1", 2222, text).match.line, 1);
    assert_int_equal(scan_as("node-1", 22, text).match.line, 0);
    assert_int_equal(scan_as("node-1", 2223, text).match.line, 0);
}

static void a_plain_name_vouches_on_other_ports_but_does_not_contradict(
    void **state)
{
    assert_int_equal(scan_as("node-1", 2222, "node-1 ssh-ed25519 " KEY "\n")
                     .match.line, 1);
    assert_int_equal(scan_as("node-1", 2222, "node-1 ssh-ed25519 " OTHER "\n")
                     .differs.line, 0);
}

static void a_name_with_its_port_says_which_types_there_are(void **state)
{
    static const char plain[] = "node-1 ssh-ed25519 " KEY "\n";
    static const char both[] = "node-1 ssh-ed25519 " KEY "\n"
        "[node-1]:2222 ssh-rsa " OTHER_RSA "\nnode-? ecdsa-sha2-nistp256 "
        ECDSA "\n";
    struct hb_known known = scan_as("node-1", 2222, plain);

    assert_int_equal(known.n_types, 1);
    assert_string_equal(known.types[0], "ssh-ed25519");
    known = scan_as("node-1", 2222, both);
    assert_int_equal(known.n_types, 1);
    assert_string_equal(known.types[0], "ssh-rsa");
}

static void without_a_key_only_types_are_gathered(void **state)
{
    static const char text[] = "node-1 ssh-rsa " RSA "\n"
        "node-1 ssh-ed25519 " KEY "\nnode-1 ssh-rsa " OTHER_RSA "\n";
    struct hb_known_query query = {.host = "node-1", .port = 22};
    struct hb_known known = {0};

    hb_known_scan(text, strlen(text), "f", &query, &known);
    assert_int_equal(known.n_types, 2);
    assert_string_equal(known.types[0], "ssh-rsa");
    assert_string_equal(known.types[1], "ssh-ed25519");
    assert_int_equal(known.differs.line, 0);
}

static void broken_lines_say_nothing(void **state)
{
    struct hb_known known = scan("node-1\nnode-1 ssh-ed25519\n@revoked\n"
                                 "|1|x|y ssh-ed25519 " KEY "\n,, a b\n");

    assert_int_equal(known.match.line + known.differs.line + known.other.line
                     + known.revoked.line + known.authority.line, 0);
}

/* As a full disk leaves one, or two programs that add at a time. */
static void half_a_line_is_no_other_key(void **state)
{
    static const char *const halves[] = {
        "node-1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
        "node-1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAB\n",
        "node-1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAA\n",
        "node-1 ssh-rsa " OTHER "\n",
        "node-1 ssh-ed25519 " OTHER "=\n",
        "node-1 ssh-rsa AAAAB3NzaC1yc2EAAAABAw==node-2 ssh-rsa\n",
    };

    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        struct hb_known known = scan(halves[i]);

        assert_int_equal(known.differs.line, 0);
        assert_int_equal(known.other.line, 0);
        assert_int_equal(known.n_types, 0);
    }
}

static void a_key_of_ssh_1_is_no_other_key(void **state)
{
    struct hb_known known = scan("node-1 1024 35 11917345678\n");

    assert_int_equal(known.other.line, 0);
    assert_int_equal(known.n_types, 0);
}

static void many_stars_take_no_long_time(void **state)
{
    char text[2000], pattern[200];

    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < sizeof pattern; i++) {
        pattern[i] = i % 2 ? 'a' : '*';
    }
    pattern[sizeof pattern - 1] = 'b';
    assert_int_equal(hb_pattern_match(text, pattern, sizeof pattern), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_name_matches),
        cmocka_unit_test(patterns_match_and_negate),
        cmocka_unit_test(another_key_differs),
        cmocka_unit_test(one_of_several_keys_is_enough),
        cmocka_unit_test(another_type_is_told_apart),
        cmocka_unit_test(markers_do_not_count_as_keys),
        cmocka_unit_test(hashed_names_match),
        cmocka_unit_test(a_port_is_part_of_the_name),
        cmocka_unit_test(
            a_plain_name_vouches_on_other_ports_but_does_not_contradict),
        cmocka_unit_test(a_name_with_its_port_says_which_types_there_are),
        cmocka_unit_test(without_a_key_only_types_are_gathered),
        cmocka_unit_test(broken_lines_say_nothing),
        cmocka_unit_test(half_a_line_is_no_other_key),
        cmocka_unit_test(a_key_of_ssh_1_is_no_other_key),
        cmocka_unit_test(many_stars_take_no_long_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
