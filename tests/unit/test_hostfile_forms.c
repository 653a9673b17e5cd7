/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What holds for every form of a hostfile: bad bytes are refused with file,
 * line, column and what was expected; what is written is read again as the
 * same, but for what was said to be dropped. */

#include "config.h"

#include "hostfile/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define EACH(form) \
    for (const struct hb_form *const *form = hb_forms(); *form != NULL; form++)

/* "F:12:3: expected ..." */
static int is_placed(const char *text)
{
    unsigned line, column;
    int n = 0;

    return sscanf(text, "F:%u:%u: expected %n", &line, &column, &n) == 2 &&
           n > 0 && text[n] != '\0' && line > 0 && column > 0;
}

static void assert_refused(const struct hb_form *form, const char *text,
                           size_t len, const char *place)
{
    struct hb_gang g = {0};
    struct hpcboot_error err = {0};
    int rc = hb_form_parse(form, "F", text, len, &g, &err);

    if (rc >= 0 || !is_placed(err.text) || g.n != 0 ||
        (place != NULL && !hb_starts_with(err.text, place))) {
        fail_msg("%s: \"%.60s\": got \"%s\", expected %s", form->name, text,
                 rc < 0 ? err.text : "no error", place);
    }
}

static void what_names_no_host_is_refused_in_every_form(void **state)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "F:1:1: expected a host"},
        {"\n", "F:2:1: expected a host"},
        {"\n\r\n \t\n", "F:4:1: expected a host"},
    };

    EACH(form) {
        for (size_t i = 0; i < N_OF(cases); i++) {
            assert_refused(*form, cases[i].text, strlen(cases[i].text),
                           cases[i].place);
        }
    }
}

static void illegal_names_are_refused_in_every_form(void **state)
{
    static const char *const names[] = {
        "-x", "-oProxyCommand=sh", ".a", "a..b", "a;b", "a/b", "a$b", "a`b",
        "a\\b", "a\"b", "a'b", "a|b", "a&b", "a<b", "(a)", "a{1}", "~a",
        "\xc3\xa4", "a\x7f", "a\x1b[2J", "@a", "a@", "-u@a", "n[1", "n]",
        "n[]", "n[3-1]", "n[1-]", "n[a]", "n[0-99999999]", "[fe80::1",
        "[node]", "fe80::1::2", "[::1%]", "[::1]x", "[::1%a/b]"};

    EACH(form) {
        for (size_t i = 0; i < N_OF(names); i++) {
            assert_refused(*form, names[i], strlen(names[i]), "F:1:");
        }
    }
}

static void a_name_longer_than_dns_carries_is_refused(void **state)
{
    char name[300];

    memset(name, 'a', sizeof(name));
    EACH(form) {
        assert_refused(*form, name, 254, "F:1:");
    }
}

static void nul_bytes_are_refused_with_their_place(void **state)
{
    EACH(form) {
        assert_refused(*form, "\0", 1, "F:1:1: ");
        assert_refused(*form, "\n\na\0b", 5, "F:3:2: ");
    }
}

static void a_line_of_a_megabyte_is_refused(void **state)
{
    size_t n = 1000000;
    char *text = hb_xmalloc(n);

    memset(text, 'a', n);
    EACH(form) {
        assert_refused(*form, text, n, "F:1:524289: ");
    }
    free(text);
}

/* How a form writes a count, and where that stands; NULL: it has none. */
static const char *count_form(const char *name, size_t *column_out)
{
    static const char *const words[] = {"hydra", "intel", "mvapich", "list",
                                        "horovod", "pbs"};

    *column_out = 3;
    for (size_t i = 0; i < N_OF(words); i++) {
        if (strcmp(name, words[i]) == 0) {
            return "a:%s";
        }
    }
    *column_out = 9;
    return strcmp(name, "openmpi") == 0 || strcmp(name, "deepspeed") == 0
               ? "a slots=%s" : NULL;
}

static void wrong_counts_are_refused_in_every_form_with_counts(void **state)
{
    static const char *const counts[] = {
        "0", "-1", "+1", "", "x", "1.5", "0x10", "2x", "16777217",
        "4294967297", "99999999999999999999", "gpus"};
    size_t column, n = 0;

    EACH(form) {
        const char *how = count_form((*form)->name, &column);
        for (size_t i = 0; how != NULL && i < N_OF(counts); i++) {
            struct hb_str text = HB_STR_INIT;
            char place[32];
            for (const char *p = how; *p != '\0'; p++) {
                if (*p == '%') {
                    hb_str_put(&text, counts[i]);
                    p++;
                } else {
                    hb_str_putc(&text, *p);
                }
            }
            snprintf(place, sizeof(place), "F:1:%zu: ", column);
            assert_refused(*form, text.s, text.len, place);
            hb_str_destroy(&text);
            n++;
        }
    }
    assert_int_equal(n, 8 * N_OF(counts));
}

/* Names, counts and marks of all hosts; free() it. */
static char *facts(const struct hb_gang *g, int with)
{
    struct hb_str o = HB_STR_INIT;

    for (size_t i = 0; i < g->n; i++) {
        const struct hb_host *h = &g->hosts[i];
        hb_str_putf(&o, "%s", h->name);
        if ((with & HB_DROP_SLOTS) != 0 && h->slots > 0) {
            hb_str_putf(&o, " slots=%d", h->slots);
        }
        if ((with & HB_DROP_COUNTED) != 0 && h->slots == 0) {
            hb_str_put(&o, " counted");
        }
        if ((with & HB_DROP_GPUS) != 0 && h->slots == 0 &&
            h->count == HB_COUNT_GPUS) {
            hb_str_put(&o, " gpus");
        }
        if ((with & HB_DROP_MAX_SLOTS) != 0 && h->max_slots > 0) {
            hb_str_putf(&o, " max=%d", h->max_slots);
        }
        if ((with & HB_DROP_USER) != 0 && h->user != NULL) {
            hb_str_putf(&o, " user=%s", h->user);
        }
        if ((with & HB_DROP_PORT) != 0 && h->port > 0) {
            hb_str_putf(&o, " port=%d", h->port);
        }
        hb_str_putc(&o, '\n');
    }
    return hb_str_steal(&o);
}

#define ALL_FACTS (HB_DROP_USER | HB_DROP_PORT | HB_DROP_SLOTS | \
                   HB_DROP_MAX_SLOTS | HB_DROP_COUNTED | HB_DROP_GPUS)

/* The facts that were said to be dropped. */
static int said(const struct hb_strv *dropped)
{
    static const struct {
        const char *text;
        int what;
    } words[] = {
        {"user", HB_DROP_USER}, {"port", HB_DROP_PORT},
        {"slots", HB_DROP_SLOTS | HB_DROP_COUNTED | HB_DROP_GPUS},
        {"max_slots", HB_DROP_MAX_SLOTS},
        {"slots to be counted on the host (written as 1)",
         HB_DROP_COUNTED | HB_DROP_GPUS | HB_DROP_SLOTS},
        {"slots=gpu, the GPUs of the host as its slots", HB_DROP_GPUS},
        {"IPv6 addresses", 0},
    };
    int what = 0;

    for (size_t i = 0; i < dropped->n; i++) {
        size_t k = 0;
        while (k < N_OF(words) && strcmp(words[k].text, dropped->v[i]) != 0) {
            k++;
        }
        if (k == N_OF(words)) {
            fail_msg("nobody knows what \"%s\" is", dropped->v[i]);
        }
        what |= words[k].what;
    }
    return what;
}

static void check_round_trip(const struct hb_form *form, const char *text)
{
    struct hb_gang g = {0}, again = {0};
    struct hb_str first = HB_STR_INIT, second = HB_STR_INIT;
    struct hb_strv dropped = HB_STRV_INIT, twice = HB_STRV_INIT;
    struct hpcboot_error err;
    char *before, *after;

    assert_int_equal(hb_form_parse(&hb_form_openmpi, "F", text, strlen(text),
                                   &g, NULL), HPCBOOT_OK);
    form->write(&g, &first, &dropped);
    if (hb_form_parse(form, "F", first.s, first.len, &again, &err) < 0) {
        fail_msg("%s: \"%s\": %s", form->name, first.s, err.text);
    }
    before = facts(&g, ALL_FACTS & ~said(&dropped));
    after = facts(&again, ALL_FACTS & ~said(&dropped));
    if (strcmp(before, after) != 0) {
        fail_msg("%s: wrote \"%s\", read \"%s\"", form->name, before, after);
    }
    form->write(&again, &second, &twice);
    assert_string_equal(first.s, second.s);
    free(before);
    free(after);
    hb_str_destroy(&first);
    hb_str_destroy(&second);
    hb_strv_destroy(&dropped);
    hb_strv_destroy(&twice);
    hb_gang_destroy(&g);
    hb_gang_destroy(&again);
}

static void what_is_written_is_read_again_but_for_what_was_said(void **state)
{
    static const char *const gangs[] = {
        "a slots=2\nb slots=3\n",
        "a\nb\n",
        "a slots=2\nb\n",
        "a slots=gpu\nb slots=2\nc\n",
        "joe@a slots=2\nb slots=2\n",
        "a slots=2 port=2222\n",
        "a slots=2 max_slots=4\n",
        "joe@a slots=1 max_slots=4 port=22\nb slots=gpu\nc max_slots=3\n",
        "10.0.0.1 slots=2\n10.0.0.2 slots=2\n",
        "::1 slots=2\nfe80::1%eth0 slots=1\n",
        "w-[0-11].job.ns.svc slots=4\n",
        "n[08-11] slots=1\nn100 slots=1\nn7 slots=1\n",
        "r[0-1]n[0-1]-ib slots=2\n",
        "n_1.a slots=2\n1 slots=2\n",
    };

    EACH(form) {
        for (size_t i = 0; i < N_OF(gangs); i++) {
            check_round_trip(*form, gangs[i]);
        }
    }
}

static void nothing_is_said_to_be_dropped_that_is_not_there(void **state)
{
    static const char text[] = "a slots=2\nb slots=2\n";
    struct hb_gang g = {0};

    assert_int_equal(hb_form_parse(&hb_form_openmpi, "F", text, strlen(text),
                                   &g, NULL), HPCBOOT_OK);
    EACH(form) {
        struct hb_str out = HB_STR_INIT;
        struct hb_strv dropped = HB_STRV_INIT;
        int no_slots = *form == &hb_form_plain || *form == &hb_form_slurm;
        (*form)->write(&g, &out, &dropped);
        assert_int_equal(dropped.n, no_slots ? 1 : 0);
        hb_str_destroy(&out);
        hb_strv_destroy(&dropped);
    }
    hb_gang_destroy(&g);
}

/* Each form with its hosts and counts, and what editors and mounts do. */
static void ends_of_lines_do_not_matter(void **state)
{
    static const char text[] = "a slots=2\nb slots=2\nc slots=2\n";
    struct hb_gang g = {0};

    assert_int_equal(hb_form_parse(&hb_form_openmpi, "F", text, strlen(text),
                                   &g, NULL), HPCBOOT_OK);
    EACH(form) {
        struct hb_str out = HB_STR_INIT, crlf = HB_STR_INIT;
        struct hb_strv dropped = HB_STRV_INIT;
        struct hb_gang cut = {0}, with_cr = {0};
        (*form)->write(&g, &out, &dropped);
        for (const char *p = out.s; *p != '\0'; p++) {
            hb_str_put(&crlf, *p == '\n' ? "\r\n" : "");
            hb_str_putn(&crlf, p, *p == '\n' ? 0 : 1);
        }
        assert_int_equal(hb_form_parse(*form, "F", out.s, out.len - 1, &cut,
                                       NULL), HPCBOOT_OK);
        assert_int_equal(hb_form_parse(*form, "F", crlf.s, crlf.len, &with_cr,
                                       NULL), HPCBOOT_OK);
        assert_int_equal(cut.n, 3);
        assert_string_equal(cut.hosts[2].name, "c");
        assert_string_equal(with_cr.hosts[2].name, "c");
        assert_int_equal(cut.hosts[2].slots, with_cr.hosts[2].slots);
        hb_gang_destroy(&cut);
        hb_gang_destroy(&with_cr);
        hb_str_destroy(&out);
        hb_str_destroy(&crlf);
        hb_strv_destroy(&dropped);
    }
    hb_gang_destroy(&g);
}

static void a_gpu_count_is_understood_wherever_a_count_is(void **state)
{
    static const struct {
        const char *form, *text;
    } cases[] = {
        {"openmpi", "a slots=gpu"}, {"deepspeed", "a slots=GPU"},
        {"list", "a:gpu"}, {"horovod", "a:gpu"}, {"hydra", "a:gpu"},
        {"intel", "a:gpu"}, {"mvapich", "a:gpu"}, {"pbs", "a:gpu"},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct hb_gang g = {0};
        assert_int_equal(hb_hostfile_parse(cases[i].form, "F", cases[i].text,
                                           strlen(cases[i].text), &g, NULL),
                         HPCBOOT_OK);
        assert_int_equal(g.hosts[0].slots, 0);
        assert_int_equal(g.hosts[0].count, HB_COUNT_GPUS);
        hb_gang_destroy(&g);
    }
}

static void cores_and_gpus_of_one_host_cannot_both_be_its_slots(void **state)
{
    assert_refused(&hb_form_openmpi, "a slots=gpu\na slots=auto\n", 25,
                   "F:2:1: expected the same to be counted on a as in F:1");
}

static void a_default_holds_only_where_nothing_was_said(void **state)
{
    static const char text[] = "a\nb slots=auto\nc slots=gpu\nd slots=2\n";
    struct hb_gang g = {0};

    assert_int_equal(hb_form_parse(&hb_form_openmpi, "F", text, strlen(text),
                                   &g, NULL), HPCBOOT_OK);
    hb_gang_default_word(&g, "8");
    assert_int_equal(g.hosts[0].slots, 8);
    assert_int_equal(g.hosts[1].slots, 0);
    assert_int_equal(g.hosts[2].slots, 0);
    assert_int_equal(g.hosts[3].slots, 2);
    g.hosts[0].slots = 0;
    hb_gang_default_word(&g, "gpu");
    assert_int_equal(g.hosts[0].count, HB_COUNT_GPUS);
    assert_int_equal(g.hosts[1].count, HB_COUNT_CORES);
    hb_gang_destroy(&g);
}

static void a_comment_that_is_never_closed_is_refused(void **state)
{
    assert_refused(&hb_form_openmpi, "a slots=2\n/* b\nc\n", 16,
                   "F:3:1: expected */ for the comment that begins in line 2");
}

static void mvapich_names_an_adapter_that_is_not_used(void **state)
{
    static const char text[] = "a:2:mlx5_0\nb\nb\nc:1 # x\nd:hca1\n";
    struct hb_gang g = {0};
    char *got;

    assert_int_equal(hb_form_parse(&hb_form_mvapich, "F", text, strlen(text),
                                   &g, NULL), HPCBOOT_OK);
    got = facts(&g, ALL_FACTS);
    assert_string_equal(got, "a slots=2\nb slots=2\nc slots=1\n"
                        "d slots=1\n");
    free(got);
    hb_gang_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_names_no_host_is_refused_in_every_form),
        cmocka_unit_test(illegal_names_are_refused_in_every_form),
        cmocka_unit_test(a_name_longer_than_dns_carries_is_refused),
        cmocka_unit_test(nul_bytes_are_refused_with_their_place),
        cmocka_unit_test(a_line_of_a_megabyte_is_refused),
        cmocka_unit_test(wrong_counts_are_refused_in_every_form_with_counts),
        cmocka_unit_test(what_is_written_is_read_again_but_for_what_was_said),
        cmocka_unit_test(nothing_is_said_to_be_dropped_that_is_not_there),
        cmocka_unit_test(ends_of_lines_do_not_matter),
        cmocka_unit_test(a_gpu_count_is_understood_wherever_a_count_is),
        cmocka_unit_test(cores_and_gpus_of_one_host_cannot_both_be_its_slots),
        cmocka_unit_test(a_default_holds_only_where_nothing_was_said),
        cmocka_unit_test(a_comment_that_is_never_closed_is_refused),
        cmocka_unit_test(mvapich_names_an_adapter_that_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
