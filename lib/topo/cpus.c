/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Sets of CPUs and the list format in which Linux writes them.
 *
 * A cpu_set_t holds 1024 CPUs and machines exist that have more, so the set
 * is an array of them, handled by the _S macros of <sched.h>. The parser
 * reads what sysfs and cgroup files hold ("0-3,8,10-11\n") and what a user
 * types; it checks each number against the set's size before it is used and
 * leaves the output alone when it fails. */

#include "config.h"

#include "lib/topo/cpus.h"

#include <string.h>

#include "lib/base/str.h"

void hb_cpus_zero(struct hb_cpus *c)
{
    memset(c, 0, sizeof(*c));
}

void hb_cpus_add(struct hb_cpus *c, unsigned cpu)
{
    if (cpu < HB_MAX_CPUS) {
        CPU_SET_S(cpu, sizeof(*c), c->set);
    }
}

void hb_cpus_or(struct hb_cpus *c, const struct hb_cpus *other)
{
    CPU_OR_S(sizeof(*c), c->set, c->set, other->set);
}

void hb_cpus_and(struct hb_cpus *c, const struct hb_cpus *other)
{
    CPU_AND_S(sizeof(*c), c->set, c->set, other->set);
}

int hb_cpus_has(const struct hb_cpus *c, unsigned cpu)
{
    return cpu < HB_MAX_CPUS && CPU_ISSET_S(cpu, sizeof(*c), c->set);
}

unsigned hb_cpus_next(const struct hb_cpus *c, unsigned from)
{
    const size_t bits = 8 * sizeof(unsigned long);

    while (from < HB_MAX_CPUS && !hb_cpus_has(c, from)) {
        unsigned long word;

        memcpy(&word, (const char *)c->set + from / bits * sizeof(word),
               sizeof(word));
        from += word == 0 ? (unsigned)(bits - from % bits) : 1;
    }
    return from < HB_MAX_CPUS ? from : HB_MAX_CPUS;
}

unsigned hb_cpus_count(const struct hb_cpus *c)
{
    return (unsigned)CPU_COUNT_S(sizeof(*c), c->set);
}

int hb_cpus_equal(const struct hb_cpus *a, const struct hb_cpus *b)
{
    return CPU_EQUAL_S(sizeof(*a), a->set, b->set);
}

/* Reads digits at *p into *out and moves *p behind them. */
static int read_cpu(const char **p, unsigned *out)
{
    unsigned v = 0;
    const char *s = *p;

    if (*s < '0' || *s > '9') {
        return -1;
    }
    for (; *s >= '0' && *s <= '9'; s++) {
        v = v * 10 + (unsigned)(*s - '0');
        if (v >= HB_MAX_CPUS) {
            return -1;
        }
    }
    *p = s;
    *out = v;
    return 0;
}

static int expected(const char *text, const char *at, const char *what,
                    struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE,
                   "CPU list \"%.80s\", column %zu: expected %s", text,
                   (size_t)(at - text) + 1, what);
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* One "N" or "N-M" at *p. */
static int read_range(const char *text, const char **p, struct hb_cpus *set,
                      struct hpcboot_error *err)
{
    unsigned first, last;

    if (read_cpu(p, &first) != 0) {
        return expected(text, *p, "a CPU number below 16384", err);
    }
    last = first;
    if (**p == '-') {
        const char *at = ++*p;
        if (read_cpu(p, &last) != 0 || last < first) {
            return expected(text, at, "the range's last CPU", err);
        }
    }
    for (unsigned cpu = first; cpu <= last; cpu++) {
        hb_cpus_add(set, cpu);
    }
    return HPCBOOT_OK;
}

int hb_cpus_parse(const char *text, struct hb_cpus *out,
                  struct hpcboot_error *err)
{
    struct hb_cpus set;
    const char *p = skip_blanks(text);

    hb_cpus_zero(&set);
    while (*p != '\0') {
        int rc = read_range(text, &p, &set, err);
        if (rc < 0) {
            return rc;
        }
        if (*p == ',') {
            p++;
            if (*skip_blanks(p) == '\0') {
                return expected(text, p, "a CPU number after the comma", err);
            }
            continue;
        }
        p = skip_blanks(p);
        if (*p != '\0') {
            return expected(text, p, "a comma or the end", err);
        }
    }
    *out = set;
    return HPCBOOT_OK;
}

char *hb_cpus_text(const struct hb_cpus *c)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_put(&o, "");
    for (unsigned i = hb_cpus_next(c, 0); i < HB_MAX_CPUS;
         i = hb_cpus_next(c, i + 1)) {
        unsigned last = i;

        while (hb_cpus_has(c, last + 1)) {
            last++;
        }
        hb_str_putf(&o, last == i ? "%s%u" : "%s%u-%u",
                    o.len > 0 ? "," : "", i, last);
        i = last;
    }
    return hb_str_steal(&o);
}
