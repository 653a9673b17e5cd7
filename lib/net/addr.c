/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Addresses as people and hostfiles write them. The text is split by its
 * brackets and colons first; each part is then checked for what it must be,
 * so that an error names the part.
 *
 * Host names are taken more widely than DNS allows (an underscore occurs in
 * container names, a dot may end them) and never begin with '-'.
 */
#include "config.h"

#include "lib/net/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "lib/base/str.h"

#define NAME_CHARS \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* The parts of a text, borrowed from it. */
struct parts {
    const char *host;
    size_t host_len;
    const char *port; /* NULL: none */
    int is_ipv6;
};

static int split_bracketed(const char *text, struct parts *p)
{
    const char *close = strchr(text, ']');

    if (close == NULL || (close[1] != '\0' && close[1] != ':')) {
        return HPCBOOT_ERR_PARSE;
    }
    p->host = text + 1;
    p->host_len = (size_t)(close - p->host);
    p->port = close[1] == ':' ? close + 2 : NULL;
    p->is_ipv6 = 1;
    return HPCBOOT_OK;
}

static int split(const char *text, struct parts *p)
{
    const char *colon = strchr(text, ':');

    if (text[0] == '[') {
        return split_bracketed(text, p);
    }
    p->host = text;
    p->is_ipv6 = colon != NULL && strchr(colon + 1, ':') != NULL;
    p->port = colon != NULL && !p->is_ipv6 ? colon + 1 : NULL;
    p->host_len = p->port != NULL ? (size_t)(colon - text) : strlen(text);
    return HPCBOOT_OK;
}

static int is_name(const char *text)
{
    return text[0] != '\0' && text[0] != '-'
           && text[strspn(text, NAME_CHARS)] == '\0';
}

/* "fe80::1" or "fe80::1%eth0" (RFC 4007, section 11). */
static int is_ipv6(const char *host)
{
    char literal[INET6_ADDRSTRLEN] = "";
    const char *scope = strchr(host, '%');
    size_t len = scope != NULL ? (size_t)(scope - host) : strlen(host);
    struct in6_addr binary;

    if (len >= sizeof(literal)
        || (scope != NULL
            && (!is_name(scope + 1) || strlen(scope + 1) >= IF_NAMESIZE))) {
        return 0;
    }
    memcpy(literal, host, len);
    return inet_pton(AF_INET6, literal, &binary) == 1;
}

int hb_addr_parse(const char *text, struct hb_addr *addr_out,
                  struct hpcboot_error *err)
{
    struct hb_addr addr = {0};
    struct parts p = {0};
    uint64_t port = 0;

    if (split(text, &p) < 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "address '%s': write [IPv6]:port", text);
    }
    if (p.host_len > HB_HOST_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "address '%.40s...': a host name has at most %u "
                       "characters",
                       text, HB_HOST_MAX);
    }
    memcpy(addr.host, p.host, p.host_len);
    addr.is_ipv6 = p.is_ipv6;
    if (p.is_ipv6 && !is_ipv6(addr.host)) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "address '%s': '%s' is not an IPv6 address", text,
                       addr.host);
    }
    if (!p.is_ipv6 && !is_name(addr.host)) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "address '%s': '%s' is not a host name", text,
                       addr.host);
    }
    if (p.port != NULL && hb_parse_u64(p.port, 1, UINT16_MAX, &port) < 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "address '%s': the port is not a number from 1 to %u",
                       text, UINT16_MAX);
    }
    addr.port = (uint16_t)port;
    *addr_out = addr;
    return HPCBOOT_OK;
}

char *hb_addr_format(const struct hb_addr *addr)
{
    if (addr->port == 0) {
        return hb_xstrdup(addr->host);
    }
    return hb_xasprintf(addr->is_ipv6 ? "[%s]:%u" : "%s:%u", addr->host,
                        (unsigned)addr->port);
}
