/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Tells rank 0 of an elastic Horovod job that others have come (worker.h). It
 * is on this host. A word is the HMAC of a text, its length as this machine
 * writes numbers, and the text; the answer is one of the same kind, and is not
 * read further than that it comes.
 *
 * A child process does it, so that a rank that does not listen holds up nobody
 * who asks the server; of whose connections it has none, for they would not end
 * while it waits. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <signal.h>
#include <unistd.h>

#include "bin/hpcbootd/serve.h"
#include "bin/recipe/worker.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/module_load.h"
#include "lib/trust/base64.h"
#include "lib/trust/derive.h"

#define ANSWER_S 10     /* a rank that computes answers when it can */
#define VALUE_MAX 65536 /* bytes of what a rank put, as base64 */
#define WORD_MAX 1024

static int read_worker(struct hb_worker *w, const char *value, size_t len)
{
    unsigned char *data;
    long n;
    int rc = -1;

    if (len > VALUE_MAX) {
        return -1;
    }
    data = hb_xmalloc(HB_BASE64_ROOM(len));
    n = hb_base64_decode(value, len, data);
    if (n > 0) {
        rc = hb_worker_read(w, data, (size_t)n);
    }
    free(data);
    return rc;
}

static int make_word(const struct hb_worker *w, struct hb_buf *out)
{
    struct hpcboot_error err = {0};
    const void *symbol = NULL;
    const struct hb_trust_ops *ops;
    struct hb_str text = HB_STR_INIT;
    unsigned char mac[32];
    int32_t len;
    int rc = hb_module_open(HB_TRUST_MODULE, HB_TRUST_SYMBOL, &symbol, &err);

    if (rc >= 0) {
        ops = symbol;
        hb_worker_hosts_added(&text, hb_wall_ns() / 1000000000);
        len = (int32_t)text.len;
        rc = ops->hmac_sha256(w->key, sizeof w->key, hb_str_text(&text),
                              text.len, mac) ? 0 : -1;
        hb_buf_put_raw(out, mac, sizeof mac);
        hb_buf_put_raw(out, &len, sizeof len);
        hb_buf_put_raw(out, hb_str_text(&text), text.len);
    }
    hb_str_destroy(&text);
    return rc;
}

static void say_word(const struct hb_worker *w, const struct hb_buf *word)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(w->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {.tv_sec = ANSWER_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer;

    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
        hb_fd_write_all(fd, (const char *)word->data, word->len, NULL) == 0) {
        while (read(fd, &answer, 1) > 0) {
        }
    }
    hb_fd_close(&fd);
}

void kv_tell(const char *value, size_t len)
{
    struct hb_worker w;
    struct hb_buf word;

    if (read_worker(&w, value, len) < 0) {
        return;
    }
    hb_buf_init(&word, WORD_MAX);
    if (make_word(&w, &word) == 0 && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hb_fd_close_as_exec(-1);
        say_word(&w, &word);
        _exit(0);
    }
    hb_buf_destroy(&word);
}
