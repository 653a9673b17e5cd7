/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts beside each other: facts that should be alike, clocks, and the network
 * they share. Of a fact that differs the value that most hosts have is taken
 * as right, and the others are told of. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/doctor/doctor.h"
#include "lib/fabric/choose.h"

/* Certificates, make, and logs that are read side by side. */
#define CLOCK_MAX_NS INT64_C(1000000000)

static const char *value_of(const struct hb_exam_facts *h, const char *key,
                            size_t len)
{
    for (size_t i = 0; i < h->facts.n; i++) {
        if (strncmp(h->facts.v[i], key, len) == 0 &&
            h->facts.v[i][len] == '=') {
            return h->facts.v[i] + len + 1;
        }
    }
    return "none";
}

/* How many hosts have this value. */
static size_t count(const struct hb_exam_facts *hosts, size_t n,
                    const char *key, size_t len, const char *value)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        found += strcmp(value_of(&hosts[i], key, len), value) == 0;
    }
    return found;
}

static void add(struct hb_findings *out, enum hb_grade grade,
                const char *check, const char *why, const char *mend,
                char *what, const char *where)
{
    const struct hb_finding one = {
        .grade = grade, .check = (char *)check, .what = what,
        .why = (char *)why, .mend = (char *)mend};

    hb_finding_add(out, &one, where);
    free(what);
}

static void compare(const struct hb_exam_facts *hosts, size_t n,
                    const char *key, size_t len, struct hb_findings *out)
{
    const struct hb_exam_facts *usual = NULL;
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t c = count(hosts, n, key, len, value_of(&hosts[i], key, len));
        if (c > most) {
            most = c;
            usual = &hosts[i];
        }
    }
    for (size_t i = 0; usual != NULL && i < n; i++) {
        const char *mine = value_of(&hosts[i], key, len);
        const char *theirs = value_of(usual, key, len);

        if (strcmp(mine, theirs) != 0) {
            char *more = most > 1 ? hb_xasprintf(" and %zu more", most - 1)
                                  : hb_xstrdup("");

            add(out, HB_GRADE_DEGRADED, "alike",
                "ranks of one job run different code, or are not equally fast",
                "bring the hosts to one image",
                hb_xasprintf("%.*s is %s, on %s%s %s", (int)len, key, mine,
                             usual->name, more, theirs), hosts[i].name);
            free(more);
        }
    }
}

static int is_first(const struct hb_exam_facts *hosts, size_t upto,
                    const char *key, size_t len)
{
    for (size_t i = 0; i < upto; i++) {
        if (strcmp(value_of(&hosts[i], key, len), "none") != 0) {
            return 0;
        }
    }
    return 1;
}

static void check_clock(const struct hb_exam_facts *h,
                        struct hb_findings *out)
{
    int64_t off = h->clock_ns < 0 ? -h->clock_ns : h->clock_ns;

    if (off > CLOCK_MAX_NS + h->clock_off) {
        add(out, HB_GRADE_DEGRADED, "clock",
            "certificates, make and logs go by it", "start NTP there: chrony, "
            "systemd-timesyncd",
            hb_xasprintf("its clock is %.1f s %s the launcher's",
                         (double)off / 1e9,
                         h->clock_ns < 0 ? "behind" : "ahead of"), h->name);
    }
}

/* One that is named twice, or that another's name leads to. */
static void check_place(const struct hb_exam_facts *hosts, size_t i,
                        struct hb_findings *out)
{
    size_t o = hosts[i].place != NULL ? 0 : i;

    while (o < i && !hb_streq(hosts[i].place, hosts[o].place)) {
        o++;
    }
    if (o < i) {
        add(out, HB_GRADE_DEGRADED, "same", "ranks share what each host should "
            "have for itself, and another host may have none", "take one of "
            "the names out of the list, or mend what it leads to: DNS, "
            "/etc/hosts, ssh_config",
            hb_xasprintf("it is the same host as %s", hosts[o].name),
            hosts[i].name);
    }
}

/* The network that most hosts have rail `k` on; NULL: none that two share. */
static const char *usual_network(const struct hb_fabric_plan *plan,
                                 uint32_t k, uint32_t *hosts_out)
{
    const char *usual = NULL;

    *hosts_out = 1;
    for (uint32_t i = 0; i < plan->n_hosts; i++) {
        const char *mine = plan->rails[i * plan->n_rails + k].network;
        uint32_t same = 0;

        for (uint32_t h = 0; h < plan->n_hosts; h++) {
            same += strcmp(plan->rails[h * plan->n_rails + k].network,
                           mine) == 0;
        }
        if (same > *hosts_out) {
            *hosts_out = same;
            usual = mine;
        }
    }
    return usual;
}

static char *subnet_words(const struct hb_path *p, const char *usual,
                          uint32_t n_usual)
{
    if (usual == NULL) {
        return hb_xstrdup("its RDMA port is on a subnet of its own, without a "
                          "route to another");
    }
    return hb_xasprintf("%s port %u is on %s, on %u other hosts the rail is "
                        "on %s, and %s has no route there", p->rdma->name,
                        p->port->number, p->network, n_usual, usual,
                        p->net->name);
}

/* Different subnets need routers. Where no route of the main table leads to
 * one, there is none, or other tables know it: hence not a fault for sure. */
static void check_networks(const struct hb_exam_facts *hosts,
                           const struct hb_fabric_plan *plan,
                           struct hb_findings *out)
{
    for (uint32_t k = 0; k < plan->n_rails; k++) {
        uint32_t n_usual;
        const char *usual = usual_network(plan, k, &n_usual);

        for (uint32_t i = 0; i < plan->n_hosts; i++) {
            const struct hb_path *p = &plan->rails[i * plan->n_rails + k];

            if (n_usual < plan->n_hosts && p->net != NULL &&
                !p->net->has_gateway &&
                (usual == NULL || strcmp(p->network, usual) != 0)) {
                add(out, HB_GRADE_DEGRADED, "subnet", "RDMA between subnets "
                    "needs a router, or packets are lost", "give its net "
                    "device an address of the others' subnet, or a route to "
                    "it", subnet_words(p, usual, n_usual), hosts[i].name);
            }
        }
    }
}

static void check_plan(const struct hb_exam_facts *hosts, size_t n,
                       const struct hb_fabric_plan *plan,
                       struct hb_findings *out)
{
    for (size_t i = 0; i < plan->warnings.n; i++) {
        add(out, HB_GRADE_BAD, "mtu", "packets that are larger than the "
            "smaller MTU are dropped: transfers hang", "set one MTU on all "
            "hosts and on the switches", hb_xstrdup(plan->warnings.v[i]),
            hosts[0].name);
    }
    check_networks(hosts, plan, out);
    for (size_t i = 0; plan->kind == HB_FABRIC_TCP && i < n; i++) {
        if (hb_fabric_has_rdma(hosts[i].fabric)) {
            add(out, HB_GRADE_DEGRADED, "fabric",
                "one network must be shared by all, and that is TCP",
                "mend RDMA on the other hosts, or leave them out; their "
                "subnets must be the same, or routed",
                hb_xstrdup("it has RDMA that the job would not use"),
                hosts[i].name);
        }
    }
}

static void check_fabric(const struct hb_exam_facts *hosts, size_t n,
                         struct hb_findings *out, struct hb_strv *notes)
{
    const struct hb_fabric_wish wish = {.kind = HB_FABRIC_AUTO};
    struct hb_fabric_host *list = hb_xcalloc(n + 1, sizeof *list);
    struct hb_fabric_plan plan;
    struct hpcboot_error err = {0};

    for (size_t i = 0; i < n; i++) {
        list[i].name = hosts[i].name;
        list[i].fabric = hosts[i].fabric;
    }
    if (hb_fabric_agree(&wish, list, (uint32_t)n, &plan, &err) < 0) {
        add(out, HB_GRADE_BAD, "fabric", "ranks on them cannot talk to each "
            "other", "put the hosts on one network, or route between their "
            "subnets", hb_xstrdup(err.text), hosts[0].name);
    } else {
        hb_strv_pushf(notes, "fabric: %s", hb_fabric_kind_name(plan.kind));
        for (size_t i = 0; i < plan.why.n; i++) {
            hb_strv_push(notes, plan.why.v[i]);
        }
        check_plan(hosts, n, &plan, out);
        hb_fabric_plan_destroy(&plan);
    }
    free(list);
}

void hb_exam_across(const struct hb_exam_facts *hosts, size_t n,
                    struct hb_findings *out, struct hb_strv *notes)
{
    for (size_t i = 0; i < n; i++) {
        check_clock(&hosts[i], out);
        check_place(hosts, i, out);
        for (size_t k = 0; k < hosts[i].facts.n; k++) {
            const char *key = hosts[i].facts.v[k];
            size_t len = strcspn(key, "=");

            if (is_first(hosts, i, key, len)) {
                compare(hosts, n, key, len, out);
            }
        }
    }
    if (n > 0) {
        check_fabric(hosts, n, out, notes);
    }
}
