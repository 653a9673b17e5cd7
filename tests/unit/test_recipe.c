/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Recipes: what a file says comes out for each rank, and mistakes are told with
 * their place. The job of these tests has two hosts, a (ranks 0, 1) and b
 * (rank 2). */
#include "config.h"

#include "tests/unit/recipe_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

static void refuses(const char *text, const char *words)
{
    struct hpcboot_error err = {0};
    struct hb_recipe *r = NULL;

    assert_int_equal(hb_recipe_parse(&r, "t.conf", text, strlen(text), &err),
                     HPCBOOT_ERR_PARSE);
    if (strstr(err.text, words) == NULL) {
        fail_msg("not in the message: %s\n%s", words, err.text);
    }
}

static void a_variable_is_that_of_the_rank(void **state)
{
    const char *t = "env A ${rank}/${size}/${local_rank}/${local_size}\n"
                    "env B ${node}/${nodes}/${host}/${address}\n"
                    "env C ${cross_rank}/${cross_size}/${job_id}\n"
                    "env D ${head_host}:${head_address}/${url_address}\n";

    gives(*state, t, 1, "A", "1/3/1/2");
    gives(*state, t, 1, "B", "0/2/a/10.0.0.1");
    gives(*state, t, 1, "C", "0/1/job-1");
    gives(*state, t, 2, "A", "2/3/0/1");
    gives(*state, t, 2, "B", "1/2/b/fd00::2");
    gives(*state, t, 2, "C", "1/2/job-1");
    gives(*state, t, 2, "D", "a:10.0.0.1/[fd00::2]");
}

static void quotes_and_continued_lines(void **state)
{
    const char *t = "# a comment\n"
                    "env A \"x ${rank}\\t\\\"\\$\" # and one behind\n"
                    "env B 'y ${rank} \\n'\n"
                    "env \\\n   C z\\${rank}\n"
                    "env D <<END\nfirst ${rank}\n  second\nEND\n"
                    "env E \"\"";

    gives(*state, t, 1, "A", "x 1\t\"$");
    gives(*state, t, 1, "B", "y ${rank} \\n");
    gives(*state, t, 1, "C", "z${rank}");
    gives(*state, t, 1, "D", "first 1\n  second");
    gives(*state, t, 1, "E", "");
}

static void a_backslash_continues_any_line(void **state)
{
    gives(*state, "env A \"one \\\n two\"\n", 0, "A", "one  two");
    gives(*state, "env A <<END\none \\\ntwo\nEND\n", 0, "A", "one two");
    gives(*state, "env A one\\\r\ntwo\r\nenv B \\\r\n x", 0, "A", "onetwo");
    gives(*state, "env A one\\\r\ntwo\r\nenv B \\\r\n x", 0, "B", "x");
    gives(*state, "env A 'one \\'\n", 0, "A", "one \\");
    refuses("env A \"a \\\n b\"\nenv B ${rnk}", "t.conf:3:7: there is no");
}

static void lines_may_end_as_on_windows(void **state)
{
    const char *t = "env A <<END\r\nx\r\n${each rank: ${rank}\r\n}y\r\n"
                    "END\r\nenv B <<END\r\nz\rz\r\nEND\r\n"
                    "env C <<END\r\n${each rank\r\n:\r\n${rank}}\r\nEND\r\n";

    gives(*state, t, 0, "A", "x\n0\n,1\n,2\ny");
    gives(*state, t, 0, "B", "z\rz");
    gives(*state, t, 0, "C", "0,1,2");
}

static void lines_in_brackets_are_lines(void **state)
{
    const char *t = "[when rank is 1 and \\\n host is a] # of the first\n"
                    "env A one\n[when role is not \"]#\"]\t# [any]\r\n"
                    "env B two\n[always] \\\n\n";

    gives(*state, t, 0, "A", NULL);
    gives(*state, t, 1, "A", "one");
    gives(*state, t, 0, "B", "two");
    refuses("[when rank is 1 and \\\n rnk is 1]\n", "t.conf:2:2: there is no");
    refuses("[always] #\nenv A ${x}", "t.conf:2:7: there is no variable x");
    refuses("[always] always", "t.conf:1:1: [ is not closed");
    refuses("[always]\\x\n", "t.conf:1:1: [ is not closed");
    refuses("[always]\\", "t.conf:1:1: [ is not closed");
    refuses("[always # ]", "t.conf:1:1: [ is not closed");
    refuses("[when rank is \"1]", "t.conf:1:1: [ is not closed");
}

static void each_walks_ranks_and_hosts(void **state)
{
    const char *t = "env A \"${each rank: ${rank}@${host}}\"\n"
                    "env B \"${each host by \" \": ${host}}\"\n"
                    "env C ${each host: {\"h\":\"${host}\",\"r\":"
                    "[${each rank: ${rank}}]}}\n";

    gives(*state, t, 0, "A", "0@a,1@a,2@b");
    gives(*state, t, 0, "B", "a b");
    gives(*state, t, 0, "C",
          "{\"h\":\"a\",\"r\":[0,1]},{\"h\":\"b\",\"r\":[2]}");
}

static void roles_number_their_ranks(void **state)
{
    struct job *j = *state;
    const char *t = "roles worker ps=0\n"
        "env A ${role}${role_index}/${role_size}/${number_ps}\n"
        "env B \"${each role: ${role}=[${each rank: ${rank}}]}\"\n"
        "env C \"${each rank of worker: ${rank}}\"\n";

    gives(j, t, 2, "A", "worker2/3/0");
    j->roles[0] = 1;
    j->f.role_of_rank = j->roles;
    gives(j, t, 0, "A", "ps0/1/1");
    gives(j, t, 2, "A", "worker1/2/1");
    gives(j, t, 0, "B", "worker=[1,2],ps=[0]");
    gives(j, t, 0, "C", "1,2");
}

static void ports_are_those_of_their_place(void **state)
{
    const char *t = "port m head 1\nport h host 2\nport r rank 3 from X\n"
                    "env A ${port_m}/${port_h}/${port_r}\n"
                    "env B \"${each rank: ${port_r}}\"\n";

    gives(*state, t, 0, "A", "9000/9001/9003");
    gives(*state, t, 2, "A", "9000/9002/9005");
    gives(*state, t, 2, "B", "9003,9004,9005");
}

static void conditions_hold_until_the_next_bracket(void **state)
{
    const char *t = "[when rank is 1]\nenv A one\n"
                    "[when local_rank is not 1 and host is a]\nenv A two\n"
                    "[always]\nenv B ${v}\nset v x\n"
                    "[when node is 1]\nset v y\n";

    gives(*state, t, 0, "A", "two");
    gives(*state, t, 1, "A", "one");
    gives(*state, t, 2, "A", NULL);
    gives(*state, t, 0, "B", "x");
    gives(*state, t, 2, "B", "y");
}

static void what_is_given_stands_before_set(void **state)
{
    static char *const given[] = {S("v=9"), S("env_RAY=there"), NULL};
    struct job *j = *state;

    gives(j, "set v 1\nenv A ${v}-${env_RAY}\n", 0, "A", "1-");
    j->f.given = given;
    gives(j, "set v 1\nenv A ${v}-${env_RAY}\n", 0, "A", "9-there");
}

static void commands_and_files(void **state)
{
    struct hb_recipe_rank out;

    expand(*state, "set no \"\"\nprogram first\nstart srv --n ${rank} ${no}\n"
                   "ready 30 probe \"\"\nstop srv stop\n"
                   "run wrap \"a b\" ${program} ${program}x\n"
                   "file f ${rank}\nenv F ${file_f}\n", 0, &out);
    assert_int_equal(out.n_commands, 3);
    assert_int_equal(out.commands[0].step, HB_RECIPE_START);
    assert_int_equal(out.commands[0].argv.n, 3);
    assert_int_equal(out.commands[1].step, HB_RECIPE_READY);
    assert_int_equal(out.commands[1].seconds, 30);
    assert_int_equal(out.commands[1].argv.n, 2);
    assert_int_equal(out.commands[2].step, HB_RECIPE_STOP);
    assert_int_equal(out.argv.n, 6);
    assert_string_equal(out.argv.v[1], "a b");
    assert_string_equal(out.argv.v[4], "0 1");
    assert_string_equal(out.argv.v[5], "train.py --lr 0 1x");
    assert_string_equal(out.files[0].text, "0\n");
    assert_string_equal(hb_env_get(&out.set, "F"), "/run/x/f");
    hb_recipe_rank_destroy(&out);
}

static void options_are_cut_into_words(void **state)
{
    static char *const given[] = {S("o= --a 1\t--b='x y'  \"\" z"), NULL};
    struct job *j = *state;
    struct hpcboot_error err = {0};
    static char *const json[] = {
        S("o=--r={\"a\":4} {'b':'c'} -c='{\"d\": \"=\"}'"), NULL};
    static char *const open[] = {S("o=--a 'x y"), NULL};
    const char *t = "set o \"\"\nrun prog ${words o} ${o}\n";
    struct hb_recipe_rank out;
    struct hb_recipe *r = parse(t);

    expand(j, t, 0, &out);
    assert_int_equal(out.argv.n, 1);
    hb_recipe_rank_destroy(&out);
    j->f.given = given;
    expand(j, t, 0, &out);
    assert_int_equal(out.argv.n, 7);
    assert_string_equal(out.argv.v[1], "--a");
    assert_string_equal(out.argv.v[2], "1");
    assert_string_equal(out.argv.v[3], "--b=x y");
    assert_string_equal(out.argv.v[4], "");
    assert_string_equal(out.argv.v[5], "z");
    assert_string_equal(out.argv.v[6], given[0] + 2);
    hb_recipe_rank_destroy(&out);
    j->f.given = json;
    expand(j, t, 0, &out);
    assert_int_equal(out.argv.n, 5);
    assert_string_equal(out.argv.v[1], "--r={\"a\":4}");
    assert_string_equal(out.argv.v[2], "{'b':'c'}");
    assert_string_equal(out.argv.v[3], "-c={\"d\": \"=\"}");
    hb_recipe_rank_destroy(&out);
    j->f.given = open;
    assert_true(hb_recipe_expand(r, &j->f, 0, &out, &err) < 0);
    assert_non_null(strstr(err.text, "a quote is not closed in what o is: 'x"));
    hb_recipe_destroy(r);
    refuses("set o 1\nrun a${words o}", "t.conf:2:6: ${words o} stands alone");
    refuses("set o 1\nrun ${words o}a", "t.conf:2:5: ${words o} stands alone");
    refuses("set o 1\nenv A ${words o}", "${words o} stands alone");
    refuses("set o 1\nrun ${each rank: ${words o}}", "stands alone");
    refuses("set o 1\n[when rank is ${words o}]", "stands alone");
    refuses("run ${words }", "expected the name of a variable");
}

static void ranks_that_only_serve(void **state)
{
    struct job *j = *state;
    unsigned char serves[RANKS];
    struct hb_recipe *r = parse("[when rank is 1]\nserves\n");

    assert_int_equal(hb_recipe_serving(r, &j->f, serves, NULL), 0);
    assert_memory_equal(serves, "\0\1\0", 3);
    hb_recipe_destroy(r);
    r = parse("program first\n");
    assert_int_equal(hb_recipe_serving(r, &j->f, serves, NULL), 0);
    assert_memory_equal(serves, "\0\1\1", 3);
    hb_recipe_destroy(r);
}

static void a_recipe_may_take_in_ranks_that_come_later(void **state)
{
    struct job *j = *state;
    struct hb_recipe *r = parse("[when rank is 0]\ngrows\n");

    assert_int_equal(hb_recipe_grows(r, &j->f, NULL), 1);
    hb_recipe_destroy(r);
    r = parse("[when rank is 1]\ngrows\n");
    assert_int_equal(hb_recipe_grows(r, &j->f, NULL), 0);
    hb_recipe_destroy(r);
}

static void kinds_of_ranks_are_those_of_the_conditions(void **state)
{
    struct job *j = *state;
    struct hb_recipe *r = parse("[when rank is 0]\nenv A 1\n"
                                "[when host is a]\nenv B 1\n");
    struct hb_str many = HB_STR_INIT;
    uint32_t *ranks = NULL;
    size_t n = 0;

    assert_int_equal(hb_recipe_kinds(r, &j->f, &ranks, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(ranks[2], 2);
    free(ranks);
    hb_recipe_destroy(r);
    r = parse("[when size is 3]\nenv A 1\n");
    assert_int_equal(hb_recipe_kinds(r, &j->f, &ranks, &n, NULL), 0);
    assert_int_equal(n, 1);
    free(ranks);
    hb_recipe_destroy(r);
    hb_str_put(&many, "[when rank is 0]\nenv A 1\n");
    for (int i = 0; i < 64; i++) {
        hb_str_put(&many, "[when size is 3]\nenv B 1\n");
    }
    r = parse(hb_str_text(&many));
    assert_int_equal(hb_recipe_kinds(r, &j->f, &ranks, &n, NULL), 0);
    assert_int_equal(n, 2);
    free(ranks);
    hb_recipe_destroy(r);
    hb_str_destroy(&many);
}

static void only_the_first_runs_the_program(void **state)
{
    struct hb_recipe_rank out;

    expand(*state, "program first\nstart x\n", 1, &out);
    assert_int_equal(out.argv.n, 0);
    hb_recipe_rank_destroy(&out);
}

static void mistakes_have_a_place(void **state)
{
    refuses("env A 1\nenv B ${rnak}\n",
            "t.conf:2:7: there is no variable rnak; did you mean rank?");
    refuses("\nevn A 1", "t.conf:2:1: evn is no statement; did you mean env?");
    refuses("env A \"x\n", "t.conf:1:7: the quote is not closed");
    refuses("env A 'x", "t.conf:1:7: the quote is not closed");
    refuses("env A ${rank", "t.conf:1:7: ${ is not closed by }");
    refuses("env A ${each rank: {x}", "t.conf:1:20: ${each is not closed");
    refuses("env A ${each rnk: x}", "t.conf:1:14: expected rank, host or role");
    refuses("env A ${}", "t.conf:1:7: expected the name of a variable");
    refuses("env A \\q", "t.conf:1:7: \\ is followed by one of");
    refuses("env A <<END\nx\n", "t.conf:1:9: no line is END");
    refuses("env A b c", "t.conf:1:9: A takes one text; quote blanks");
    refuses("env 1A b", "t.conf:1:5: 1A is no name");
    refuses("env", "t.conf:1:4: expected a name");
    refuses("env ${rank} b", "t.conf:1:5: expected a name, without variables");
    refuses("port a hed 1", "t.conf:1:8: hed is no place of a port "
                            "(head, host, rank); did you mean head?");
    refuses("port a head 70000", "t.conf:1:13: 70000 is no port number");
    refuses("processes x", "t.conf:1:11: x is no place of processes");
    refuses("[when rank is 1", "t.conf:1:1: [ is not closed");
    refuses("[when rank = 1]", "t.conf:1:12: expected is");
    refuses("[when rnk is 1]", "t.conf:1:7: there is no variable rnk");
    refuses("[when rank is 1 or]", "t.conf:1:17: expected and, or ]");
    refuses("[whn rank is 1]", "t.conf:1:2: whn is no kind of section");
    refuses("[when rank is 1]\nroles a", "t.conf:2:1: roles cannot depend on a "
                                         "condition");
    refuses("ready x y", "t.conf:1:7: x is no number of seconds");
    refuses("ready 0 y", "t.conf:1:7: 0 is no number of seconds");
    refuses("start", "expected a command");
    refuses("roles a b", "t.conf:1:9: only one role can have the ranks");
    refuses("roles a=1", "t.conf:1:1: one role has to have the ranks");
    refuses("roles a=x b", "t.conf:1:7: x is no number of ranks");
    refuses("roles a a=1", "t.conf:1:9: role a is named twice");
    refuses("roles a\nalias b c", "t.conf:2:7: there is no role b");
    refuses("roles a\nalias a", "t.conf:2:8: expected a name");
    refuses("meet x", "t.conf:1:6: there is no port x");
    refuses("set rank 1", "t.conf:1:5: rank has a meaning already");
    refuses("env A ${each rank of x: y}", "t.conf:1:7: there is no role x");
}

static int is_mine(void *arg, const char *name)
{
    return strcmp(arg, name) == 0;
}

static void the_first_name_that_is_here_says_what_is_usual(void **state)
{
    struct hb_recipe *r = parse("processes host in AJob A_MODULE\n"
                                "processes gpu in AJob A_VARIABLE\n");
    const char *name;

    assert_int_equal(hb_recipe_per_host(r), 0);
    assert_int_equal(hb_recipe_usual(r, is_mine, S("AJob"), &name),
                     HB_RECIPE_PER_HOST);
    assert_string_equal(name, "AJob");
    assert_int_equal(hb_recipe_usual(r, is_mine, S("A_VARIABLE"), &name),
                     HB_RECIPE_PER_GPU);
    assert_int_equal(hb_recipe_usual(r, is_mine, S("other"), &name),
                     HB_RECIPE_PER_SLOT);
    assert_null(name);
    hb_recipe_destroy(r);
    refuses("processes gpu", "expected in, as in processes gpu in GANG");
    refuses("processes host of AJob", "of is no word here (in)");
    refuses("processes host in", "a gang or a variable");
}

static void loops_are_refused(void **state)
{
    refuses("set a ${a}", "t.conf:1:7: a stands for itself");
    refuses("set a ${b}\nset b ${c}\nset c x${a}",
            "t.conf:3:8: a stands for itself");
    refuses("set a 1\n[when b is 1]\nset a 2\n[always]\nset b ${a}",
            "stands for itself");
}

/* What a recipe makes of rank 0 is wrong. */
static void makes_wrong(struct job *j, const char *text, const char *words)
{
    struct hpcboot_error err = {0};
    struct hb_recipe_rank out;
    struct hb_recipe *r = parse(text);

    assert_int_equal(hb_recipe_expand(r, &j->f, 0, &out, &err),
                     HPCBOOT_ERR_PARSE);
    if (strstr(err.text, words) == NULL) {
        fail_msg("not in the message: %s\n%s", words, err.text);
    }
    hb_recipe_destroy(r);
}

static void depth_and_size_are_bounded(void **state)
{
    struct hb_str t = HB_STR_INIT;

    hb_str_put(&t, "env A ");
    for (int i = 0; i < 20; i++) {
        hb_str_put(&t, "${each rank: ");
    }
    refuses(t.s, "stands in more than 8 others");
    hb_str_destroy(&t);
    hb_str_put(&t, "set a0 xxxxxxxx\n");
    for (int i = 1; i < 60; i++) {
        hb_str_putf(&t, "set a%d ${a%d}${a%d}\n", i, i - 1, i - 1);
    }
    hb_str_put(&t, "file F ${a59}\n");
    makes_wrong(*state, t.s, "takes too many steps");
    hb_str_destroy(&t);
}

/* The text stays empty: it is the looking for values that has an end. */
static void looking_for_values_is_bounded(void **state)
{
    struct hb_str t = HB_STR_INIT;

    hb_str_put(&t, "env A ${a20}\nset a0 ''\n");
    for (int i = 1; i <= 20; i++) {
        hb_str_putf(&t, "set a%d ${a%d}${a%d}\n", i, i - 1, i - 1);
    }
    for (int i = 0; i < 900; i++) {
        hb_str_putf(&t, "set b%d x\n", i);
    }
    makes_wrong(*state, t.s, "takes too many steps");
    hb_str_destroy(&t);
}

static void commands_have_words_and_are_not_too_many(void **state)
{
    struct hb_str t = HB_STR_INIT;

    makes_wrong(*state, "take x\n\nrun ${x}\n",
                "t.conf:3:1: nothing is left of this command");
    makes_wrong(*state, "take x\nready 9 ${x} ${x}\n", "t.conf:2:1: nothing");
    for (int i = 0; i < 65; i++) {
        hb_str_put(&t, "start true\n");
    }
    makes_wrong(*state, t.s, "t.conf:65:1: a rank has at most 64 commands");
    hb_str_destroy(&t);
}

static void a_variable_too_long_for_linux_is_told(void **state)
{
    struct job *j = *state;
    struct hpcboot_error err = {0};
    struct hb_recipe_rank out;
    struct hb_recipe *r;

    r = parse("env TF ${b}${b}${b}${b}${b}\nset b ${c}${c}${c}${c}${c}${c}\n"
              "set c ${d}${d}${d}${d}${d}${d}${d}${d}\n"
              "set d ${e}${e}${e}${e}${e}${e}${e}${e}\n"
              "set e 0123456789012345678901234567890123456789"
              "0123456789012345678901234567890123456789\n");
    assert_int_equal(hb_recipe_expand(r, &j->f, 0, &out, &err),
                     HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "t.conf:1:5: TF would have 153604 "
                                     "bytes"));
    hb_recipe_destroy(r);
}

static size_t meets(const struct job *j, const char *text,
                    struct hb_recipe_place **out)
{
    struct hb_recipe *r = parse(text);
    size_t n = 0;

    *out = NULL;
    assert_int_equal(hb_recipe_meet(r, &j->f, out, &n, NULL), 0);
    hb_recipe_destroy(r);
    return n;
}

static void ranks_meet_where_the_head_or_all_of_them_listen(void **state)
{
    struct hb_recipe_place *at;

    assert_int_equal(meets(*state, "port a host 1\nport b head 1\nmeet b",
                           &at), 1);
    assert_int_equal(at[0].node, 0);
    assert_int_equal(at[0].port, 9002);
    free(at);
    assert_int_equal(meets(*state, "port a rank 1\nmeet a", &at), 3);
    assert_int_equal(at[2].node, 1);
    assert_int_equal(at[2].port, 9002);
    free(at);
}

static void the_head_is_of_the_role_that_a_recipe_says(void **state)
{
    const char *t = "roles w s=0\nhead s\nport a head 1\nmeet a\n"
                    "env H ${head_host}";
    struct hb_recipe_place *at;
    struct job *j = *state;

    gives(j, t, 0, "H", "a"); /* nobody has the role */
    j->roles[2] = 1;
    j->f.role_of_rank = j->roles;
    gives(j, t, 0, "H", "b");
    assert_int_equal(meets(j, t, &at), 1);
    assert_int_equal(at[0].node, 1);
    free(at);
    refuses("roles w\nhead x", "t.conf:2:6: there is no role x");
    refuses("port a head 1\nport a host 2", "t.conf:2:6: port a is named");
}

static void a_meeting_may_depend_on_a_condition(void **state)
{
    const char *t = "port a head 1\nset way x\n[when way is y]\nmeet a";
    struct hb_recipe_place *at;

    assert_int_equal(meets(*state, t, &at), 0);
    free(at);
}

static void slots_are_those_of_the_host(void **state)
{
    static const uint32_t slots[] = {8, 4};
    struct job *j = *state;

    gives(j, "env A ${slots}", 2, "A", "1");
    j->f.slots = slots;
    gives(j, "env A ${slots}", 2, "A", "4");
    gives(j, "env A \"${each host: ${host}=${slots}}\"", 0, "A", "a=8,b=4");
    j->f.slots = NULL;
}

static void gpus_are_those_of_the_rank(void **state)
{
    struct job *j = *state;
    const char *text = "env GPUS ${gpus}";

    gives(j, text, 0, "GPUS", "");
    j->f.gpus = 2;
    gives(j, text, 1, "GPUS", "1");
    gives(j, text, 2, "GPUS", "0,1"); /* alone on its host */
    j->f.gpus_are_own = 1;
    gives(j, text, 1, "GPUS", "0,1");
    j->f = (struct hb_recipe_facts){.map = j->map, .gpus = 1};
    gives(j, text, 1, "GPUS", "0"); /* shared */
}

static void an_interface_is_that_of_the_ranks_host(void **state)
{
    struct job *j = *state;

    gives(j, "env A \"by ${interface}\"", 2, "A", "by ");
    j->f.interface = "eth0";
    gives(j, "env A \"by ${interface}\"", 2, "A", "by eth0");
    j->f.interface = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gpus_are_those_of_the_rank),
        TEST(an_interface_is_that_of_the_ranks_host),
        TEST(the_first_name_that_is_here_says_what_is_usual),
        TEST(a_variable_is_that_of_the_rank),
        TEST(quotes_and_continued_lines),
        TEST(a_backslash_continues_any_line),
        TEST(lines_may_end_as_on_windows),
        TEST(lines_in_brackets_are_lines),
        TEST(each_walks_ranks_and_hosts),
        TEST(roles_number_their_ranks),
        TEST(ports_are_those_of_their_place),
        TEST(conditions_hold_until_the_next_bracket),
        TEST(what_is_given_stands_before_set),
        TEST(commands_and_files),
        TEST(options_are_cut_into_words),
        TEST(ranks_that_only_serve),
        TEST(a_recipe_may_take_in_ranks_that_come_later),
        TEST(ranks_meet_where_the_head_or_all_of_them_listen),
        TEST(a_meeting_may_depend_on_a_condition),
        TEST(slots_are_those_of_the_host),
        TEST(kinds_of_ranks_are_those_of_the_conditions),
        TEST(only_the_first_runs_the_program),
        TEST(mistakes_have_a_place),
        TEST(loops_are_refused),
        TEST(depth_and_size_are_bounded),
        TEST(looking_for_values_is_bounded),
        TEST(commands_have_words_and_are_not_too_many),
        TEST(a_variable_too_long_for_linux_is_told),
        TEST(the_head_is_of_the_role_that_a_recipe_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
