/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* From pieces of ranks' output to what a person sees.
 *
 * A piece is whole lines, or part of one long line. It is rendered (time and
 * label before each line) into the queue of a sink, into a file, or both, and
 * the queue is written when the caller flushes or when enough has come
 * together. Where nothing is to be rendered and nothing waits, a large piece
 * is written from where it lies.
 *
 * Each place remembers whose line is open at its end. With labels another
 * rank's output then begins on a line of its own, so that labels are always
 * at a line's start; without, bytes are never added. When standard output and
 * error are one terminal or file they are one place here, and order is kept.
 *
 * It knows neither links nor loops: the caller watches hb_output_wait_fd and
 * turns `done` into credit. */
#include "config.h"

#include "bin/cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bin/cli/rankfiles.h"
#include "bin/cli/sink.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define PREFIX_MAX 96 /* time and label */
/* Below it a piece is worth copying to be written together with others. */
#define DIRECT_MIN (16u << 10)
/* A queue this long is written without waiting for a flush. */
#define FLUSH_AT (256u << 10)
/* With so much waiting the launcher's own words are dropped. */
#define SAY_MAX (1u << 20)

struct hb_output {
    struct hb_output_config config;
    int width; /* of the widest rank, for srun's labels */
    struct hb_sink sinks[2];
    struct hb_line lines[2];
    int same; /* both streams go to sinks[0] */
    /* Met by words of the launcher's own, and not told: that they are lost
     * harms no rank. That pieces are lost with them (lost) or later does. */
    struct hpcboot_error unsaid;
    int lost;
    struct hb_rankfiles *files; /* NULL: none */
    char *dir, *patterns[2];    /* what config and files borrow */
    char *scratch;
    size_t scratch_cap;
    time_t second; /* of the text below */
    char second_text[32];
};

static int same_file(int a, int b)
{
    struct stat x, y;

    /* /dev/null stands in for what was closed, but not in the same way. */
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev
           && x.st_ino == y.st_ino
           && ((fcntl(a, F_GETFL) ^ fcntl(b, F_GETFL)) & O_ACCMODE) == 0;
}

static char *copy_or_null(const char *text)
{
    return text ? hb_xstrdup(text) : NULL;
}

static void open_files(struct hb_output *o)
{
    struct hb_output_config *c = &o->config;
    struct hb_rankfiles_config files = {.n_ranks = c->n_ranks,
                                        .job = c->job,
                                        .append = c->append,
                                        .own = {c->own_files[0],
                                                c->own_files[1]},
                                        .host_of = c->host_of,
                                        .arg = c->arg,
                                        .dir_no_job = c->dir_no_job};

    files.dir = c->dir = o->dir = copy_or_null(c->dir);
    c->out_pattern = o->patterns[0] = copy_or_null(c->out_pattern);
    c->err_pattern = o->patterns[1] = copy_or_null(c->err_pattern);
    if (!c->dir && hb_streq(c->out_pattern, "/dev/stdout")) {
        c->out_pattern = NULL; /* where it goes anyway */
    }
    if (!c->dir && hb_streq(c->err_pattern, "/dev/stderr")) {
        c->err_pattern = NULL;
    }
    files.pattern[0] = c->out_pattern;
    files.pattern[1] = c->err_pattern;
    if (c->dir || c->out_pattern || c->err_pattern) {
        o->files = hb_rankfiles_create(&files);
    }
}

int hb_output_create(struct hb_output **out,
                     const struct hb_output_config *config,
                     struct hpcboot_error *err)
{
    struct hb_output *o;
    int rc;

    if (config->n_ranks == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "a job has no ranks");
    }
    o = hb_xcalloc(1, sizeof *o);
    o->config = *config;
    o->config.job = config->job > 0 ? config->job : 1;
    o->width = snprintf(NULL, 0, "%u", config->n_ranks - 1);
    o->second = -1;
    o->same = same_file(config->out_fd, config->err_fd);
    hb_sink_open(&o->sinks[0], config->out_fd, "standard output");
    hb_sink_open(&o->sinks[1], config->err_fd, "standard error");
    for (int i = 0; i < 2; i++) {
        o->sinks[i].done = config->done;
        o->sinks[i].arg = config->arg;
    }
    open_files(o);
    rc = o->files ? hb_rankfiles_prepare(o->files, config->n_first, err) : 0;
    if (rc < 0) {
        hb_output_destroy(o);
        return rc;
    }
    *out = o;
    return 0;
}

void hb_output_destroy(struct hb_output *o)
{
    if (!o) {
        return;
    }
    hb_sink_close(&o->sinks[0]);
    hb_sink_close(&o->sinks[1]);
    hb_rankfiles_destroy(o->files);
    free(o->dir);
    free(o->patterns[0]);
    free(o->patterns[1]);
    free(o->scratch);
    free(o);
}

/* --- time and label ---------------------------------------------- */

/* "2026-11-21 11:28:15.123456 ", local time; the second's text is kept. */
static size_t put_time(struct hb_output *o, uint64_t wall_ns, char *out,
                       size_t size)
{
    time_t second = (time_t)(wall_ns / 1000000000u);
    struct tm tm;

    if (second != o->second) {
        o->second = second;
        if (!localtime_r(&second, &tm)
            || !strftime(o->second_text, sizeof o->second_text,
                         "%Y-%m-%d %H:%M:%S", &tm)) {
            snprintf(o->second_text, sizeof o->second_text, "@%lld",
                     (long long)second);
        }
    }
    return (size_t)snprintf(out, size, "%s.%06u ", o->second_text,
                            (unsigned)(wall_ns % 1000000000u / 1000u));
}

static size_t put_prefix(struct hb_output *o,
                         const struct hb_output_piece *piece,
                         char out[PREFIX_MAX])
{
    size_t at = 0, left = PREFIX_MAX;

    if (o->config.timestamps) {
        at = put_time(o, piece->wall_ns, out, left);
        left -= at;
    }
    switch (o->config.tag) {
    case HB_TAG_OPENMPI: /* no blank after it, as mpirun 4.1 writes it */
        at += (size_t)snprintf(out + at, left, "[%u,%u]<%s>:",
                               o->config.job, piece->rank,
                               piece->stream == 1 ? "stdout" : "stderr");
        break;
    case HB_TAG_HYDRA:
        at += (size_t)snprintf(out + at, left, "[%u] ", piece->rank);
        break;
    case HB_TAG_SRUN:
        at += (size_t)snprintf(out + at, left, "%*u: ", o->width,
                               piece->rank);
        break;
    default:
        break;
    }
    return at;
}

/* --- rendering --------------------------------------------------- */

static size_t count_lines(const char *p, size_t len)
{
    const char *end = p + len;
    size_t n = 1;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        n++;
        p++;
    }
    return n;
}

static int goes_on(const struct hb_line *line,
                   const struct hb_output_piece *piece)
{
    return line->open && line->rank == piece->rank
           && line->stream == piece->stream;
}

/* Copies the lines with the prefix before each; `out` has room for all. */
static size_t render(const struct hb_output_piece *piece,
                     const struct hb_line *line, const char *prefix,
                     size_t prefix_len, char *out)
{
    const char *p = piece->data, *end = p + piece->len;
    char *at = out;
    int label = !goes_on(line, piece);

    if (label && line->open) {
        *at++ = '\n';
    }
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((nl ? nl + 1 : end) - p);

        if (label) {
            memcpy(at, prefix, prefix_len);
            at += prefix_len;
        }
        memcpy(at, p, n);
        at += n;
        p += n;
        label = 1;
    }
    return (size_t)(at - out);
}

static void note_end(struct hb_line *line,
                     const struct hb_output_piece *piece)
{
    line->open = ((const char *)piece->data)[piece->len - 1] != '\n';
    line->rank = piece->rank;
    line->stream = piece->stream;
}

static size_t render_bound(const struct hb_output_piece *piece,
                           size_t prefix_len)
{
    return piece->len + count_lines(piece->data, piece->len) * prefix_len + 1;
}

/* --- places ------------------------------------------------------ */

/* 1 when all has been written from where it lay, 0 when *piece is what is
 * left to be queued. */
static int write_direct(struct hb_sink *sink, struct hb_output_piece *piece,
                        struct hpcboot_error *err)
{
    size_t written;
    int rc;

    if (hb_sink_waiting(sink) > 0 || piece->len < DIRECT_MIN) {
        return 0;
    }
    rc = hb_sink_try(sink, piece->data, piece->len, &written, err);
    piece->data = (const char *)piece->data + written;
    piece->len -= written;
    return rc < 0 ? rc : piece->len == 0;
}

static struct hb_sink *own_sink(struct hb_output *o)
{
    return &o->sinks[o->same ? 0 : 1];
}

static int tell_unsaid(struct hb_output *o, struct hpcboot_error *err)
{
    int rc = o->unsaid.code;

    if (rc < 0 && err) {
        *err = o->unsaid;
    }
    o->unsaid.code = o->lost = 0;
    return rc;
}

static int to_sink(struct hb_output *o, const struct hb_output_piece *piece,
                   struct hpcboot_error *err)
{
    int i = o->same ? 0 : piece->stream - 1, rc = 0;
    struct hb_sink *sink = &o->sinks[i];
    struct hb_output_piece rest = *piece;
    char prefix[PREFIX_MAX];
    size_t prefix_len = put_prefix(o, piece, prefix);

    if (sink->dead) {
        hb_sink_mark(sink, piece->rank, piece->len);
        return sink == own_sink(o) ? tell_unsaid(o, err) : 0;
    }
    if (prefix_len) {
        size_t bound = render_bound(piece, prefix_len);
        char *room = hb_sink_reserve(sink, bound);

        hb_sink_added(sink, render(piece, &o->lines[i], prefix, prefix_len,
                                   room));
    } else {
        rc = write_direct(sink, &rest, err);
        hb_sink_put(sink, rest.data, rest.len);
    }
    note_end(&o->lines[i], piece);
    hb_sink_mark(sink, piece->rank, piece->len);
    if (rc >= 0 && (sink->way == HB_SINK_DIRECT
                    || hb_sink_waiting(sink) >= FLUSH_AT)) {
        rc = hb_sink_flush(sink, err);
    }
    return rc < 0 ? rc : 0;
}

static int to_file(struct hb_output *o, const struct hb_output_piece *piece,
                   struct hpcboot_error *err)
{
    struct hb_line *line = hb_rankfiles_line(o->files, piece->rank,
                                             piece->stream);
    char prefix[PREFIX_MAX];
    size_t prefix_len = put_prefix(o, piece, prefix), bound, len;

    if (!prefix_len) {
        return hb_rankfiles_write(o->files, piece->rank, piece->stream,
                                  piece->data, piece->len, err);
    }
    bound = render_bound(piece, prefix_len);
    if (bound > o->scratch_cap) {
        o->scratch = hb_xrealloc(o->scratch, bound);
        o->scratch_cap = bound;
    }
    len = render(piece, line, prefix, prefix_len, o->scratch);
    note_end(line, piece);
    return hb_rankfiles_write(o->files, piece->rank, piece->stream,
                              o->scratch, len, err);
}

static int wants_terminal(const struct hb_output *o, int stream)
{
    const char *pattern = stream == 1 ? o->config.out_pattern
                                      : o->config.err_pattern;

    return pattern ? o->config.patterns_copied
                   : !(o->config.dir && o->config.dir_only);
}

int hb_output_write(struct hb_output *o, const struct hb_output_piece *piece,
                    struct hpcboot_error *err)
{
    int file_rc = 0, rc = 0;

    if (piece->rank >= o->config.n_ranks
        || (piece->stream != 1 && piece->stream != 2)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "output of rank %u, stream %d, which is not there",
                       piece->rank, piece->stream);
    }
    if (piece->len == 0) {
        return 0;
    }
    if (o->files && hb_rankfiles_has(o->files, piece->stream)) {
        file_rc = to_file(o, piece, err);
    }
    if (wants_terminal(o, piece->stream)) {
        rc = to_sink(o, piece, file_rc < 0 ? NULL : err);
    } else if (o->config.done) {
        o->config.done(o->config.arg, piece->rank, piece->len);
    }
    return file_rc < 0 ? file_rc : rc;
}

void hb_output_say(struct hb_output *o, const char *text, size_t len)
{
    struct hb_sink *sink = own_sink(o);
    struct hb_line *line = &o->lines[sink - o->sinks];
    int owes;

    if (sink->dead || hb_sink_waiting(sink) > SAY_MAX) {
        return;
    }
    if (line->open) {
        hb_sink_put(sink, "\n", 1);
        line->open = 0;
    }
    hb_sink_put(sink, text, len);
    owes = hb_sink_owes(sink);
    if (hb_sink_flush(sink, &o->unsaid) < 0) {
        o->lost = owes;
    }
}

/* --- the queues -------------------------------------------------- */

int hb_output_flush(struct hb_output *o, struct hpcboot_error *err)
{
    int left = 0, failed = o->lost ? tell_unsaid(o, err) : 0;

    for (int i = 0; i < 2; i++) {
        int rc = hb_sink_flush(&o->sinks[i], failed ? NULL : err);

        if (rc < 0 && !failed) {
            failed = rc;
        }
        left = left || rc > 0;
    }
    return failed ? failed : left;
}

size_t hb_output_pending(const struct hb_output *o)
{
    return hb_sink_waiting(&o->sinks[0]) + hb_sink_waiting(&o->sinks[1]);
}

int hb_output_wait_fd(const struct hb_output *o, int stream)
{
    const struct hb_sink *sink = &o->sinks[stream - 1];

    return sink->way != HB_SINK_DIRECT && hb_sink_waiting(sink) ? sink->fd
                                                                : -1;
}

int hb_output_drain(struct hb_output *o, int timeout_ms,
                    struct hpcboot_error *err)
{
    int64_t deadline = hb_deadline_in_ms(timeout_ms);

    for (;;) {
        struct pollfd fds[2];
        int64_t left_ms = hb_deadline_left_ms(deadline);
        int rc = hb_output_flush(o, err);

        if (rc <= 0 || left_ms == 0) {
            return rc;
        }
        for (int i = 0; i < 2; i++) {
            fds[i].fd = hb_output_wait_fd(o, i + 1); /* poll skips -1 */
            fds[i].events = POLLOUT;
        }
        poll(fds, 2, left_ms > INT32_MAX ? -1 : (int)left_ms);
    }
}
