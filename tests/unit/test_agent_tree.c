/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An agent that starts others: whose words it passes on, and to whom it passes
 * what is said to a host. Its logins are made here, over channels in memory. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "bin/hpcbootd/children.h"
#include "lib/base/channel.h"
#include "lib/base/str.h"

#define SELF 1u
#define ROOM (64u << 20)

/* --- what a login would be, and the rest of the agent --------------------- */

struct hb_boot {
    const struct hb_boot_events *events;
    void *arg;
};

static struct hb_boot *last_boot;

int hb_boot_start(struct hb_boot **out, enum hb_boot_way way,
                  const struct hb_boot_config *config,
                  const struct hb_boot_target *target,
                  const struct hb_boot_events *events, void *arg,
                  struct hpcboot_error *err)
{
    *out = last_boot = hb_xcalloc(1, sizeof **out);
    last_boot->events = events;
    last_boot->arg = arg;
    return 0;
}

void hb_boot_cancel(struct hb_boot *boot)
{
    free(boot);
}

void hb_boot_settle(void)
{
}

static struct hb_buf said; /* to the launcher */

struct hb_buf *agent_out(struct agent *a)
{
    return &said;
}

void agent_sent(struct agent *a)
{
}

void agent_flush(struct agent *a)
{
}

void agent_note(struct agent *a, int level, const char *fmt, ...)
{
}

void agent_file_taken(struct agent *a)
{
}

int agent_fence_gather(struct agent *a, uint32_t child,
                       const struct hb_frame *f, struct hpcboot_error *err)
{
    return 0;
}

static unsigned asked[16]; /* of a child: the nodes that it speaks for */

int hb_fence_set_child(struct hb_fence_engine *e, uint32_t child,
                       const uint32_t *subtree, uint32_t n,
                       struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        asked[child] |= 1u << subtree[i];
    }
    return 0;
}

void hb_fence_node_over(struct hb_fence_engine *e, uint32_t node)
{
}

void hb_fence_node_lost(struct hb_fence_engine *e, uint32_t node)
{
}

/* --- a child, as it is seen from here ------------------------------------- */

struct far_end {
    struct hb_channel ch;
    struct hb_buf heard; /* by the child */
    int is_closed;
};

static ssize_t far_write(struct hb_channel *ch, const void *data, size_t len)
{
    hb_buf_put_raw(&((struct far_end *)ch)->heard, data, len);
    return (ssize_t)len;
}

static void far_pause(struct hb_channel *ch, int paused)
{
}

static void far_close(struct hb_channel *ch)
{
    ((struct far_end *)ch)->is_closed = 1;
}

static const struct hb_channel_ops far_ops = {far_write, far_pause, far_close};

struct lab {
    struct agent a;
    struct far_end c2, c3; /* hosts 2 and 3 */
};

/* What the launcher says to a host. */
#define TELL(lab, name, to, ...)                                              \
    do {                                                                      \
        const struct hb_msg_##name told_ = {__VA_ARGS__};                     \
        struct hb_buf b_;                                                     \
        hb_buf_init(&b_, ROOM);                                               \
        hb_wire_put_##name(&b_, 0, HB_NODE_LAUNCHER, to, &told_, NULL);       \
        tell(lab, &b_);                                                       \
    } while (0)

/* What comes from a child. */
#define SAY(far, name, from, ...)                                             \
    do {                                                                      \
        const struct hb_msg_##name says_ = {__VA_ARGS__};                     \
        struct hb_buf b_;                                                     \
        hb_buf_init(&b_, ROOM);                                               \
        hb_wire_put_##name(&b_, 0, from, HB_NODE_LAUNCHER, &says_, NULL);     \
        say(far, &b_);                                                        \
    } while (0)

static void tell(struct lab *lab, struct hb_buf *b)
{
    struct hb_frame f;

    assert_int_equal(hb_wire_next(b, &f, NULL), 1);
    if (!agent_pass_down(&lab->a, &f) && f.type == HB_MSG_BOOT) {
        assert_int_equal(agent_on_boot(&lab->a, &f, NULL), 0);
    }
    hb_buf_destroy(b);
}

static void say(struct far_end *far, struct hb_buf *b)
{
    if (!far->is_closed) {
        far->ch.events.data(far->ch.arg, b->data, b->len);
    }
    hb_buf_destroy(b);
}

/* Its login has come so far that its agent may speak. */
static void open_child(struct lab *lab, struct far_end *far, uint32_t host)
{
    TELL(lab, boot, SELF, .host = host, .name = "h", .token = "t");
    hb_buf_init(&far->heard, ROOM);
    far->ch.ops = &far_ops;
    last_boot->events->open(last_boot->arg, &far->ch);
    far->ch.events.data(far->ch.arg, HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
}

static void hello(struct far_end *far, uint32_t from)
{
    SAY(far, hello, from, .protocol = HB_WIRE_PROTOCOL, .token = "t");
}

static void open_lab(struct lab *lab)
{
    memset(lab, 0, sizeof *lab);
    hb_buf_init(&said, ROOM);
    lab->a.base = event_base_new();
    lab->a.host = SELF;
    lab->a.tree = hb_xcalloc(1, sizeof *lab->a.tree);
    lab->a.tree->known_hosts = hb_xstrdup("/dev/null");
    lab->a.tree->known_fd = -1;
    lab->a.tree->boot.connect_timeout_ms = 60000;
    open_child(lab, &lab->c2, 2);
    open_child(lab, &lab->c3, 3);
    hello(&lab->c2, HB_NODE_UNSET);
    hello(&lab->c3, HB_NODE_UNSET);
}

static void close_lab(struct lab *lab)
{
    agent_children_destroy(&lab->a);
    event_base_free(lab->a.base);
    hb_buf_destroy(&lab->c2.heard);
    hb_buf_destroy(&lab->c3.heard);
    hb_buf_destroy(&said);
}

static void welcome(struct lab *lab, uint32_t host)
{
    TELL(lab, welcome, host, .host = host);
}

/* Whether a child has heard what was said to a host just now. */
static int hears(struct lab *lab, struct far_end *far, uint32_t host)
{
    struct hb_frame f;
    int heard = 0;

    TELL(lab, credit, host, .bytes = 1);
    while (hb_wire_next(&far->heard, &f, NULL) == 1) {
        heard |= f.type == HB_MSG_CREDIT && f.dst == host;
    }
    return heard;
}

static uint32_t lost_children(void)
{
    struct hb_msg_child_lost m;
    struct hb_frame f;
    uint32_t hosts = 0;

    while (hb_wire_next(&said, &f, NULL) == 1) {
        if (hb_wire_get_child_lost(&f, &m, NULL) == 0) {
            hosts |= 1u << m.host;
        }
    }
    return hosts;
}

/* --- who may speak for whom ----------------------------------------------- */

static void no_child_takes_what_is_for_another(void **state)
{
    struct lab lab;

    open_lab(&lab);
    hello(&lab.c2, 3);
    assert_true(hears(&lab, &lab.c3, 3));
    assert_false(hears(&lab, &lab.c2, 3));
    assert_true(hears(&lab, &lab.c2, 2));
    welcome(&lab, 2); /* neither does one that is known */
    hello(&lab.c2, 3);
    assert_true(hears(&lab, &lab.c3, 3));
    close_lab(&lab);
}

static void a_host_that_nobody_starts_is_not_spoken_for(void **state)
{
    struct lab lab;

    open_lab(&lab);
    welcome(&lab, 2);
    hello(&lab.c2, 4);
    assert_int_equal(lost_children(), 1u << 2);
    assert_true(lab.c2.is_closed);
    assert_false(lab.c3.is_closed);
    close_lab(&lab);
}

static void a_host_below_a_child_is_reached_by_it(void **state)
{
    struct lab lab;

    open_lab(&lab);
    welcome(&lab, 2);
    welcome(&lab, 3);
    TELL(&lab, boot, 2, .host = 4, .name = "h", .token = "t");
    hello(&lab.c3, 4);
    assert_false(hears(&lab, &lab.c3, 4));
    hello(&lab.c2, 4);
    assert_true(hears(&lab, &lab.c2, 4));
    TELL(&lab, boot, 4, .host = 5, .name = "h", .token = "t"); /* deeper */
    hello(&lab.c2, 5);
    assert_true(hears(&lab, &lab.c2, 5));
    assert_int_equal(lost_children(), 0);
    close_lab(&lab);
}

static void a_host_that_is_started_elsewhere_is_reached_there(void **state)
{
    struct lab lab;

    open_lab(&lab);
    welcome(&lab, 2);
    welcome(&lab, 3);
    TELL(&lab, boot, 2, .host = 4, .name = "h", .token = "t");
    hello(&lab.c2, 4);
    TELL(&lab, boot, 3, .host = 4, .name = "h", .token = "u");
    SAY(&lab.c2, note, 4, .text = "what was under way is no offence");
    hello(&lab.c3, 4);
    assert_true(hears(&lab, &lab.c3, 4));
    assert_false(hears(&lab, &lab.c2, 4));
    hello(&lab.c2, 4);
    assert_true(hears(&lab, &lab.c3, 4));
    assert_int_equal(lost_children(), 0);
    close_lab(&lab);
}

static void who_is_not_welcome_yet_only_greets(void **state)
{
    struct lab lab;

    open_lab(&lab);
    SAY(&lab.c2, proof, HB_NODE_UNSET, .text = "");
    assert_int_equal(lost_children(), 0);
    SAY(&lab.c2, done, HB_NODE_UNSET, 0);
    assert_int_equal(lost_children(), 1u << 2);
    welcome(&lab, 3);
    SAY(&lab.c3, done, HB_NODE_UNSET, 0);
    assert_int_equal(lost_children(), 0);
    close_lab(&lab);
}

/* The head alone of a frame of 64 MiB. */
static void who_is_not_welcome_yet_says_nothing_long(void **state)
{
    struct lab lab;

    open_lab(&lab);
    welcome(&lab, 3);
    lab.c3.ch.events.data(lab.c3.ch.arg, "\4\0\0\0", 4);
    assert_int_equal(lost_children(), 0);
    lab.c2.ch.events.data(lab.c2.ch.arg, "\4\0\0\0", 4);
    assert_int_equal(lost_children(), 1u << 2);
    close_lab(&lab);
}

/* --- whom fences ask ------------------------------------------------------ */

/* Node i is host i; ranks begin. */
static void start_fences(struct lab *lab)
{
    static uint32_t nodes[] = {0, 1, 2, 3, 4, 5};

    lab->a.job.nodes = nodes;
    lab->a.job.n_hosts = 6;
    memset(asked, 0, sizeof asked);
    assert_int_equal(agent_fence_children(&lab->a, NULL), 0);
}

static void open_deep_lab(struct lab *lab)
{
    open_lab(lab);
    welcome(lab, 2);
    welcome(lab, 3);
    TELL(lab, boot, 2, .host = 4, .name = "h", .token = "t");
    hello(&lab->c2, 4);
    TELL(lab, boot, 4, .host = 5, .name = "h", .token = "t");
    hello(&lab->c2, 5);
    start_fences(lab);
    assert_int_equal(asked[2], 1 << 2 | 1 << 4 | 1 << 5);
    assert_int_equal(asked[3], 1 << 3);
}

static void no_fence_waits_for_a_host_that_was_lost_below(void **state)
{
    struct lab lab;

    open_deep_lab(&lab);
    SAY(&lab.c2, child_lost, 4, .host = 5, .text = "");
    start_fences(&lab);
    assert_int_equal(asked[2], 1 << 2 | 1 << 4);
    close_lab(&lab);
    open_deep_lab(&lab); /* with what it has started */
    SAY(&lab.c2, child_lost, HB_NODE_UNSET, .host = 4, .text = "");
    start_fences(&lab);
    assert_int_equal(asked[2], 1 << 2);
    close_lab(&lab);
}

static void no_fence_waits_for_a_host_that_was_given_up(void **state)
{
    struct lab lab;

    open_deep_lab(&lab);
    TELL(&lab, boot_cancel, 2, .host = 4);
    start_fences(&lab);
    assert_int_equal(asked[2], 1 << 2);
    SAY(&lab.c2, note, 5, .text = "what was under way is no offence");
    assert_int_equal(lost_children(), 0);
    close_lab(&lab);
}

/* Its loss was under way when it began elsewhere. */
static void a_loss_is_that_of_the_place_where_it_was(void **state)
{
    struct lab lab;

    open_deep_lab(&lab);
    TELL(&lab, boot_cancel, 4, .host = 5);
    TELL(&lab, boot, 2, .host = 5, .name = "h", .token = "u");
    hello(&lab.c2, 5);
    SAY(&lab.c2, child_lost, 4, .host = 5, .text = "");
    start_fences(&lab);
    assert_int_equal(asked[2], 1 << 2 | 1 << 4 | 1 << 5);
    assert_true(hears(&lab, &lab.c2, 5));
    close_lab(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_child_takes_what_is_for_another),
        cmocka_unit_test(a_host_that_nobody_starts_is_not_spoken_for),
        cmocka_unit_test(a_host_below_a_child_is_reached_by_it),
        cmocka_unit_test(a_host_that_is_started_elsewhere_is_reached_there),
        cmocka_unit_test(who_is_not_welcome_yet_only_greets),
        cmocka_unit_test(who_is_not_welcome_yet_says_nothing_long),
        cmocka_unit_test(no_fence_waits_for_a_host_that_was_lost_below),
        cmocka_unit_test(no_fence_waits_for_a_host_that_was_given_up),
        cmocka_unit_test(a_loss_is_that_of_the_place_where_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
