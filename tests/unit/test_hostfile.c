/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Dialects of host lists as tables: a text and the hosts it means, or a text
 * and where it is wrong. */

#include "config.h"

#include "hostfile/hostfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostfile/dialect.h"
#include "lib/base/str.h"

/* "name slots/max user port" of each host. */
static char *gang_text(const struct hb_gang *g)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_put(&o, "");
    for (size_t i = 0; i < g->n; i++) {
        const struct hb_host *h = &g->hosts[i];
        hb_str_putf(&o, "%s%s %d", i > 0 ? "; " : "", h->name, h->slots);
        if (h->max_slots > 0) {
            hb_str_putf(&o, "/%d", h->max_slots);
        }
        if (h->user != NULL) {
            hb_str_putf(&o, " %s", h->user);
        }
        if (h->port > 0) {
            hb_str_putf(&o, " :%d", h->port);
        }
    }
    return hb_str_steal(&o);
}

struct reading {
    const char *text, *hosts;
};

static int parse(const char *dialect, const char *text, struct hb_gang *g,
                 struct hpcboot_error *err)
{
    return strcmp(dialect, "-H") == 0
               ? hb_hostfile_parse_list(text, g, err)
               : hb_hostfile_parse(dialect, "F", text, strlen(text), g, err);
}

static void check_readings(const char *dialect, const struct reading *r,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hb_gang g = {0};
        struct hpcboot_error err = {0};
        char *got;
        if (parse(dialect, r[i].text, &g, &err) < 0) {
            fail_msg("%s: %s", r[i].text, err.text);
        }
        got = gang_text(&g);
        assert_string_equal(got, r[i].hosts);
        free(got);
        hb_gang_destroy(&g);
    }
}

static void check_errors(const char *dialect, const struct reading *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hb_gang g = {0};
        struct hpcboot_error err = {0};
        int rc = parse(dialect, r[i].text, &g, &err);
        if (rc >= 0 || strncmp(err.text, r[i].hosts, strlen(r[i].hosts)) != 0) {
            fail_msg("\"%s\": got \"%s\", expected \"%s\"", r[i].text, err.text,
                     r[i].hosts);
        }
        assert_int_equal(g.n, 0);
        assert_null(g.hosts);
    }
}
#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static void openmpi_files_are_read(void **state)
{
    static const struct reading r[] = {
        {"a\nb\n", "a 0; b 0"},
        {"a slots=2\nb slots=3 max_slots=4\n", "a 2; b 3/4"},
        {"a max_slots=4\nb max_slots=3 slots=auto\n", "a 4/4; b 0/3"},
        {"a slots=2", "a 2"},
        {"a slots=2\r\nb slots=3\r\n", "a 2; b 3"},
        {"\xef\xbb\xbf" "a slots=2\n", "a 2"},
        {"a slots = 2 max-slots= 4", "a 2/4"},
        {"\ta\tslots=2\t\n\n", "a 2"},
        {"a cpu=2\nb count=3\nc SLOTS=4", "a 2; b 3; c 4"},
        {"a cpu_max=2\nb slots_max=3", "a 2/2; b 3/3"},
        {"a slots=auto\nb slots=cpu", "a 0; b 0"},
        {"# c\na slots=2 # d\n// e\nb // f\n", "a 2; b 0"},
        {"a slots=2 cpu=2 port=22 port=22\n", "a 2 :22"},
        {"a /* x */ slots=2\n/* y\nz slots=9\n*/ b\n", "a 2; b 0"},
        {"joe@a slots=2\nb username=ann\nc user=\"x\" port=2222",
         "a 2 joe; b 0 ann; c 0 x :2222"},
        /* mentions of one host add up; names mind no case and no last dot */
        {"a slots=2\nb\nA slots=3\n", "a 5; b 0"},
        {"a slots=2\nb.\na. slots=3\n", "a 5; b. 0"},
        {"a\na\n", "a 2"},
        {"a slots=2\na\n", "a 3"},
        {"node[08-10] slots=2\n", "node08 2; node09 2; node10 2"},
        {"10.0.0.1 slots=1\nfe80::1%eth0 slots=2\n[::1] slots=3",
         "10.0.0.1 1; fe80::1%eth0 2; ::1 3"},
        {"pi-worker-0.pi.hpc.svc slots=4\n", "pi-worker-0.pi.hpc.svc 4"},
    };

    check_readings("openmpi", r, N_OF(r));
}

static void openmpi_errors_name_line_and_column(void **state)
{
    static const struct reading r[] = {
        {"", "F:1:1: expected a host"},
        {"# nothing\n\n", "F:3:1: expected a host"},
        {"a\nb slots=0\n", "F:2:9: expected a number of slots from 1 to"},
        {"a slots=-1", "F:1:9: expected a number of slots"},
        {"a slots=99999999999999999999", "F:1:9: expected a number of slots"},
        {"a slots=16777216\na slots=1", "F:2:1: expected the slots of one"},
        {"a slots=16777216\na", "F:2:1: expected the slots of one"},
        {"a slots=2\na slots=auto", "F:2:1: expected slots for a in the way of "
                                   "F:1: a number, or what to count there"},
        {"a slots=gpu\na slots=2", "F:2:1: expected slots for a in the way"},
        {"a slots=", "F:1:9: expected a number"},
        {"a slots=2x", "F:1:9: expected a number"},
        {"a slots=x", "F:1:9: expected a number of slots from 1 to 16777216, "
                        "or "
         "\"auto\", \"cpu\" or \"gpu\""},
        {"a slots", "F:1:3: expected KEY=VALUE"},
        {"a slot=2", "F:1:3: expected \"slots=\", found \"slot\""},
        {"a zzzzzz=2", "F:1:3: expected slots=, max_slots=, username= or"},
        {"a slots=2=3", "F:1:10: expected a blank before the next key"},
        {"a slots=4 max_slots=2", "F:1:1: expected max_slots of at least"},
        {"a slots=2 slots=3", "F:1:17: expected the same value as earlier in "
                              "this line, found \"3\""},
        {"a slots=2 cpu=auto", "F:1:15: expected the same value"},
        {"a max_slots=4 max-slots=3", "F:1:25: expected the same value"},
        {"a port=22 port=23", "F:1:16: expected the same value"},
        {"x@a user=y", "F:1:10: expected the same value"},
        {"a port=0", "F:1:8: expected a port"},
        {"a user=\"x", "F:1:8: expected a closing quote"},
        {"a user=-x", "F:1:8: expected a user name that begins"},
        {"a:4", "F:1:2: expected a blank and slots=N"},
        {"+n2", "F:1:1: expected a host name; relative hosts"},
        {"^a", "F:1:1: expected a host name; leaving hosts out"},
        {"-oProxyCommand=x", "F:1:1: expected a host name that begins with"},
        {"a;b", "F:1:2: expected a host name of letters"},
        {"a..b", "F:1:2: expected a name between two dots"},
        {"b@", "F:1:3: expected a host name"},
        {"@a", "F:1:1: expected a user name"},
        {"fe80::1::2", "F:1:1: expected an IPv6 address or HOST:SLOTS"},
        {"[fe80::1", "F:1:9: expected \"]\""},
        {"[fe80::1]x", "F:1:10: expected \":\" or the end"},
        {"[::1%]", "F:1:2: expected an IPv6 address"},
        {"n[3-1]", "F:1:5: expected the end of a range not below"},
        {"n[1", "F:1:4: expected \",\", \"-\" or \"]\""},
        {"n]", "F:1:2: expected \"[\" before"},
        {"n[0-99999999]", "F:1:1: expected at most 1048576 hosts"},
        {"a user=x\na user=y", "F:2:1: expected the same user for a as in F:1"},
    };

    check_errors("openmpi", r, N_OF(r));
}

static void hydra_files_are_read(void **state)
{
    static const struct reading r[] = {
        {"a:2\nb\n", "a 2; b 1"},
        {"a:2 # x\n\n#y\nb:1 user=joe binding=numa ifhn=b-ib\n",
         "a 2; b 1 joe"},
        {"a\na\nb\na:2\n", "a 4; b 1"},
        {"[::1]:2\nfe80::1\n", "::1 2; fe80::1 1"},
        {"n[1-2]:3", "n1 3; n2 3"},
    };

    check_readings("hydra", r, N_OF(r));
}

static void hydra_errors_name_line_and_column(void **state)
{
    static const struct reading r[] = {
        {"a:0", "F:1:3: expected a number of slots"},
        {"a:", "F:1:3: expected a number of slots"},
        {"x@a:2 user=y", "F:1:12: expected the same value as earlier in this "
                         "line, found \"y\""},
        {"a slots=2", "F:1:3: expected user=, binding= or ifhn=, found "
         "\"slots\""},
        {"a b", "F:1:3: expected KEY=VALUE"},
    };

    check_errors("hydra", r, N_OF(r));
}

static void files_of_other_systems_are_read(void **state)
{
    static const struct reading plain[] = {
        {"lm-0.lm\nlm-1.lm", "lm-0.lm 0; lm-1.lm 0"},
        {"a\na\n\n# x\n b ", "a 0; b 0"},
    };
    static const struct reading pbs[] = {
        {"n1\nn2\nn1\r\n\nn2\nn2\n", "n1 2; n2 3"},
        {"n1:4\nn2:2\n", "n1 4; n2 2"},
    };
    static const struct reading deepspeed[] = {
        {"a slots=8\n# x\nb  slots=4", "a 8; b 4"},
    };
    static const struct reading slurm[] = {
        {"gpu[01-03,07],login2\n",
         "gpu01 0; gpu02 0; gpu03 0; gpu07 0; login2 0"},
    };

    check_readings("plain", plain, N_OF(plain));
    check_readings("pbs", pbs, N_OF(pbs));
    check_readings("deepspeed", deepspeed, N_OF(deepspeed));
    check_readings("slurm", slurm, N_OF(slurm));
}

static void files_of_other_systems_name_what_is_wrong(void **state)
{
    static const struct reading plain[] = {
        {"a:2", "F:1:1: expected a host name without a count"},
        {"a b", "F:1:2: expected a host name of letters"},
    };
    static const struct reading deepspeed[] = {
        {"a slots=2\na slots=2", "F:2:1: expected each host once"},
        {"a", "F:1:2: expected slots=N"},
        {"a slots=2 x", "F:1:9: expected a number of slots"},
        {"a:2 slots=2", "F:1:5: expected slots=N"},
    };
    static const struct reading slurm[] = {
        {"n[1-2", "F:1:6: expected"},
        {"n1,,n2", "F:1:4: expected a host name"},
    };

    check_errors("plain", plain, N_OF(plain));
    check_errors("deepspeed", deepspeed, N_OF(deepspeed));
    check_errors("slurm", slurm, N_OF(slurm));
}

static void a_gang_is_written_in_each_form(void **state)
{
    static const char text[] =
        "n1 slots=2\nn2 slots=1\nx slots=auto max_slots=3\n";
    static const struct {
        const char *form, *text;
        size_t dropped;
    } cases[] = {
        {"openmpi", text, 0},
        {"mpich", "n1:2\nn2:1\nx:1\n", 2},
        {"intel", "n1:2\nn2:1\nx:1\n", 2},
        {"mvapich", "n1:2\nn2:1\nx:1\n", 2},
        {"list", "n1:2,n2:1,x:auto\n", 1},
        {"horovod", "n1:2,n2:1,x:1\n", 2},
        {"plain", "n1\nn2\nx\n", 2},
        {"pbs", "n1\nn1\nn2\nx\n", 2},
        {"deepspeed", "n1 slots=2\nn2 slots=1\nx slots=1\n", 2},
        {"slurm", "n[1-2],x\n", 2},
    };
    struct hb_gang g = {0};

    assert_int_equal(hb_hostfile_parse_openmpi("F", text, strlen(text), &g,
                                               NULL), HPCBOOT_OK);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct hb_str o = HB_STR_INIT;
        struct hb_strv dropped = HB_STRV_INIT;
        hb_form_find(cases[i].form)->write(&g, &o, &dropped);
        assert_string_equal(hb_str_text(&o), cases[i].text);
        assert_int_equal(dropped.n, cases[i].dropped);
        hb_str_destroy(&o);
        hb_strv_destroy(&dropped);
    }
    hb_gang_destroy(&g);
    assert_null(hb_form_find("nosuch"));
}

static void lists_are_read(void **state)
{
    static const struct reading r[] = {
        {"a,b:2,c:4", "a 1; b 2; c 4"},
        {"a,a,b,a", "a 3; b 1"},
        {"a,b,", "a 1; b 1"},
        {"a,b:2, ", "a 1; b 2"},
        {"a:2,a", "a 3"},
        {"a:auto,b:*", "a 0; b 0"},
        {" a , b:2 ", "a 1; b 2"},
        {"joe@a:2", "a 2 joe"},
        {"node[01-03,7]:2,x[1,3]", "node01 2; node02 2; node03 2; node7 2; "
         "x1 1; x3 1"},
        {"[::1]:2,fe80::1%eth0,10.0.0.1:3",
         "::1 2; fe80::1%eth0 1; 10.0.0.1 3"},
        {"worker-[0-2].sub", "worker-0.sub 1; worker-1.sub 1; worker-2.sub 1"},
    };

    check_readings("-H", r, N_OF(r));
}

static void list_errors_name_the_column(void **state)
{
    static const struct reading r[] = {
        {"", "-H, column 1: expected a host name"},
        {"a,,b", "-H, column 3: expected a host name"},
        {",", "-H, column 1: expected a host name"},
        {"a,,", "-H, column 3: expected a host name"},
        {"a,b:x", "-H, column 5: expected a number of slots"},
        {"a,+n1", "-H, column 3: expected a host name; relative"},
        {"a,b c", "-H, column 4: expected a host name of letters"},
        {"[node1]:2", "-H, column 2: expected a number"},
    };

    check_errors("-H", r, N_OF(r));
}

static void a_nul_byte_is_refused_with_its_place(void **state)
{
    static const char text[] = "a slots=2\nb\0c";
    struct hb_gang g = {0};
    struct hpcboot_error err;

    assert_int_equal(hb_hostfile_parse_openmpi("F", text, sizeof(text) - 1, &g,
                                               &err), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "F:2:2: expected text, found a NUL byte");
}

static void a_line_of_a_megabyte_is_refused(void **state)
{
    size_t n = 1u << 20;
    char *text = hb_xmalloc(n);
    struct hb_gang g = {0};
    struct hpcboot_error err;

    memset(text, 'a', n);
    assert_int_equal(hb_hostfile_parse_openmpi("F", text, n, &g, &err),
                     HPCBOOT_ERR_LIMIT);
    assert_string_equal(err.text,
                        "F:1:524289: expected the line to end by now");
    free(text);
}

static void the_form_is_guessed_from_the_first_host(void **state)
{
    static const char *const cases[][2] = {
        {"a:2\nb:3", "hydra"},     {"# x\n\n  a:2", "hydra"},
        {"a slots=2", "openmpi"},  {"a\nb", "openmpi"},
        {"fe80::1", "openmpi"},    {"[::1]:4", "hydra"},
        {"", "openmpi"},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        assert_string_equal(
            hb_form_guess(cases[i][0], strlen(cases[i][0]))->name,
            cases[i][1]);
    }
}

static void mentions_keep_their_order(void **state)
{
    struct hb_gang g = {0};

    assert_int_equal(hb_hostfile_parse_list("a:2,b,a", &g, NULL), HPCBOOT_OK);
    assert_int_equal(g.n_mentions, 3);
    assert_int_equal(g.mentions[0].host, 0);
    assert_int_equal(g.mentions[0].slots, 2);
    assert_int_equal(g.mentions[1].host, 1);
    assert_int_equal(g.mentions[2].host, 0);
    assert_int_equal(g.mentions[2].slots, 1);
    hb_gang_destroy(&g);
}

static void a_gang_is_cut_with_its_mentions(void **state)
{
    struct hb_gang g = {0};

    assert_int_equal(hb_hostfile_parse_list("a,b,c,a", &g, NULL), HPCBOOT_OK);
    hb_gang_cut(&g, 2);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.n_mentions, 3);
    assert_int_equal(g.mentions[2].host, 0);
    hb_gang_cut(&g, 9);
    assert_int_equal(g.n, 2);
    hb_gang_destroy(&g);
}

static void each_host_knows_its_line(void **state)
{
    static const char text[] = "# x\na\nb\n";
    struct hb_gang g = {0};

    assert_int_equal(hb_hostfile_parse_openmpi("/etc/h", text, strlen(text), &g,
                                               NULL), HPCBOOT_OK);
    assert_string_equal(g.hosts[1].origin, "/etc/h:3");
    hb_gang_destroy(&g);
}

static void what_is_written_is_read_back(void **state)
{
    static const char text[] = "joe@a slots=2 max_slots=4 port=22\n::1\nb\n";
    struct hb_gang g = {0}, again = {0};
    struct hb_str o = HB_STR_INIT;
    struct hb_strv dropped = HB_STRV_INIT;
    char *before, *after;

    assert_int_equal(hb_hostfile_parse_openmpi("F", text, strlen(text), &g,
                                               NULL), HPCBOOT_OK);
    hb_form_openmpi.write(&g, &o, &dropped);
    assert_int_equal(dropped.n, 0);
    assert_string_equal(hb_str_text(&o), text);
    assert_int_equal(hb_hostfile_parse_openmpi("F", o.s, o.len, &again, NULL),
                     HPCBOOT_OK);
    before = gang_text(&g);
    after = gang_text(&again);
    assert_string_equal(before, after);
    free(before);
    free(after);
    hb_str_destroy(&o);
    hb_gang_destroy(&g);
    hb_gang_destroy(&again);
}

static void what_a_form_cannot_carry_is_named(void **state)
{
    static const char text[] = "a slots=2 max_slots=4\nb port=22";
    struct hb_gang g = {0};
    struct hb_str o = HB_STR_INIT;
    struct hb_strv dropped = HB_STRV_INIT;

    assert_int_equal(hb_hostfile_parse_openmpi("F", text, strlen(text), &g,
                                               NULL), HPCBOOT_OK);
    hb_form_hydra.write(&g, &o, &dropped);
    assert_string_equal(hb_str_text(&o), "a:2\nb:1\n");
    assert_int_equal(dropped.n, 3);
    hb_str_destroy(&o);
    hb_strv_destroy(&dropped);
    hb_gang_destroy(&g);
}

/* A table that compared each name with all before it would not end within
 * the life of a test. */
static void a_hundred_thousand_hosts_are_read(void **state)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_gang g = {0};

    for (int i = 0; i < 100000; i++) {
        hb_str_putf(&text, "worker-%d.gang.ns.svc slots=8\n", i);
    }
    assert_int_equal(hb_hostfile_parse_openmpi("F", text.s, text.len, &g, NULL),
                     HPCBOOT_OK);
    assert_int_equal(g.n, 100000);
    hb_gang_destroy(&g);
    hb_str_destroy(&text);
}

static void loopback_names_and_addresses_are_this_host(void **state)
{
    static const char *const own[] = {"localhost", "LOCALHOST", "localhost.",
                                      "127.0.0.1", "127.3.2.1", "::1",
                                      "ip6-localhost", "0:0:0:0:0:0:0:1"};
    static const char *const others[] = {"localhost.example.org",
                                         "10.254.253.1", "128.0.0.1", "", ".",
                                         "worker-0"};

    for (size_t i = 0; i < N_OF(own); i++) {
        assert_true(hb_host_is_self(own[i]));
    }
    for (size_t i = 0; i < N_OF(others); i++) {
        assert_false(hb_host_is_self(others[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openmpi_files_are_read),
        cmocka_unit_test(openmpi_errors_name_line_and_column),
        cmocka_unit_test(hydra_files_are_read),
        cmocka_unit_test(hydra_errors_name_line_and_column),
        cmocka_unit_test(files_of_other_systems_are_read),
        cmocka_unit_test(files_of_other_systems_name_what_is_wrong),
        cmocka_unit_test(a_gang_is_written_in_each_form),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(list_errors_name_the_column),
        cmocka_unit_test(a_nul_byte_is_refused_with_its_place),
        cmocka_unit_test(a_line_of_a_megabyte_is_refused),
        cmocka_unit_test(the_form_is_guessed_from_the_first_host),
        cmocka_unit_test(mentions_keep_their_order),
        cmocka_unit_test(a_gang_is_cut_with_its_mentions),
        cmocka_unit_test(each_host_knows_its_line),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_a_form_cannot_carry_is_named),
        cmocka_unit_test(a_hundred_thousand_hosts_are_read),
        cmocka_unit_test(loopback_names_and_addresses_are_this_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
