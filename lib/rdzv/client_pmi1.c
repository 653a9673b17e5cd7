/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks of a PMI-1 launcher (mpiexec of MPICH): lines of key=value words over
 * the descriptor that PMI_FD names, or over a connection to PMI_PORT, where the
 * launcher is to be told PMI_ID before it says which rank that is. Values are
 * short words without blanks, so a blob travels as hexadecimal chunks; the
 * first begins with the length of the whole.
 *
 * An MPI in the same process speaks over the same descriptor: such a program
 * calls hpcboot_init_mpi (hpcboot/mpi.h) instead. */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/rdzv/foreign.h"

#define LINE_MAX_BYTES 8192u /* of a reply: a value and the words around it */
#define NAME_MAX_BYTES 256u
#define RANKS_MAX (1 << 24)
#define FD_LIMIT (1 << 20)
/* As hexadecimal digits it leaves of a line of 1024 bytes, all that Hydra 4.2
 * can write and others can read, the room for a kvsname of 255 and a key. */
#define CHUNK_BYTES 350u
#define LENGTH_DIGITS 8
#define BARRIER_OUT "barrier_out"

struct pmi1 {
    struct hb_foreign f;
    struct hb_rdzv_ops client;
    int fd;
    struct hb_rdzv_inherited inherited; /* PMI_FD */
    int port_fd, id_fd; /* PMI_PORT: fd, and who has the PMI_ID; else -1 */
    int64_t deadline_ns;
    uint32_t barriers; /* that this rank has come to */
    int owes;   /* the launcher: the answer to a barrier */
    int passed; /* that has come when another was due */
    char kvs[NAME_MAX_BYTES];
    struct hb_buf in;
    char line[LINE_MAX_BYTES]; /* the last reply */
};

static int wait_readable(struct pmi1 *p, struct hpcboot_error *err)
{
    int rc = hb_rdzv_poll(&p->f.r, p->fd, POLLIN, p->deadline_ns);

    return rc > 0 ? 0 : hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "PMI-1: the other "
                                "ranks have not come before the deadline");
}

/* One whole line into p->line. */
static int read_line(struct pmi1 *p, struct hpcboot_error *err)
{
    for (;;) {
        size_t left = hb_buf_left(&p->in);
        const char *at = (const char *)hb_buf_next(&p->in);
        const char *end = left > 0 ? memchr(at, '\n', left) : NULL;
        ssize_t n;

        if (end != NULL) {
            snprintf(p->line, sizeof p->line, "%.*s", (int)(end - at), at);
            hb_buf_skip(&p->in, (size_t)(end - at) + 1);
            hb_buf_compact(&p->in);
            return 0;
        }
        if (left >= LINE_MAX_BYTES || wait_readable(p, err) < 0) {
            return left >= LINE_MAX_BYTES
                       ? hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: a reply "
                                 "of more than %u bytes", LINE_MAX_BYTES)
                       : HPCBOOT_ERR_TIMED_OUT;
        }
        n = read(p->fd, hb_buf_reserve(&p->in, LINE_MAX_BYTES),
                 LINE_MAX_BYTES);
        if (n <= 0) {
            return hb_fail(err, HPCBOOT_ERR_CLOSED, "PMI-1: the launcher has "
                           "closed the connection");
        }
        hb_buf_added(&p->in, (size_t)n);
    }
}

/* The value of a word of the reply, up to the next blank. */
static int word(const struct pmi1 *p, const char *key, char *out, size_t size)
{
    size_t len = strlen(key);
    const char *at = p->line;

    while (at != NULL && *at != '\0') {
        at += strspn(at, " ");
        if (strncmp(at, key, len) == 0 && at[len] == '=') {
            at += len + 1;
            snprintf(out, size, "%.*s", (int)strcspn(at, " "), at);
            return 1;
        }
        at = strchr(at, ' ');
    }
    return 0;
}

/* Whether the last reply is `answer`, with rc=0. */
static int check(const struct pmi1 *p, const char *answer,
                 struct hpcboot_error *err)
{
    char cmd[64] = "", rc_text[16] = "0";

    (void)word(p, "cmd", cmd, sizeof cmd);
    (void)word(p, "rc", rc_text, sizeof rc_text);
    if (strcmp(cmd, answer) != 0 || strcmp(rc_text, "0") != 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: the launcher "
                       "answered \"%.200s\" where %s was due", p->line, answer);
    }
    return 0;
}

/* The last reply is what was owed. */
static int was_owed(struct pmi1 *p)
{
    char cmd[64] = "";

    if (!p->owes || !word(p, "cmd", cmd, sizeof cmd) ||
        strcmp(cmd, BARRIER_OUT) != 0) {
        return 0;
    }
    p->owes = 0;
    p->passed = check(p, BARRIER_OUT, NULL) == 0;
    return 1;
}

static int say(const struct pmi1 *p, const char *line,
               struct hpcboot_error *err)
{
    return hb_fd_send_all(p->fd, line, strlen(line), NULL) < 0
        ? hb_fail_errno(err, errno == EPIPE ? HPCBOOT_ERR_CLOSED
                                            : HPCBOOT_ERR_SYSTEM,
                        "PMI-1: cannot write to the launcher") : 0;
}

/* Sends a line, and reads the reply that must be `answer`. */
static int ask(struct pmi1 *p, const char *line, const char *answer,
               struct hpcboot_error *err)
{
    int rc = say(p, line, err);

    if (rc < 0) {
        return rc;
    }
    do {
        rc = read_line(p, err);
    } while (rc == 0 && was_owed(p));
    return rc < 0 ? rc : check(p, answer, err);
}

static void put_hex(struct hb_str *o, const unsigned char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hb_str_putf(o, "%02x", data[i]);
    }
}

static int put_chunk(struct pmi1 *p, uint32_t round, size_t chunk,
                     const char *value, struct hpcboot_error *err)
{
    char *line = hb_xasprintf("cmd=put kvsname=%s key=hb-%u-%u-%zu "
                              "value=%s\n", p->kvs, p->f.r.rank, round, chunk,
                              value);
    int rc = ask(p, line, "put_result", err);

    free(line);
    return rc;
}

static int pmi1_publish(struct hb_foreign *f, uint32_t round,
                        struct hb_bytes blob, struct hpcboot_error *err)
{
    struct pmi1 *p = (struct pmi1 *)f;
    const unsigned char *data = blob.data;
    size_t at = 0, chunk = 0;
    int rc = 0;

    do {
        size_t n = blob.len - at < CHUNK_BYTES ? blob.len - at : CHUNK_BYTES;
        struct hb_str value = HB_STR_INIT;

        if (chunk == 0) {
            n = n < CHUNK_BYTES - LENGTH_DIGITS ? n
                                                : CHUNK_BYTES - LENGTH_DIGITS;
            hb_str_putf(&value, "%0*zx", LENGTH_DIGITS, blob.len);
        }
        put_hex(&value, data + at, n);
        rc = put_chunk(p, round, chunk++, hb_str_text(&value), err);
        hb_str_destroy(&value);
        at += n;
    } while (rc == 0 && at < blob.len);
    return rc;
}

/* Goes on with the one whose deadline has passed, as the others take this rank
 * for one that has come to it. */
static int barrier(struct pmi1 *p, int64_t deadline_ns,
                   struct hpcboot_error *err)
{
    static const char line[] = "cmd=barrier_in\n";
    int rc = 0;

    if (!p->owes && !p->passed) {
        rc = say(p, line, err);
        p->owes = rc >= 0;
        p->barriers += rc >= 0;
    }
    if (p->owes) {
        p->deadline_ns = deadline_ns;
        rc = read_line(p, err);
        p->deadline_ns = HB_NEVER;
        p->owes = rc == HPCBOOT_ERR_TIMED_OUT;
        rc = rc < 0 ? rc : check(p, BARRIER_OUT, err);
    }
    p->passed = 0;
    return rc < 0 ? rc : 0;
}

static int pmi1_sync(struct hb_foreign *f, uint32_t round, int collect,
                     int64_t deadline_ns, struct hpcboot_error *err)
{
    return barrier((struct pmi1 *)f, deadline_ns, err);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_hex(const char *text, struct hb_buf *out)
{
    for (; text[0] != '\0'; text += 2) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

        if (low < 0) {
            return -1;
        }
        hb_buf_put_u8(out, (uint8_t)(high << 4 | low));
    }
    return 0;
}

static int pmi1_fetch(struct hb_foreign *f, uint32_t rank, uint32_t round,
                      struct hb_buf *out, struct hpcboot_error *err)
{
    struct pmi1 *p = (struct pmi1 *)f;
    unsigned long whole = 1;
    size_t begun = out->len;

    for (size_t chunk = 0; out->len - begun < whole; chunk++) {
        char value[2 * CHUNK_BYTES + 1] = "", *text = value;
        char *line = hb_xasprintf("cmd=get kvsname=%s key=hb-%u-%u-%zu\n",
                                  p->kvs, rank, round, chunk);
        int rc = ask(p, line, "get_result", err);

        free(line);
        if (rc < 0) {
            return rc;
        }
        if (!word(p, "value", value, sizeof value) ||
            (chunk == 0 && sscanf(value, "%8lx", &whole) != 1)) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: the value of "
                           "rank %u is malformed", rank);
        }
        text += chunk == 0 ? LENGTH_DIGITS : 0;
        if (take_hex(text, out) < 0 || (text[0] == '\0' && whole > 0)) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: the value of "
                           "rank %u is cut", rank);
        }
    }
    return 0;
}

/* By the barrier that this rank has come to last. A launcher may show a value
 * before the barrier that is to show it, so it says which one that is. */
static int has_ended(struct pmi1 *p, uint32_t rank)
{
    char *line = hb_xasprintf("cmd=get kvsname=%s key=hb-%u-end\n", p->kvs,
                              rank);
    int rc = ask(p, line, "get_result", NULL);
    char value[16] = "";

    free(line);
    return rc == 0 && word(p, "value", value, sizeof value) &&
           strtoul(value, NULL, 10) <= p->barriers;
}

static int say_end(struct pmi1 *p, struct hpcboot_error *err)
{
    char *line = hb_xasprintf("cmd=put kvsname=%s key=hb-%u-end value=%u\n",
                              p->kvs, p->f.r.rank, p->barriers + 1);
    int rc = ask(p, line, "put_result", err);

    free(line);
    return rc;
}

/* Of a rank whose last fence has not been complete the others may have come to
 * that one, or have ended without it: then its barrier is the last one. Those
 * that are owed say nothing, so that all of them come to the same. */
static int last_barrier(struct pmi1 *p, struct hpcboot_error *err)
{
    int owed = p->owes || p->passed;
    int rc = owed ? 0 : say_end(p, err);

    if (rc == 0) {
        rc = barrier(p, HB_NEVER, err);
    }
    for (uint32_t i = 0; rc == 0 && owed && i < p->f.r.size; i++) {
        if (has_ended(p, i)) {
            return 0;
        }
    }
    return rc == 0 && owed ? barrier(p, HB_NEVER, err) : rc;
}

static int pmi1_finalize(struct hb_foreign *f, struct hpcboot_error *err)
{
    struct pmi1 *p = (struct pmi1 *)f;
    int rc = last_barrier(p, err);

    return rc < 0 ? rc : ask(p, "cmd=finalize\n", "finalize_ack", err);
}

static void pmi1_destroy(struct hb_foreign *f)
{
    struct pmi1 *p = (struct pmi1 *)f;

    hb_rdzv_leave(&p->inherited);
    hb_fd_close(&p->port_fd);
    hb_fd_close(&p->id_fd);
    hb_buf_destroy(&p->in);
    free(p);
}

static const struct hb_foreign_ops pmi1_ops = {
    .name = "pmi1", .publish = pmi1_publish, .sync = pmi1_sync,
    .fetch = pmi1_fetch, .finalize = pmi1_finalize, .destroy = pmi1_destroy,
};

static int number(const char *text, int max, int *out)
{
    return text != NULL && hb_parse_int(text, 0, max, out) == 0;
}

/* A rank keeps its descriptor from what it starts, and a wrapper may close it:
 * then the number is nobody's, or that of a file which is not to be written
 * into. */
static int check_socket(int fd, struct hpcboot_error *err)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "PMI-1: descriptor %d, "
                             "which PMI_FD names, is not the launcher's: a "
                             "rank has started this program before its "
                             "hpcboot_finalize, or a wrapper has closed it; "
                             "without PMI_FD the program runs alone", fd);
}

static int greet(struct pmi1 *p, struct hpcboot_error *err)
{
    int rc = ask(p, "cmd=init pmi_version=1 pmi_subversion=1\n",
                 "response_to_init", err);

    if (rc == 0) {
        rc = ask(p, "cmd=get_my_kvsname\n", "my_kvsname", err);
    }
    if (rc == 0 && !word(p, "kvsname", p->kvs, sizeof p->kvs)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: the launcher names no "
                     "key-value space");
    }
    return rc;
}

/* NULL where it says nothing. */
static const char *value_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

static int take_numbers(struct pmi1 *p, const char *rank, const char *size)
{
    int r, n;

    if (!number(rank, RANKS_MAX, &r) || !number(size, RANKS_MAX, &n) ||
        r >= n) {
        return 0;
    }
    p->f.r.rank = (uint32_t)r;
    p->f.r.size = (uint32_t)n;
    return 1;
}

static int by_fd(struct pmi1 *p, const char *fd, struct hpcboot_error *err)
{
    const char *rank = value_of("PMI_RANK"), *size = value_of("PMI_SIZE");

    if (!number(fd, FD_LIMIT, &p->fd) || !take_numbers(p, rank, size)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "PMI-1: PMI_FD=%.32s, PMI_RANK="
                       "%.32s and PMI_SIZE=%.32s are no descriptor, rank and "
                       "number of ranks, as a launcher gives them; without "
                       "PMI_FD the program runs alone", fd,
                       rank != NULL ? rank : "", size != NULL ? size : "");
    }
    p->inherited = hb_rdzv_keep(p->fd);
    return check_socket(p->fd, err);
}

/* ---- PMI_PORT ---- */

/* A program that a rank starts has the same PMI_ID, and the launcher would take
 * it for that rank. */
static int hold_id(struct pmi1 *p, const char *port, int id,
                   struct hpcboot_error *err)
{
    char *name = hb_xasprintf("hpcboot-pmi-%.8s-%d-%.64s",
                              strrchr(port, ':') + 1, id, port);

    p->id_fd = hb_local_live(name, err);
    free(name);
    return p->id_fd >= 0 ? 0
           : errno == EADDRINUSE
               ? hb_fail(err, HPCBOOT_ERR_USAGE, "PMI-1: a rank has started "
                         "this program before its hpcboot_finalize; without "
                         "PMI_PORT the program runs alone")
               : HPCBOOT_ERR_SYSTEM;
}

/* 1: connected; else errno says why not. */
static int call(struct pmi1 *p, const struct addrinfo *to)
{
    int error = 0;
    socklen_t len = sizeof error;

    p->fd = p->port_fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC |
                                SOCK_NONBLOCK, 0);
    if (p->fd < 0 || (connect(p->fd, to->ai_addr, to->ai_addrlen) < 0 &&
                      errno != EINPROGRESS)) {
        return 0;
    }
    if (hb_rdzv_poll(&p->f.r, p->fd, POLLOUT, p->deadline_ns) == 0) {
        errno = ETIMEDOUT;
        return 0;
    }
    (void)getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    errno = error;
    return error == 0;
}

static int dial(struct pmi1 *p, const char *port, struct hpcboot_error *err)
{
    const struct addrinfo wish = {.ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(port, ':');
    char *host = hb_xasprintf("%.*s", (int)(colon - port), port);
    struct addrinfo *all = NULL;
    int found = getaddrinfo(host, colon + 1, &wish, &all), done = 0;

    for (const struct addrinfo *a = all; !done && a != NULL; a = a->ai_next) {
        hb_fd_close(&p->port_fd);
        done = call(p, a);
    }
    if (found != 0) {
        hb_fail(err, HPCBOOT_ERR_SYSTEM, "PMI-1: the launcher, at PMI_PORT=%s, "
                "cannot be found: %s", port, gai_strerror(found));
    } else if (!done) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "PMI-1: the launcher, at "
                      "PMI_PORT=%s, cannot be reached", port);
    }
    if (all != NULL) {
        freeaddrinfo(all);
    }
    free(host);
    return done ? hb_fd_set_nonblock(p->fd, 0, err) : HPCBOOT_ERR_SYSTEM;
}

/* Which rank this is comes in lines of their own, "cmd=set size=2"; the last
 * has the debug level. */
static int learn_rank(struct pmi1 *p, int id, struct hpcboot_error *err)
{
    char rank[16] = "", size[16] = "", debug[16];
    char *line = hb_xasprintf("cmd=initack pmiid=%d\n", id);
    int rc = ask(p, line, "initack", err);

    free(line);
    while (rc == 0 && !word(p, "debug", debug, sizeof debug)) {
        rc = read_line(p, err);
        rc = rc < 0 ? rc : check(p, "set", err);
        (void)word(p, "rank", rank, sizeof rank);
        (void)word(p, "size", size, sizeof size);
    }
    if (rc == 0 && !take_numbers(p, rank, size)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI-1: the launcher says that "
                     "PMI_ID=%d is rank \"%s\" of \"%s\"", id, rank, size);
    }
    return rc;
}

static int by_port(struct pmi1 *p, const char *port, struct hpcboot_error *err)
{
    const char *text = value_of("PMI_ID");
    int id, rc;

    if (strrchr(port, ':') == NULL || !number(text, INT32_MAX, &id)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "PMI-1: PMI_PORT=%.128s and "
                       "PMI_ID=%.32s are no HOST:PORT and number, as a "
                       "launcher gives them; without PMI_PORT the program "
                       "runs alone",
                       port, text != NULL ? text : "");
    }
    rc = hold_id(p, port, id, err);
    if (rc == 0) {
        rc = dial(p, port, err);
    }
    return rc == 0 ? learn_rank(p, id, err) : rc;
}

int hb_rdzv_pmi1_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err)
{
    const char *fd = value_of("PMI_FD"), *port = value_of("PMI_PORT");
    struct pmi1 *p;
    int rc;

    if (fd == NULL && port == NULL) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    p = hb_xcalloc(1, sizeof *p);
    p->inherited.fd = p->port_fd = p->id_fd = -1;
    p->deadline_ns = spec->deadline_ns;
    hb_buf_init(&p->in, 4 * LINE_MAX_BYTES);
    rc = fd != NULL ? by_fd(p, fd, err) : by_port(p, port, err);
    if (rc < 0) {
        pmi1_destroy(&p->f);
        return rc;
    }
    hb_foreign_init(&p->f, &pmi1_ops, &p->client);
    rc = greet(p, err);
    if (rc == 0) {
        rc = hb_foreign_meet(&p->f, spec, err);
    }
    if (rc < 0) {
        hb_segment_close(&p->f.r.memory);
        hb_foreign_destroy(&p->f);
        return rc;
    }
    *out = &p->f.r;
    return 0;
}
