/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Drives bin/boot from a shell test: starts an agent on each host named and
 * prints what happens, one line for each event.
 *
 *   bootdrive [OPTION...] HOST...
 *
 *   stage NAME DETAIL | chatter TEXT | unverified FINGERPRINT | open |
 *   data TEXT | closed TEXT | failed STAGE: TEXT |
 *   echoed N bytes | CORRUPT at N
 *
 * With --echo N the agent is expected to send back what it is sent: N bytes
 * whose value follows from their place are sent and compared. --hold MS keeps
 * the stream paused for that long before. */
#include "config.h"

#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bin/boot/boot.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define PIECE_BYTES 65536

struct options {
    struct hb_boot_config config;
    enum hb_boot_way way;
    const char *target_user;
    int target_port;
    long long echo_bytes;
    int hold_ms, limit_s, quiet, cancel_at_open, times;
};

struct host {
    const char *name;
    struct hb_boot *boot;
    struct hb_channel *channel;
    long long sent, got;
    size_t held; /* bytes that came while paused: there must be none */
    struct event *release;
    int64_t begun_ms;
    int over;
};

static struct options opt = {
    .way = HB_BOOT_SSH, .limit_s = 60,
    .config = {.agent_path = "/nonexistent/hpcbootd"},
};
static int running;

static void say(const struct host *h, const char *what, const char *text,
                size_t len)
{
    if (opt.quiet) {
        return;
    }
    printf("%s ", what);
    for (size_t i = 0; i < len; i++) {
        putchar(text[i] == '\n' && i + 1 < len ? '|' : text[i]);
    }
    if (len == 0 || text[len - 1] != '\n') {
        putchar('\n');
    }
}

static void over(struct host *h)
{
    if (h->over) {
        return;
    }
    h->over = 1;
    if (h->channel) {
        h->channel->ops->close(h->channel);
        h->channel = NULL;
    }
    if (opt.times) {
        printf("time %s %lld ms\n", h->name,
               (long long)(hb_now_ms() - h->begun_ms));
    }
    if (--running == 0) {
        event_base_loopbreak(opt.config.base);
    }
}

static unsigned char byte_at(long long place)
{
    uint64_t x = (uint64_t)(place / 8) * 0x9e3779b97f4a7c15ull;

    x ^= x >> 29;
    return (unsigned char)(x >> (place % 8 * 8));
}

static void pump(void *arg)
{
    struct host *h = arg;
    static unsigned char piece[PIECE_BYTES];

    while (h->channel && h->sent < opt.echo_bytes) {
        long long left = opt.echo_bytes - h->sent;
        size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        ssize_t took;

        for (size_t i = 0; i < n; i++) {
            piece[i] = byte_at(h->sent + (long long)i);
        }
        took = h->channel->ops->write(h->channel, piece, n);
        if (took <= 0) {
            return;
        }
        h->sent += took;
    }
}

static void compare(struct host *h, const unsigned char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] != byte_at(h->got + (long long)i)) {
            printf("CORRUPT at %lld\n", h->got + (long long)i);
            exit(1);
        }
    }
    h->got += (long long)len;
    if (h->got == opt.echo_bytes) {
        printf("echoed %lld bytes\n", h->got);
        over(h);
    }
}

static void on_data(void *arg, const void *data, size_t len)
{
    struct host *h = arg;

    h->held += h->release != NULL ? len : 0;
    if (opt.echo_bytes > 0) {
        compare(h, data, len);
    } else {
        say(h, "data", data, len);
    }
}

static void on_closed(void *arg, const struct hpcboot_error *err)
{
    struct host *h = arg;

    say(h, "closed", err->text, strlen(err->text));
    over(h);
}

static void release_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host *h = arg;

    printf("held %lld sent %zu got\n", h->sent, h->held);
    event_free(h->release);
    h->release = NULL;
    h->channel->ops->pause(h->channel, 0);
}

static void on_open(void *arg, struct hb_channel *ch)
{
    struct host *h = arg;
    struct timeval hold = {opt.hold_ms / 1000, opt.hold_ms % 1000 * 1000};

    ch->events = (struct hb_channel_events){on_data, pump, on_closed};
    ch->arg = h;
    h->channel = ch;
    say(h, "open", "", 0);
    if (opt.cancel_at_open) {
        hb_boot_cancel(h->boot);
        h->boot = NULL;
    }
    if (opt.hold_ms > 0) {
        ch->ops->pause(ch, 1);
        h->release = evtimer_new(opt.config.base, release_cb, h);
        evtimer_add(h->release, &hold);
    }
    pump(h);
    if (opt.times && opt.echo_bytes == 0) {
        over(h);
    }
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_putf(&text, "%s %s", hb_boot_stage_name(stage), detail);
    say(arg, "stage", text.s, text.len);
    hb_str_destroy(&text);
}

static void on_chatter(void *arg, const char *text, size_t len)
{
    say(arg, "chatter", text, len);
}

static void on_unverified(void *arg, const struct hb_boot_unverified *host)
{
    const char *fingerprint = host->fingerprint;

    say(arg, "unverified", fingerprint, strlen(fingerprint));
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    printf("failed %s: %s\n", hb_boot_stage_name(stage), err->text);
    over(arg);
}

static const struct hb_boot_events events = {
    .stage = on_stage, .chatter = on_chatter, .unverified = on_unverified,
    .open = on_open, .failed = on_failed,
};

static void begin(struct host *h, const char *name)
{
    struct hb_boot_target target = {
        .host = name, .user = opt.target_user, .port = opt.target_port,
        .token = "token",
    };
    struct hpcboot_error err = {0};

    memset(h, 0, sizeof *h);
    h->name = name;
    h->begun_ms = hb_now_ms();
    if (hb_boot_start(&h->boot, opt.way, &opt.config, &target, &events, h, &err)
        < 0) {
        printf("refused: %s\n", err.text);
        return;
    }
    running++;
}

static const struct option long_options[] = {
    {"command", 1, NULL, 'c'}, {"fork", 1, NULL, 'f'}, {"port", 1, NULL, 'p'},
    {"user", 1, NULL, 'u'}, {"identity", 1, NULL, 'i'},
    {"gang-key", 1, NULL, 'g'}, {"inside-gang", 0, NULL, 'G'},
    {"pin", 0, NULL, 'P'}, {"ssh-config", 1, NULL, 'F'},
    {"timeout", 1, NULL, 't'}, {"prefix", 1, NULL, 'x'}, {"kex", 1, NULL, 'k'},
    {"echo", 1, NULL, 'e'}, {"hold", 1, NULL, 'H'}, {"limit", 1, NULL, 'l'},
    {"quiet", 0, NULL, 'q'}, {"cancel-at-open", 0, NULL, 'C'},
    {"times", 0, NULL, 'T'}, {NULL, 0, NULL, 0}
};

static void take_option(int letter)
{
    struct hb_boot_config *config = &opt.config;

    switch (letter) {
    case 'c': opt.way = HB_BOOT_COMMAND; config->launch_with = optarg; break;
    case 'f': opt.way = HB_BOOT_FORK; config->agent_path = optarg; break;
    case 'p': opt.target_port = atoi(optarg); break;
    case 'u': opt.target_user = optarg; break;
    case 'i': config->identity = optarg; break;
    case 'g': config->gang_key = optarg; break;
    case 'G': config->inside_gang = 1; break;
    case 'P': config->host_keys = HB_HOST_KEYS_PIN; break;
    case 'F': config->ssh_config = optarg; break;
    case 't': config->connect_timeout_ms = atoi(optarg); break;
    case 'x': config->prefix = optarg; break;
    case 'k': config->kex = optarg; break;
    case 'e': opt.echo_bytes = atoll(optarg); break;
    case 'H': opt.hold_ms = atoi(optarg); break;
    case 'l': opt.limit_s = atoi(optarg); break;
    case 'q': opt.quiet = 1; break;
    case 'C': opt.cancel_at_open = 1; break;
    case 'T': opt.times = 1; break;
    default: exit(2);
    }
}

int main(int argc, char **argv)
{
    struct timeval limit = {0, 0};
    struct rlimit files;
    struct host *hosts;
    int letter, n;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        take_option(letter);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    n = argc - optind;
    hosts = hb_xcalloc((size_t)n + 1, sizeof *hosts);
    opt.config.base = event_base_new();
    for (int i = 0; i < n; i++) {
        begin(&hosts[i], argv[optind + i]);
    }
    limit.tv_sec = opt.limit_s;
    event_base_loopexit(opt.config.base, &limit);
    if (running > 0) {
        event_base_dispatch(opt.config.base);
    }
    for (int i = 0; i < n; i++) {
        if (hosts[i].boot && !hosts[i].over) {
            printf("LATE %s\n", hosts[i].name);
        }
        hb_boot_cancel(hosts[i].boot);
        if (hosts[i].channel) {
            hosts[i].channel->ops->close(hosts[i].channel);
        }
    }
    /* Channels that linger, and children that end, get their turn. */
    for (int i = 0; i < 20; i++) {
        struct timeval tick = {0, 5000};

        event_base_loopexit(opt.config.base, &tick);
        event_base_dispatch(opt.config.base);
    }
    event_base_free(opt.config.base);
    free(hosts);
    return 0;
}
