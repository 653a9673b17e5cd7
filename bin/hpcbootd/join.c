/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* `hpcbootd join`: a rank of an elastic Horovod job before its program runs.
 *
 *     join ADDRESS PORT RANK/HOST:LOCAL_RANK PROGRAM...
 *
 * Asks the key-value server in front of rank 0 (kv.c) who this rank is in the
 * next world, and waits until that begins: others may have to end a step of
 * theirs before. Then it becomes the program, whose variables say so. A server
 * that is gone without an answer has ended with the job, which then needs no
 * further rank. */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/hpcbootd/serve.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define CONNECT_MS 60000 /* the server is started at the same time */
#define RETRY_US 100000
#define ANSWER_MAX 1024
#define NUMBERS 6

static int try_connect(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1;

    if (getaddrinfo(address, port, &hints, &found) != 0) {
        return -1;
    }
    for (const struct addrinfo *a = found; a != NULL && fd < 0;
         a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
            hb_fd_close(&fd);
        }
    }
    freeaddrinfo(found);
    return fd;
}

static int connect_to(const char *address, const char *port)
{
    int64_t deadline = hb_deadline_in_ms(CONNECT_MS);
    int fd = try_connect(address, port);

    while (fd < 0 && hb_deadline_left_ms(deadline) > 0) {
        usleep(RETRY_US);
        fd = try_connect(address, port);
    }
    return fd;
}

/* The body of the answer into `out`; "": there was none. */
static void ask(int fd, const char *key, char out[ANSWER_MAX])
{
    char *question = hb_xasprintf("GET /rank_and_size/%s HTTP/1.1\r\n\r\n",
                                  key);
    char answer[ANSWER_MAX], *body;
    size_t n = 0;
    ssize_t got = 1;

    out[0] = '\0';
    if (hb_fd_write_all(fd, question, strlen(question), NULL) == 0) {
        while (got > 0 && n < sizeof answer - 1) {
            got = read(fd, answer + n, sizeof answer - 1 - n);
            n += got > 0 ? (size_t)got : 0;
        }
    }
    answer[n] = '\0';
    body = strstr(answer, "\r\n\r\n");
    if (body != NULL) {
        snprintf(out, ANSWER_MAX, "%s", body + 4);
    }
    free(question);
}

/* "rank,size,local_rank,local_size,cross_rank,cross_size" */
static int put_numbers(const char *text)
{
    static const char *const names[NUMBERS] = {
        "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK",
        "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE"};
    unsigned v[NUMBERS];

    if (sscanf(text, "%u,%u,%u,%u,%u,%u", &v[0], &v[1], &v[2], &v[3], &v[4],
               &v[5]) != NUMBERS || text[0] == '-') {
        return -1;
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        char *value = hb_xasprintf("%u", v[i]);

        setenv(names[i], value, 1);
        free(value);
    }
    return 0;
}

int join_main(int argc, char **argv)
{
    char answer[ANSWER_MAX];
    int fd;

    if (argc < 5) {
        fprintf(stderr, "hpcbootd: join ADDRESS PORT RANK/HOST:LOCAL_RANK "
                "PROGRAM...\n");
        return EXIT_USAGE;
    }
    fd = connect_to(argv[1], argv[2]);
    if (fd < 0) {
        fprintf(stderr, "hpcbootd: nobody listens at %s:%s, where ranks are "
                "to meet: %s\n", argv[1], argv[2], strerror(errno));
        return EXIT_HOST;
    }
    ask(fd, argv[3], answer);
    hb_fd_close(&fd);
    if (answer[0] == '\0') {
        fprintf(stderr, "hpcbootd: the job was over before it took in %s\n",
                argv[3]);
        return 0;
    }
    if (put_numbers(answer) < 0) {
        fprintf(stderr, "hpcbootd: %s is no rank of this job\n", argv[3]);
        return EXIT_USAGE;
    }
    execvp(argv[4], argv + 4);
    fprintf(stderr, "hpcbootd: cannot start %s: %s\n", argv[4],
            strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
