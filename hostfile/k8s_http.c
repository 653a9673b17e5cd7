/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* HTTP for the Kubernetes API, on libcurl's multi interface. Its sockets and
 * two timers (libcurl's, the user's) are gathered in one epoll descriptor,
 * which any loop can watch, so neither a loop of our own nor a thread is
 * needed.
 *
 * The server must prove itself by the cluster's own authority, and no other
 * is believed. Its file is read for each connection and the token's for each
 * request: the kubelet renews both. No proxy is used whatever the environment
 * says, since the API of one's own cluster is not behind one, and the token
 * would pass through it. */

#include "config.h"

#include "hostfile/k8s_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/base/fd.h"

#define ACCEPT_ALL "Accept: application/json"
/* A server that cannot cut its objects down sends them whole. */
#define ACCEPT_METADATA                                                     \
    "Accept: application/json;as=PartialObjectMetadataList;"                \
    "g=meta.k8s.io;v=v1, application/json"
#define USER_AGENT "hpcboot/" PACKAGE_VERSION
/* The API is near; a name that goes nowhere should be told soon. */
#define CONNECT_TIMEOUT_MS 5000L
/* A partition shows as silence: after 30 s of it the kernel asks the other
 * side, thrice. */
#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
/* Fewer, larger pieces of a long list. */
#define RECEIVE_BYTES (128L << 10)
/* A token is a JWT of about a kilobyte. */
#define MAX_TOKEN_BYTES (16u << 10)
#define EVENTS_PER_STEP 8
/* The server's word for it; waits are shorter than an hour. */
#define MAX_RETRY_AFTER_S 3600

struct hb_http {
    const struct hb_k8s_login *login;
    struct hb_http_user user;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    int epoll_fd, curl_timer_fd, alarm_fd;
    int under_way, stopped;
    char why[CURL_ERROR_SIZE];
};

static void set_timer(int fd, int64_t ms)
{
    struct itimerspec when = {0};

    if (ms == 0) {
        when.it_value.tv_nsec = 1; /* zero would disarm it */
    } else if (ms > 0) {
        when.it_value.tv_sec = ms / 1000;
        when.it_value.tv_nsec = (long)(ms % 1000) * 1000000L;
    }
    timerfd_settime(fd, 0, &when, NULL);
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
    struct hb_http *h = arg;

    set_timer(h->curl_timer_fd, ms);
    return 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                     void *unused)
{
    struct hb_http *h = arg;
    struct epoll_event ev = {.data.fd = fd};

    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    ev.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (epoll_ctl(h->epoll_fd, EPOLL_CTL_MOD, fd, &ev) != 0 &&
        epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
        return -1;
    }
    return 0;
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
    struct hb_http *h = arg;
    long status = 0;

    curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    if (h->user.data(h->user.arg, (int)status, data, size * n) < 0) {
        h->stopped = 1;
        return 0;
    }
    return size * n;
}

/* libcurl would go by what the file held for a day. */
static void read_authority_anew(CURL *e)
{
#if LIBCURL_VERSION_NUM >= 0x075700
    (void)curl_easy_setopt(e, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#else
    (void)e; /* that reads it each time */
#endif
}

/* What every request has; libcurl keeps it from one to the next. */
static int set_up_easy(struct hb_http *h)
{
    CURL *e = h->easy;

    read_authority_anew(e);
    return curl_easy_setopt(e, CURLOPT_CAINFO, h->login->ca) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CAPATH, NULL) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                            (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                            CONNECT_TIMEOUT_MS) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE,
                            KEEPALIVE_IDLE_S) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL,
                            KEEPALIVE_INTERVAL_S) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_BUFFERSIZE, RECEIVE_BYTES) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT, USER_AGENT) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, h->why) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, h) == CURLE_OK;
}

static int watch_fd(struct hb_http *h, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

int hb_http_create(const struct hb_k8s_login *login,
                   const struct hb_http_user *user, struct hb_http **out,
                   struct hpcboot_error *err)
{
    struct hb_http *h = hb_xcalloc(1, sizeof(*h));
    int rc;

    h->login = login;
    h->user = *user;
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    h->curl_timer_fd = timerfd_create(CLOCK_MONOTONIC,
                                      TFD_CLOEXEC | TFD_NONBLOCK);
    h->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (h->epoll_fd < 0 || h->curl_timer_fd < 0 || h->alarm_fd < 0 ||
        watch_fd(h, h->curl_timer_fd) != 0 || watch_fd(h, h->alarm_fd) != 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                           "cannot make descriptors for the Kubernetes API");
        goto fail;
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        (h->multi = curl_multi_init()) == NULL ||
        (h->easy = curl_easy_init()) == NULL || !set_up_easy(h)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "libcurl %s lacks what the Kubernetes API needs",
                     curl_version_info(CURLVERSION_NOW)->version);
        goto fail;
    }
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    *out = h;
    return HPCBOOT_OK;
fail:
    hb_http_destroy(h);
    return rc;
}

void hb_http_destroy(struct hb_http *h)
{
    if (h == NULL) {
        return;
    }
    if (h->under_way) {
        curl_multi_remove_handle(h->multi, h->easy);
    }
    curl_easy_cleanup(h->easy);
    if (h->multi != NULL) {
        curl_multi_cleanup(h->multi);
    }
    curl_slist_free_all(h->headers);
    hb_fd_close(&h->curl_timer_fd);
    hb_fd_close(&h->alarm_fd);
    hb_fd_close(&h->epoll_fd);
    free(h);
}

int hb_http_fd(const struct hb_http *h)
{
    return h->epoll_fd;
}

void hb_http_alarm(struct hb_http *h, int64_t ms, int64_t least_ms)
{
    uint32_t r = 0; /* it stays that where there is no randomness yet */

    (void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
    ms = ms / 2 + (int64_t)(r % (uint64_t)(ms / 2 + 1));
    set_timer(h->alarm_fd, ms > least_ms ? ms : least_ms);
}

char *hb_http_escape(struct hb_http *h, const char *text)
{
    char *escaped = curl_easy_escape(h->easy, text, 0);
    char *copy = hb_xstrdup(escaped != NULL ? escaped : "");

    curl_free(escaped);
    return copy;
}

/* "Authorization: Bearer TOKEN" and what answers may be. */
static int set_headers(struct hb_http *h, int only_metadata,
                       struct hpcboot_error *err)
{
    struct curl_slist *list, *more;
    char *token = NULL, *line;
    size_t len;
    int rc = hb_file_read(h->login->token, MAX_TOKEN_BYTES, &token, &len, err);

    if (rc < 0) {
        return hb_error_prefix(err, rc, "the service account's token");
    }
    token[strcspn(token, "\r\n")] = '\0';
    line = hb_xasprintf("Authorization: Bearer %s", token);
    list = curl_slist_append(NULL, only_metadata ? ACCEPT_METADATA
                                                 : ACCEPT_ALL);
    more = list != NULL ? curl_slist_append(list, line) : NULL;
    explicit_bzero(line, strlen(line));
    explicit_bzero(token, len);
    free(line);
    free(token);
    if (more == NULL) {
        curl_slist_free_all(list);
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "out of memory");
    }
    curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, list);
    curl_slist_free_all(h->headers);
    h->headers = list;
    return HPCBOOT_OK;
}

int hb_http_get(struct hb_http *h, const char *path, int only_metadata,
                int64_t within_ms, struct hpcboot_error *err)
{
    char *url;
    int rc = set_headers(h, only_metadata, err);

    if (rc < 0) {
        return rc;
    }
    url = hb_xasprintf("%s%s", h->login->server, path);
    h->stopped = 0;
    h->why[0] = '\0';
    if (curl_easy_setopt(h->easy, CURLOPT_URL, url) != CURLE_OK ||
        curl_easy_setopt(h->easy, CURLOPT_TIMEOUT_MS,
                         (long)within_ms) != CURLE_OK ||
        curl_multi_add_handle(h->multi, h->easy) != CURLM_OK) {
        rc = hb_fail(err, HPCBOOT_ERR_SYSTEM, "libcurl refuses %.200s", url);
    } else {
        h->under_way = 1;
    }
    free(url);
    return rc;
}

static enum hb_http_outcome outcome_of(const struct hb_http *h, CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return HB_HTTP_ANSWERED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
        return HB_HTTP_UNTRUSTED;
    default:
        return h->stopped ? HB_HTTP_STOPPED : HB_HTTP_CUT;
    }
}

static void finish(struct hb_http *h, CURLcode code)
{
    struct hb_http_result result = {.outcome = outcome_of(h, code)};
    curl_off_t seconds = 0;
    long status = 0;

    curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &seconds);
    result.status = (int)status;
    seconds = seconds < MAX_RETRY_AFTER_S ? seconds : MAX_RETRY_AFTER_S;
    result.retry_after_ms = seconds > 0 ? (int64_t)seconds * 1000 : -1;
    if (code != CURLE_OK) {
        snprintf(result.text, sizeof(result.text), "%s",
                 h->why[0] != '\0' ? h->why : curl_easy_strerror(code));
    }
    curl_multi_remove_handle(h->multi, h->easy);
    h->under_way = 0;
    h->user.done(h->user.arg, &result);
}

static void finish_done(struct hb_http *h)
{
    const CURLMsg *msg;
    CURLcode code;
    int left;

    while (h->under_way &&
           (msg = curl_multi_info_read(h->multi, &left)) != NULL) {
        if (msg->msg == CURLMSG_DONE) {
            code = msg->data.result;
            finish(h, code);
        }
    }
}

static void drain(int fd)
{
    uint64_t n;

    while (read(fd, &n, sizeof(n)) < 0 && errno == EINTR) {
    }
}

void hb_http_step(struct hb_http *h)
{
    struct epoll_event events[EVENTS_PER_STEP];
    int n = epoll_wait(h->epoll_fd, events, EVENTS_PER_STEP, 0), running;
    int rings = 0;

    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd, what = 0;
        if (fd == h->alarm_fd) {
            drain(fd);
            rings = 1;
        } else if (fd == h->curl_timer_fd) {
            drain(fd);
            curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0,
                                     &running);
        } else {
            what |= events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0;
            what |= events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
            what |= events[i].events & (EPOLLERR | EPOLLHUP)
                        ? CURL_CSELECT_ERR : 0;
            curl_multi_socket_action(h->multi, fd, what, &running);
        }
    }
    finish_done(h);
    if (rings && !h->under_way) {
        h->user.alarm(h->user.arg);
    }
}
