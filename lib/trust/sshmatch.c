/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Which lines of ssh_config apply to a host: Host and Match.
 *
 * As with OpenSSH there may be two readings of the files. In the first, Host
 * looks at the name that was written; in the second, which `Match final` or
 * CanonicalizeHostname ask for, at the name that will be connected to, and
 * `Match final` and `Match canonical` are met. What the first has found stays.
 *
 * A criterion that is not known here is not met, negated or not, and one line
 * tells of it: what it would have said may be missed. So it is with `exec`: a
 * gang has many hosts, and ssh would wait for a command for each of them. */
#include "config.h"

#include "lib/trust/sshconfig_impl.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/trust/pattern.h"

int hb_ssh_on_host(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    const struct hb_ssh_query *q = r->query;
    const char *name = q->connected ? q->connected : q->host;

    r->active = 0;
    for (size_t i = 0; i < v->n; i++) {
        const char *pattern = v->v[i];
        int found = hb_pattern_list_cased(name, pattern, strlen(pattern), "");

        if (found < 0) {
            r->active = 0;
            break;
        }
        r->active |= found;
    }
    r->active = r->active && !r->never;
    return HPCBOOT_OK;
}

/* The name connected to, as far as it is known by this line. */
static const char *host_now(const struct hb_ssh_reader *r)
{
    const struct hb_ssh_query *q = r->query;

    if (q->connected) {
        return q->connected;
    }
    return r->conf->hostname ? r->conf->hostname : q->host;
}

static const char *user_now(const struct hb_ssh_reader *r)
{
    const struct hb_ssh_query *q = r->query;
    const char *user = q->user ? q->user : r->conf->user;

    return user ? user : q->local_user;
}

/* --- localnetwork */

static int has_prefix(const unsigned char *a, const unsigned char *b, int bits)
{
    int rest = bits % 8, mask = 0xff00 >> rest & 0xff;

    return memcmp(a, b, (size_t)bits / 8) == 0
        && (rest == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask) == 0);
}

struct network {
    int family, bits;
    unsigned char bytes[sizeof(struct in6_addr)];
};

static int parse_network(const char *text, struct network *out)
{
    size_t len = strcspn(text, "/");
    char *address = hb_xstrndup(text, len);
    int most;

    out->family = strchr(address, ':') ? AF_INET6 : AF_INET;
    most = out->family == AF_INET ? 32 : 128;
    out->bits = most;
    most = inet_pton(out->family, address, out->bytes) == 1
        && (!text[len]
            || hb_parse_int(text + len + 1, 0, most, &out->bits) >= 0);
    free(address);
    return most;
}

static int has_address_in(const struct ifaddrs *all, const struct network *n)
{
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        const void *bytes;

        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)
            || (i->ifa_flags & IFF_LOOPBACK)
            || i->ifa_addr->sa_family != n->family) {
            continue;
        }
        bytes = n->family == AF_INET
            ? (void *)&((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr
            : (void *)&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr;
        if (has_prefix(bytes, n->bytes, n->bits)) {
            return 1;
        }
    }
    return 0;
}

/* Networks separated by commas, of which this host has an address. */
static int on_network(struct hb_ssh_reader *r, const char *list)
{
    struct ifaddrs *all = NULL;
    int met = 0;

    if (getifaddrs(&all) != 0) {
        return 0;
    }
    while (*list && met >= 0) {
        size_t len = strcspn(list, ",");
        char *one = hb_xstrndup(list, len);
        struct network network;

        if (!parse_network(one, &network)) {
            met = hb_ssh_complain(r, "not a network (ADDRESS/BITS)");
        } else {
            met |= has_address_in(all, &network);
        }
        free(one);
        list += len + (list[len] == ',');
    }
    freeifaddrs(all);
    return met;
}

/* --- criteria */

#define NOT_KNOWN 2 /* of a criterion; else 1 or 0 */

/* Not for users, whose names have a case. */
static int is_host(const char *name, const char *list)
{
    return hb_pattern_list(name, list, strlen(list), ",") > 0;
}

static int is_user(const char *name, const char *list)
{
    return name && hb_pattern_list_cased(name, list, strlen(list), ",") > 0;
}

/* 1, 0, NOT_KNOWN, or an error. */
static int criterion_met(struct hb_ssh_reader *r, const char *name,
                         const char *value)
{
    const struct hb_ssh_conf *conf = r->conf;

    if (strcasecmp(name, "all") == 0) {
        return 1;
    }
    if (strcasecmp(name, "final") == 0) {
        r->conf->final_wanted = 1;
        return r->query->connected != NULL;
    }
    if (strcasecmp(name, "canonical") == 0) {
        return r->query->connected != NULL;
    }
    if (strcasecmp(name, "host") == 0) {
        return is_host(host_now(r), value);
    }
    if (strcasecmp(name, "originalhost") == 0) {
        return is_host(r->query->host, value);
    }
    if (strcasecmp(name, "user") == 0) {
        return is_user(user_now(r), value);
    }
    if (strcasecmp(name, "localuser") == 0) {
        return is_user(r->query->local_user, value);
    }
    if (strcasecmp(name, "tagged") == 0) {
        return is_user(conf->tag ? conf->tag : "", value);
    }
    if (strcasecmp(name, "localnetwork") == 0) {
        return on_network(r, value);
    }
    return NOT_KNOWN;
}

static int stands_alone(const char *criterion)
{
    return strcasecmp(criterion, "all") == 0 ||
           strcasecmp(criterion, "canonical") == 0 ||
           strcasecmp(criterion, "final") == 0;
}

/* Cuts the words of a Match line at the first = of each criterion, which may
 * stand in for the blank: `host=a`, `host= a`, `host = a`. What comes out is
 * a criterion and its value ("" for one that has none) by turns. */
static int match_pairs(struct hb_ssh_reader *r, const struct hb_strv *v,
                       struct hb_strv *out)
{
    for (size_t i = 0; i < v->n; i++) {
        size_t len = strcspn(v->v[i], "=");
        const char *value = v->v[i] + len;
        char *name = hb_xstrndup(v->v[i], len);
        int alone = stands_alone(name + (*name == '!'));

        hb_strv_take(out, name);
        if (*value == '\0' && !alone) {
            value = ++i < v->n ? v->v[i] : "";
        }
        if (*value == '=') {
            value++;
            value = *value == '\0' && ++i < v->n ? v->v[i] : value;
        }
        if (*value == '\0' && !alone) {
            return hb_ssh_complain(r, "a criterion of Match has no value");
        }
        hb_strv_push(out, value);
    }
    return HPCBOOT_OK;
}

/* Lines are read for each host, and what is wrong with one is told once. */
static void tell_passed_over(const struct hb_ssh_reader *r, const char *name)
{
    static struct hb_strv told;
    int is_exec = strcasecmp(name, "exec") == 0;
    char *text = hb_xasprintf(
        "%s:%d: Match %s is not %s here, and its block is passed over%s",
        r->file, r->line, name, is_exec ? "run" : "known",
        is_exec ? "; --launch-with ssh runs it" : "");

    for (size_t i = 0; i < told.n; i++) {
        if (hb_streq(told.v[i], text)) {
            free(text);
            return;
        }
    }
    hb_log(HB_WARN, "%s", text);
    hb_strv_take(&told, text);
}

static int pair_met(struct hb_ssh_reader *r, int met_so_far, const char *name,
                    const char *value)
{
    int negated = *name == '!', met;

    name += negated;
    met = criterion_met(r, name, value);
    if (met == NOT_KNOWN) {
        if (met_so_far && !r->never) {
            tell_passed_over(r, name);
        }
        return 0;
    }
    return met < 0 ? met : met_so_far && met != negated;
}

int hb_ssh_on_match(struct hb_ssh_reader *r, const struct hb_strv *v)
{
    struct hb_strv pairs = HB_STRV_INIT;
    int rc = match_pairs(r, v, &pairs), met = 1;

    for (size_t i = 0; rc == HPCBOOT_OK && i < pairs.n; i += 2) {
        met = pair_met(r, met, pairs.v[i], pairs.v[i + 1]);
        rc = met < 0 ? met : HPCBOOT_OK;
    }
    hb_strv_destroy(&pairs);
    r->active = rc == HPCBOOT_OK && met && !r->never;
    return rc;
}
