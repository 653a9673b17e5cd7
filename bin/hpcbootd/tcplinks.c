/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The TCP sockets of this network namespace. The kernel is asked by netlink
 * (sock_diag), which on a host with large tables takes a tenth of the time that
 * /proc/net/tcp takes; where it does not answer (a sandbox, a kernel without
 * tcp_diag) the tables in /proc are read. Both are what the kernel writes, and
 * read without trusting a length. */
#include "config.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/hpcbootd/tcplinks.h"
#include "lib/base/fd.h"

#define TABLE_BYTES_MAX (16u << 20)
#define STATE_LISTEN 0x0a /* TCP_LISTEN, in both */
#define END_TEXT 80       /* of an address and a port in a table */
#define ANSWER_BYTES (32u << 10) /* what the kernel writes at a time, at most */

static void put_v4(struct in6_addr *out, const void *four)
{
    memset(out, 0, sizeof *out);
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(&out->s6_addr[12], four, 4);
}

int tcp_end_parse(const char *text, uint16_t port, struct tcp_end *out)
{
    struct in6_addr six;
    unsigned char four[4];

    memset(out, 0, sizeof *out);
    out->port = port;
    if (inet_pton(AF_INET, text, four) == 1) {
        put_v4(&out->address, four);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &six) != 1) {
        return -1;
    }
    out->address = six;
    return 0;
}

/* --- netlink ------------------------------------------------------------- */

static int ask(int fd, int family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } q = {.head = {.nlmsg_len = sizeof q,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
           .body = {.sdiag_family = (uint8_t)family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = UINT32_MAX}};

    return send(fd, &q, sizeof q, 0) == (ssize_t)sizeof q ? 0 : -1;
}

static void take_end(int family, const uint32_t *address, uint16_t port,
                     struct tcp_end *out)
{
    memset(out, 0, sizeof *out);
    out->port = ntohs(port);
    if (family == AF_INET) {
        put_v4(&out->address, address);
    } else {
        memcpy(&out->address, address, sizeof out->address);
    }
}

/* 1: there is more, 0: that was all, -1: the kernel refuses. */
static int take_messages(const char *at, size_t left, tcp_link_visit each,
                         void *arg)
{
    struct nlmsghdr head;
    struct inet_diag_msg m;
    struct tcp_link l;

    while (left >= sizeof head) {
        size_t whole;

        memcpy(&head, at, sizeof head);
        if (head.nlmsg_type == NLMSG_DONE) {
            return 0;
        }
        if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
            head.nlmsg_len > left ||
            head.nlmsg_len < NLMSG_LENGTH(sizeof m)) {
            return -1;
        }
        memcpy(&m, at + NLMSG_HDRLEN, sizeof m);
        l.listens = m.idiag_state == STATE_LISTEN;
        take_end(m.idiag_family, m.id.idiag_src, m.id.idiag_sport, &l.local);
        take_end(m.idiag_family, m.id.idiag_dst, m.id.idiag_dport, &l.remote);
        l.cookie = (uint64_t)m.id.idiag_cookie[1] << 32 | m.id.idiag_cookie[0];
        each(&l, arg);
        whole = NLMSG_ALIGN(head.nlmsg_len);
        at += whole;
        left -= whole < left ? whole : left;
    }
    return 1;
}

static int by_netlink(int family, tcp_link_visit each, void *arg)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    char *answer = malloc(ANSWER_BYTES);
    int more = fd >= 0 && answer != NULL && ask(fd, family) == 0 ? 1 : -1;

    while (more > 0) {
        ssize_t n = recv(fd, answer, ANSWER_BYTES, 0);

        more = n > 0 ? take_messages(answer, (size_t)n, each, arg) : -1;
    }
    free(answer);
    hb_fd_close(&fd);
    return more;
}

/* --- the tables in /proc -------------------------------------------------- */

/* "0100007F:1F90" or 32 digits: words in network order in memory. */
static int read_end(const char *text, struct tcp_end *out)
{
    size_t digits = strspn(text, "0123456789ABCDEFabcdef");
    uint32_t words[4];

    if ((digits != 8 && digits != 32) || text[digits] != ':') {
        return -1;
    }
    for (size_t i = 0; i < digits / 8; i++) {
        char word[9] = "";

        memcpy(word, text + 8 * i, 8);
        words[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    memset(out, 0, sizeof *out);
    if (digits == 8) {
        put_v4(&out->address, words);
    } else {
        memcpy(&out->address, words, sizeof words);
    }
    out->port = (uint16_t)strtoul(text + digits + 1, NULL, 16);
    return 0;
}

static void by_table(const char *path, tcp_link_visit each, void *arg)
{
    char *text = NULL;
    size_t len;

    if (hb_file_read(path, TABLE_BYTES_MAX, &text, &len, NULL) < 0) {
        return;
    }
    for (const char *line = text; line != NULL && *line != '\0';) {
        char local[END_TEXT], remote[END_TEXT];
        struct tcp_link l;
        unsigned state;

        if (sscanf(line, " %*u: %79s %79s %x", local, remote, &state) == 3 &&
            read_end(local, &l.local) == 0 &&
            read_end(remote, &l.remote) == 0) {
            l.listens = state == STATE_LISTEN;
            l.cookie = 0;
            each(&l, arg);
        }
        line = strchr(line, '\n');
        if (line != NULL) {
            line++;
        }
    }
    free(text);
}

void tcp_links(tcp_link_visit each, void *arg)
{
    if (by_netlink(AF_INET, each, arg) < 0) {
        by_table("/proc/self/net/tcp", each, arg);
    }
    if (by_netlink(AF_INET6, each, arg) < 0) {
        by_table("/proc/self/net/tcp6", each, arg);
    }
}
