/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Where log records of a program go: standard error, one write for each.
 *
 * A record's lines each begin with the program's name, and with the level
 * where it is not plain information. While ranks write, records of the loop's
 * thread go through the output object, which keeps their order and never
 * blocks; other threads (a library's own) write by themselves. A terminal
 * that takes nothing for a second loses the record rather than hold up the
 * job. */
#include "config.h"

#include "bin/cli/logsink.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

#define LOG_WAIT_MS 1000 /* for a slow terminal, before a record is lost */

static struct {
    pthread_mutex_t lock;
    pthread_t loop_thread; /* the one that opened the sink */
    const char *program;
    struct hb_progress *progress;
    struct hb_output *output;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *level_word(enum hb_log_level level)
{
    switch (level) {
    case HB_ERROR: return "error: ";
    case HB_WARN: return "warning: ";
    case HB_INFO: return "";
    case HB_DEBUG: return "debug: ";
    default: return "trace: ";
    }
}

/* What a host says must not steer the terminal: controls are numbers. */
static void put_text(struct hb_str *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t bad = text[i] == '\t' ? 0 : hb_control_len(text + i);
        size_t good = hb_utf8_len((const unsigned char *)text + i);

        if (bad == 0) {
            hb_str_putn(out, text + i, good);
            i += good;
        }
        for (; bad > 0; bad--) {
            hb_str_putf(out, "\\%03o", (unsigned char)text[i++]);
        }
    }
}

static void put_lines(struct hb_str *out, enum hb_log_level level,
                      const char *text)
{
    do {
        size_t n = strcspn(text, "\n");

        hb_str_putf(out, "%s: %s", sink.program, level_word(level));
        put_text(out, text, n);
        hb_str_putc(out, '\n');
        text += n + (text[n] == '\n');
    } while (*text);
}

static void write_out(const char *text, size_t len)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    while (len > 0 && poll(&p, 1, LOG_WAIT_MS) == 1) {
        ssize_t n = write(STDERR_FILENO, text, len);

        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return;
        }
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
}

static void record(void *arg, enum hb_log_level level, const char *text)
{
    struct hb_str out = HB_STR_INIT;
    int ours = pthread_equal(pthread_self(), sink.loop_thread);

    put_lines(&out, level, text);
    pthread_mutex_lock(&sink.lock);
    if (ours) {
        hb_progress_erase(sink.progress);
    }
    if (ours && sink.output) {
        hb_output_say(sink.output, out.s, out.len);
    } else {
        write_out(out.s, out.len);
    }
    pthread_mutex_unlock(&sink.lock);
    hb_str_destroy(&out);
}

char *hb_logsink_line(enum hb_log_level level, const char *text)
{
    struct hb_str out = HB_STR_INIT;

    put_lines(&out, level, text);
    return hb_str_steal(&out);
}

void hb_logsink_open(const char *program, enum hb_log_level max_level)
{
    static char last_words[160];

    snprintf(last_words, sizeof last_words, "%s: error: out of memory%s\n",
             program, hb_errno_remedy(ENOMEM));
    hb_no_memory_says(last_words);
    sink.program = program;
    sink.loop_thread = pthread_self();
    hb_log_set_sink(record, NULL, max_level);
}

void hb_logsink_progress(struct hb_progress *p)
{
    sink.progress = p;
}

void hb_logsink_output(struct hb_output *o)
{
    sink.output = o;
}

int hb_stdout_written(void)
{
    int failed = fflush(stdout) != 0, why = errno;

    if (!failed && !ferror(stdout)) {
        return 1;
    }
    hb_log(HB_ERROR, "stdout cannot be written%s%s", failed ? ": " : "",
           !failed ? "" : why == EBADF ? "it is closed" : strerror(why));
    return 0;
}
