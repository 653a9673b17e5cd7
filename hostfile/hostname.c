/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What may stand for a host in a hostfile, and how one word for it is read.
 *
 *   word := [user "@"] (name | address | "[" address "]") [":" slots]
 *
 * Colons decide: none, a name; one, a name and slots; more, an IPv6 address
 * (which then needs brackets to have slots). Brackets that do not hold an
 * address belong to a range and stay in the name.
 *
 * Nothing is resolved here. Names are only kept from being something else
 * than names: an option of ssh, a path, shell text. */

#include "config.h"

#include "hostfile/hostname.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "hostfile/range.h"

/* The longest name DNS can carry. */
#define MAX_NAME_BYTES 253u
/* utmp and useradd stop at 32; directory services allow more. */
#define MAX_USER_BYTES 128u

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int is_ipv6(const char *text)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    size_t n = strcspn(text, "%");

    if (n >= sizeof(address)) {
        return 0;
    }
    memcpy(address, text, n);
    address[n] = '\0';
    if (inet_pton(AF_INET6, address, bytes) != 1) {
        return 0;
    }
    if (text[n] == '%') {
        size_t scope = strspn(text + n + 1, LETTERS DIGITS "._-");
        return scope > 0 && scope < IF_NAMESIZE && text[n + 1 + scope] == '\0';
    }
    return 1;
}

const char *hb_hostname_wrong(const char *name, size_t *at_out)
{
    size_t n = strspn(name, LETTERS DIGITS "._-");
    const char *dots;

    *at_out = 0;
    if (strchr(name, ':') != NULL) {
        return is_ipv6(name) ? NULL : "an IPv6 address or HOST:SLOTS";
    }
    if (name[0] == '\0') {
        return "a host name";
    }
    if (strchr("-.", name[0]) != NULL) {
        return "a host name that begins with a letter or digit";
    }
    *at_out = n;
    if (name[n] != '\0') {
        return "a host name of letters, digits, \"-\", \"_\" and \".\"";
    }
    *at_out = MAX_NAME_BYTES;
    if (n > MAX_NAME_BYTES) {
        return "a host name of at most 253 characters";
    }
    dots = strstr(name, "..");
    *at_out = dots != NULL ? (size_t)(dots - name) : 0;
    return dots != NULL ? "a name between two dots" : NULL;
}

size_t hb_hostname_len(const char *name)
{
    size_t n = strlen(name);

    return n > 1 && name[n - 1] == '.' ? n - 1 : n;
}

const char *hb_username_wrong(const char *user, size_t *at_out)
{
    size_t n = strspn(user, LETTERS DIGITS "._-+@\\");

    *at_out = 0;
    if (n == 0 || strchr(".-+@\\", user[0]) != NULL) {
        return "a user name that begins with a letter or digit";
    }
    *at_out = n;
    if (user[n] != '\0') {
        return "a user name of letters, digits, \".\", \"_\", \"-\", \"+\" "
               "and \"\\\"";
    }
    return n > MAX_USER_BYTES ? "a shorter user name" : NULL;
}

/* Behind the "]" of an address: nothing, or ":SLOTS". */
static const char *cut_literal(char *text, char *name, struct hb_host_word *out,
                               size_t *at_out)
{
    char *close = strchr(name, ']');

    if (close == NULL) {
        *at_out = strlen(text);
        return "\"]\" after the IPv6 address";
    }
    if (close[1] != '\0' && close[1] != ':') {
        *at_out = (size_t)(close + 1 - text);
        return "\":\" or the end after \"]\"";
    }
    out->slots = close[1] == ':' ? close + 2 : NULL;
    *close = '\0';
    out->name = name + 1;
    out->literal = 1;
    return NULL;
}

const char *hb_host_word_cut(char *text, struct hb_host_word *out,
                             size_t *at_out)
{
    char *at = strrchr(text, '@'), *name = text, *first, *last;
    const char *wrong;

    memset(out, 0, sizeof(*out));
    if (at != NULL) {
        *at = '\0';
        out->user = text;
        name = at + 1;
        wrong = hb_username_wrong(text, at_out);
        if (wrong != NULL) {
            return wrong;
        }
    }
    if (name[0] == '[' && !hb_range_is(name)) {
        return cut_literal(text, name, out, at_out);
    }
    out->name = name;
    first = strchr(name, ':');
    last = strrchr(name, ':');
    if (first != NULL && first == last) {
        *first = '\0';
        out->slots = first + 1;
    }
    return NULL;
}
