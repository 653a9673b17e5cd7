/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A request is a head that ends with an empty line, and a body of
 * Content-Length bytes. Only what Horovod's clients send is understood; all
 * else is answered by 400, and what is too long by 413. */
#include "config.h"

#include "bin/recipe/kvhttp.h"

#include <string.h>
#include <strings.h>

#define PATH_BYTES_MAX 1024u
#define WHO "/rank_and_size/"

struct request {
    char method[8];
    char path[PATH_BYTES_MAX];
    size_t body_at, body_len;
};

static void answer(struct hb_str *reply, const char *status,
                   struct hb_bytes body)
{
    hb_str_putf(reply, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n"
                "Connection: close\r\n\r\n", status, body.len);
    hb_str_putn(reply, body.data, body.len);
}

static int refuse(struct hb_str *reply, const char *status)
{
    answer(reply, status, (struct hb_bytes){"", 0});
    return 1;
}

/* Where the head ends, behind its empty line; 0: not yet. */
static size_t head_end(const char *data, size_t len)
{
    size_t n = len < HB_KVHTTP_HEAD_MAX ? len : HB_KVHTTP_HEAD_MAX;

    for (size_t i = 3; i < n; i++) {
        if (memcmp(data + i - 3, "\r\n\r\n", 4) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* "METHOD /SCOPE/KEY HTTP/1.1"; 0, or -1. */
static int read_first(const char *line, size_t len, struct request *out)
{
    const char *blank = memchr(line, ' ', len);
    const char *path = blank != NULL ? blank + 1 : NULL, *end;
    size_t method = blank != NULL ? (size_t)(blank - line) : 0;

    end = path != NULL ? memchr(path, ' ', len - method - 1) : NULL;
    if (end == NULL || method >= sizeof out->method || path[0] != '/' ||
        (size_t)(end - path) >= sizeof out->path ||
        memchr(line, '\0', len) != NULL) {
        return -1;
    }
    memcpy(out->method, line, method);
    out->method[method] = '\0';
    memcpy(out->path, path, (size_t)(end - path));
    out->path[end - path] = '\0';
    /* A scope and a key, neither of them empty. */
    end = strchr(out->path + 1, '/');
    return end != NULL && end > out->path + 1 && end[1] != '\0' ? 0 : -1;
}

static int read_length(const char *line, size_t len, size_t *out)
{
    static const char name[] = "content-length:";
    char text[24];
    uint64_t n;

    if (len < sizeof name - 1 ||
        strncasecmp(line, name, sizeof name - 1) != 0) {
        return 0;
    }
    line += sizeof name - 1;
    len -= sizeof name - 1;
    while (len > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        len--;
    }
    if (len >= sizeof text) {
        return -1;
    }
    memcpy(text, line, len);
    text[len] = '\0';
    if (hb_parse_u64(text, 0, SIZE_MAX / 2, &n) < 0) {
        return -1;
    }
    *out = (size_t)n;
    return 0;
}

static int read_head(const char *data, size_t end, struct request *out)
{
    size_t at = 0;
    int rc = 0, first = 1;

    while (rc == 0 && at < end - 2) {
        const char *nl = memchr(data + at, '\r', end - at);
        size_t len = (size_t)(nl - (data + at));

        rc = first ? read_first(data, len, out)
                   : read_length(data + at, len, &out->body_len);
        first = 0;
        at += len + 2;
    }
    out->body_at = end;
    return rc;
}

static int serve(struct hb_kvs *store, const struct request *q,
                 const char *data, struct hb_str *reply)
{
    struct hb_bytes value = {data + q->body_at, q->body_len};

    if (hb_streq(q->method, "GET")) {
        if (hb_kvs_get(store, q->path, &value) != 1) {
            return refuse(reply, "404 Not Found");
        }
        answer(reply, "200 OK", value);
    } else if (hb_streq(q->method, "PUT")) {
        return refuse(reply, hb_kvs_put(store, q->path, value, HB_KVS_REPLACE,
                                        NULL) < 0 ? "507 Insufficient Storage"
                                                  : "200 OK");
    } else if (hb_streq(q->method, "DELETE")) {
        (void)hb_kvs_remove(store, q->path);
        return refuse(reply, "200 OK");
    } else {
        return refuse(reply, "400 Bad Request");
    }
    return 1;
}

void hb_kvhttp_text(struct hb_str *reply, const char *text)
{
    answer(reply, "200 OK", (struct hb_bytes){text, strlen(text)});
}

int hb_kvhttp_answer(struct hb_kvs *store, const char *data, size_t len,
                     struct hb_str *reply, char **asked)
{
    struct request q = {.body_len = 0};
    size_t end = head_end(data, len);

    if (end == 0) {
        return len < HB_KVHTTP_HEAD_MAX ? 0 : refuse(reply,
                                                     "413 Too Large");
    }
    if (read_head(data, end, &q) < 0) {
        return refuse(reply, "400 Bad Request");
    }
    if (q.body_len > HB_KVHTTP_BODY_MAX) {
        return refuse(reply, "413 Too Large");
    }
    if (asked != NULL && hb_streq(q.method, "GET") &&
        hb_starts_with(q.path, WHO)) {
        *asked = hb_xstrdup(q.path + strlen(WHO));
        return 2;
    }
    return len - end < q.body_len ? 0 : serve(store, &q, data, reply);
}
