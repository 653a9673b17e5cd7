/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* ssh_config: which lines apply to a host, and what they say. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/trust/sshconfig.h"

static struct hb_ssh_conf conf;
static struct hpcboot_error err;

static int setup(void **state)
{
    hb_ssh_conf_init(&conf);
    return 0;
}

static int teardown(void **state)
{
    hb_ssh_conf_destroy(&conf);
    return 0;
}

static int take_as(const char *host, const char *text)
{
    struct hb_ssh_query query = {.host = host, .local_user = "me",
                                 .home = "/home/me"};

    return hb_ssh_conf_text(&conf, text, strlen(text), "f", NULL, &query, &err);
}

static void take(const char *text)
{
    assert_int_equal(take_as("node-1", text), HPCBOOT_OK);
}

static void lines_before_any_host_apply(void **state)
{
    take("Port 2222\nUser joe\n");
    assert_int_equal(conf.port, 2222);
    assert_string_equal(conf.user, "joe");
}

static void a_host_block_applies_to_its_hosts(void **state)
{
    take("Host other\nUser a\nHost x node-?\nUser b\n");
    assert_string_equal(conf.user, "b");
}

static void a_negated_pattern_excludes(void **state)
{
    take("Host * !node-1\nUser a\n");
    assert_null(conf.user);
}

static void the_first_value_counts_and_identities_add_up(void **state)
{
    take("User a\nIdentityFile k1\nHost *\nUser b\nIdentityFile k2\n");
    assert_string_equal(conf.user, "a");
    assert_int_equal(conf.identity_files.n, 2);
    assert_string_equal(conf.identity_files.v[1], "k2");
}

static void keywords_have_no_case_and_may_have_an_equals_sign(void **state)
{
    take("\tPORT=23\r\nhostname = \"%h.lm\"\n");
    assert_int_equal(conf.port, 23);
    assert_string_equal(conf.hostname, "node-1.lm");
}

static void quotes_and_comments_are_understood(void **state)
{
    take("# User x\nIdentityFile \"a b\" # the key\n"
         "UserKnownHostsFile a \"b c\"\n");
    assert_string_equal(conf.identity_files.v[0], "a b");
    assert_int_equal(conf.user_known_hosts.n, 2);
    assert_string_equal(conf.user_known_hosts.v[1], "b c");
}

static void blanks_after_a_backslash_are_of_the_value(void **state)
{
    take("IdentityFile ~/my\\ keys/id\nIdentityFile \"a\\ b\"\n"
         "IdentityFile c\\d\nUserKnownHostsFile a\\ b c\n");
    assert_string_equal(conf.identity_files.v[0], "~/my keys/id");
    assert_string_equal(conf.identity_files.v[1], "a\\ b");
    assert_string_equal(conf.identity_files.v[2], "c\\d");
    assert_int_equal(conf.user_known_hosts.n, 2);
    assert_string_equal(conf.user_known_hosts.v[0], "a b");
}

static void match_knows_hosts_and_users(void **state)
{
    take("Match host node-1 user me\nPort 1\n");
    assert_int_equal(conf.port, 1);
}

/* Each of them is met as `ssh -G` of OpenSSH 9.2 has it. */
static void match_takes_an_equals_sign_and_quotes(void **state)
{
    static const char *const met[] = {
        "host=node-1", "host = node-1", "host= node-1", "host \"node-1\"",
        "host=\"node-1\"", "\"host\" node-1", "!host=node-2", "HOST NODE-1",
        "host=x,node-1 user=me", "host node-1 all", "all # words",
        "host node-1 # words", "originalhost = node-1 localuser me",
    };
    static const char *const unmet[] = {
        "!all", "host=node-2", "host = node-2 all", "!host=node-1",
        "user=you host=node-1", "all user=you", "!host node-1 user me",
    };
    static const char *const wrong[] = {
        "host", "host=", "host =", "host \"\"", "host node-1 user",
        "! host node-1",
    };
    char text[100];

    for (size_t i = 0; i < sizeof met / sizeof met[0]; i++) {
        snprintf(text, sizeof text, "Match %s\nPort 7\n", met[i]);
        take(text);
        assert_int_equal(conf.port, 7);
        hb_ssh_conf_destroy(&conf);
    }
    for (size_t i = 0; i < sizeof unmet / sizeof unmet[0]; i++) {
        snprintf(text, sizeof text, "Match %s\nPort 7\n", unmet[i]);
        take(text);
        assert_int_equal(conf.port, 0);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "Match %s\nPort 7\n", wrong[i]);
        assert_int_equal(take_as("node-1", text), HPCBOOT_ERR_PARSE);
        assert_non_null(strstr(err.text, "f:1: "));
    }
}

static void match_with_an_unknown_criterion_does_not_apply(void **state)
{
    take("Match exec true\nPort 1\nMatch !exec true\nPort 2\n"
         "Match host node-1 tagged x\nPort 3\nMatch all\nPort 4\n");
    assert_int_equal(conf.port, 4);
}

static void users_and_names_of_host_lines_have_a_case(void **state)
{
    take("Host NODE-*\nPort 1\nMatch localuser ME\nPort 2\n"
         "Match host NODE-1\nPort 3\n");
    assert_int_equal(conf.port, 3);
}

/* The second reading is for Match final, and finds what is new in it. */
static void a_second_reading_sees_the_name_connected_to(void **state)
{
    static const char text[] =
        "IdentityFile a\nHost near\nHostName far\nHost far\nPort 7\n"
        "Match final host far\nUser ann\nMatch canonical\nUser bob\n"
        "IdentityFile b\n";
    struct hb_ssh_query query = {.host = "near"};

    assert_int_equal(hb_ssh_conf_text(&conf, text, strlen(text), "f", NULL,
                                      &query, &err), HPCBOOT_OK);
    assert_true(conf.final_wanted);
    assert_int_equal(conf.port, 0);
    assert_null(conf.user);
    query.connected = "far";
    assert_int_equal(hb_ssh_conf_text(&conf, text, strlen(text), "f", NULL,
                                      &query, &err), HPCBOOT_OK);
    assert_int_equal(conf.port, 7);
    assert_string_equal(conf.user, "ann");
    assert_int_equal(conf.identity_files.n, 2);
}

static void jumps_that_are_none_leave_a_command_its_say(void **state)
{
    take("ProxyJump none\nProxyJump a\nProxyCommand nc\n");
    assert_null(conf.proxy_jump);
    assert_string_equal(conf.proxy_command, "nc");
}

static void match_host_sees_the_name_connected_to(void **state)
{
    take("HostName far\nMatch host node-1\nPort 1\nMatch originalhost node-1\n"
         "Port 2\n");
    assert_int_equal(conf.port, 2);
}

static void the_first_proxy_keyword_counts(void **state)
{
    take("ProxyCommand none\nProxyJump a\nProxyCommand nc %h %p\n");
    assert_null(conf.proxy_jump);
    assert_null(conf.proxy_command);
    hb_ssh_conf_destroy(&conf);
    take("ProxyJump a # of two\nProxyCommand nc %h %p\n");
    assert_string_equal(conf.proxy_jump, "a");
    assert_null(conf.proxy_command);
}

static void a_proxy_command_is_kept_as_it_is(void **state)
{
    take("ProxyCommand ssh -W \"%h:%p\"  jump  \n");
    assert_string_equal(conf.proxy_command, "ssh -W \"%h:%p\"  jump");
}

static void unknown_keywords_are_passed_over(void **state)
{
    take("Frobnicate \"yes\nStrictHostKeyChecking no\nPort 5\n");
    assert_int_equal(conf.port, 5);
}

static void mistakes_are_named_by_line(void **state)
{
    assert_int_equal(take_as("n", "\nPort 0\n"), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "f:2: not a port number");
    assert_int_equal(take_as("n", "User \"x\n"), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "f:1: a quote is not closed");
    assert_int_equal(take_as("n", "User\n"), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "f:1: the value is missing");
}

static void put(const char *dir, const char *name, const char *text)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
}

static void files_include_files(void **state)
{
    char dir[] = "/tmp/hb_sshconfig_XXXXXX", *path, *command;
    struct hb_ssh_query query = {.host = "node-1"};

    assert_non_null(mkdtemp(dir));
    put(dir, "config", "Host x\nInclude no\nHost node-1\nInclude *.conf none\n"
        "Port 7\n");
    put(dir, "a.conf", "Host y\nPort 1\n");
    put(dir, "b.conf", "User b\n");
    put(dir, "no", "User no\n");
    path = hb_xasprintf("%s/config", dir);
    assert_int_equal(hb_ssh_conf_file(&conf, path, dir, 0, &query, &err), 0);
    assert_string_equal(conf.user, "b");
    assert_int_equal(conf.port, 7);
    put(dir, "config", "Include config\n");
    assert_int_equal(hb_ssh_conf_file(&conf, path, dir, 0, &query, &err),
                     HPCBOOT_ERR_PARSE);
    command = hb_xasprintf("rm -r %s", dir);
    assert_int_equal(system(command), 0);
    free(command);
    free(path);
}

static void letters_are_replaced(void **state)
{
    struct hb_ssh_tokens t = {
        .home = "/h", .host = "far", .original = "near", .local_host = "me.x",
        .local_user = "u", .user = "r", .port = 22, .alias = "gang",
        .uid = "7",
    };
    char *text = hb_ssh_expand("~/%h-%n-%L-%l-%u-%r-%p-%%-%d-%k-%i", &t, 1);

    assert_string_equal(text, "/h/far-near-me-me.x-u-r-22-%-/h-gang-7");
    free(text);
    assert_null(hb_ssh_expand("%C", &t, 1));
    assert_null(hb_ssh_expand("%", &t, 1));
}

static void variables_are_replaced_in_names_of_files(void **state)
{
    struct hb_ssh_tokens t = {.host = "far"};
    char *text;

    setenv("HB_TEST_DIR", "/some%h", 1);
    unsetenv("HB_TEST_NONE");
    text = hb_ssh_expand("${HB_TEST_DIR}/%h$x", &t, 1);
    assert_string_equal(text, "/some%h/far$x");
    free(text);
    text = hb_ssh_expand("nc ${HB_TEST_NONE}", &t, 0); /* the shell's */
    assert_string_equal(text, "nc ${HB_TEST_NONE}");
    free(text);
    assert_null(hb_ssh_expand("${HB_TEST_NONE}/x", &t, 1));
    assert_null(hb_ssh_expand("${HB_TEST_DIR", &t, 1));
}

static void homes_of_users_are_found(void **state)
{
    const struct passwd *pw = getpwuid(0);
    struct hb_ssh_tokens t = {.home = "/h"};
    char *said, *wanted, *text;

    if (pw == NULL) {
        skip();
    }
    said = hb_xasprintf("~%s/.ssh/id", pw->pw_name);
    wanted = hb_xasprintf("%s/.ssh/id", pw->pw_dir);
    text = hb_ssh_expand(said, &t, 1);
    assert_string_equal(text, wanted);
    free(text);
    text = hb_ssh_expand(said, &t, 0); /* the shell's */
    assert_string_equal(text, said);
    free(text);
    free(said);
    free(wanted);
    assert_null(hb_ssh_expand("~no such user/id", &t, 1));
    t.home = NULL;
    text = hb_ssh_expand("~/id", &t, 1);
    assert_string_equal(text, "~/id");
    free(text);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(lines_before_any_host_apply),
        T(a_host_block_applies_to_its_hosts),
        T(a_negated_pattern_excludes),
        T(the_first_value_counts_and_identities_add_up),
        T(keywords_have_no_case_and_may_have_an_equals_sign),
        T(quotes_and_comments_are_understood),
        T(blanks_after_a_backslash_are_of_the_value),
        T(match_knows_hosts_and_users),
        T(match_takes_an_equals_sign_and_quotes),
        T(match_with_an_unknown_criterion_does_not_apply),
        T(users_and_names_of_host_lines_have_a_case),
        T(a_second_reading_sees_the_name_connected_to),
        T(jumps_that_are_none_leave_a_command_its_say),
        T(match_host_sees_the_name_connected_to),
        T(the_first_proxy_keyword_counts),
        T(a_proxy_command_is_kept_as_it_is),
        T(unknown_keywords_are_passed_over),
        T(mistakes_are_named_by_line),
        T(files_include_files),
        T(letters_are_replaced),
        T(variables_are_replaced_in_names_of_files),
        T(homes_of_users_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
