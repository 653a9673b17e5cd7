/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Output and input of the job at the launcher. Output of agents goes to the
 * output object; an agent gets new credit when its bytes have been written,
 * not when they have arrived, so a slow reader slows ranks down and memory
 * stays bounded by the sum of the windows. Standard input is read only while
 * every reader has room, and never from the background of a terminal. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/cli/logsink.h"
#include "bin/job/ancestry.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define STDIN_CHUNK 65536
#define STDIN_WINDOW (256u << 10) /* bytes under way to the slowest reader */
/* Where all ranks get it: many a program reads it on one of them alone, and
 * must not wait for the others. */
#define STDIN_WINDOW_ALL (4u << 20)
#define BACKGROUND_POLL_MS 500
#define LAST_WORDS_MS 2000
#define CREDIT_LUMPS 4u /* to a window */
/* What an agent reads from a pipe at once, and the longest line. */
#define OVERDRAFT ((int64_t)256 << 10)

/* Bytes that the output object needs to keep no longer are paid back to the
 * host they came from, in lumps. */
static void on_written(void *arg, uint32_t rank, size_t bytes)
{
    struct job *j = arg;
    struct job_host *h = j->node_host[j->map->node_of_rank[rank]];
    struct job_rank *r = &j->ranks[rank];
    size_t disowned = r->output_disowned < bytes ? r->output_disowned : bytes;

    r->output_waits -= bytes;
    r->output_disowned -= disowned;
    h->output_open -= (int64_t)(bytes - disowned);
    h->credit_owed += (uint32_t)(bytes - disowned);
    if (h->credit_owed >= j->window / CREDIT_LUMPS) {
        HOST_SEND(h, credit, .bytes = h->credit_owed);
        h->credit_owed = 0;
    }
}

void job_carry_disown(struct job *j, uint32_t node)
{
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == node) {
            j->ranks[r].output_disowned = j->ranks[r].output_waits;
        }
    }
}

static void output_failed(struct job *j, const struct hpcboot_error *err)
{
    if (j->output_lost.code == 0) {
        j->output_lost = *err;
    }
    job_fail(j, HB_CAUSE_OUTPUT,
             err->code == HPCBOOT_ERR_CLOSED ? EPIPE : err->sys_errno, "%s",
             err->text);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    struct hpcboot_error err = {0};

    if (hb_output_flush(j->out, &err) < 0) {
        output_failed(j, &err);
    }
    job_carry_watch(j);
    if (j->phase == JOB_ENDING) {
        job_maybe_over(j);
    }
}

/* Watches the descriptors for which bytes wait. */
void job_carry_watch(struct job *j)
{
    for (int k = 0; k < 2; k++) {
        int fd = hb_output_wait_fd(j->out, k + 1);

        if (fd >= 0 && j->out_ev[k] == NULL) {
            j->out_ev[k] = event_new(j->base, fd, EV_WRITE, on_writable, j);
        }
        if (fd >= 0) {
            event_add(j->out_ev[k], NULL);
        }
    }
}

int job_carry_pending(struct job *j)
{
    struct hpcboot_error err = {0};

    if (j->out == NULL) {
        return 0;
    }
    if (hb_output_flush(j->out, &err) < 0) {
        output_failed(j, &err);
    }
    job_carry_watch(j);
    return hb_output_wait_fd(j->out, 1) >= 0 ||
           hb_output_wait_fd(j->out, 2) >= 0;
}

/* Of the tracebacks of many ranks one is shown whole. */
static void write_folded(struct job *j, struct hb_output_piece piece,
                         struct hpcboot_error *err)
{
    struct hb_str shown = HB_STR_INIT;
    size_t len = piece.len;

    hb_fold_take(j->fold, piece.rank, piece.data, len, &shown);
    piece.data = hb_str_text(&shown);
    piece.len = shown.len;
    if (shown.len > 0 && hb_output_write(j->out, &piece, err) < 0) {
        output_failed(j, err);
    }
    if (shown.len < len) {
        on_written(j, piece.rank, len - shown.len);
    }
    hb_str_destroy(&shown);
}

/* An agent looks at its credit between one read of a rank's pipe and the next,
 * and says what it has of a line when a pipe ends, whatever its credit. */
static int check_credit(struct job_host *h, size_t len,
                        struct hpcboot_error *err)
{
    const struct job *j = h->job;
    int64_t beyond = OVERDRAFT * (2 * (int64_t)j->map->local_size[h->node] + 1);

    h->output_open += (int64_t)len;
    if (h->output_open > j->window + beyond) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "%lld bytes of output came, "
                       "and %lld may wait to be written",
                       (long long)h->output_open,
                       (long long)(j->window + beyond));
    }
    return 0;
}

int job_carry_output(struct job_host *h, const struct hb_msg_output *m,
                     struct hpcboot_error *why)
{
    struct job *j = h->job;
    struct hpcboot_error err = {0};
    const struct hb_output_piece piece = {
        .rank = m->rank, .stream = m->stream, .wall_ns = m->wall_ns,
        .data = m->data.data, .len = m->data.len,
    };

    if (check_credit(h, m->data.len, why) < 0) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    j->ranks[m->rank].output_waits += m->data.len;
    j->output_bytes[m->stream == 2] += m->data.len;
    hb_progress_erase(j->progress);
    if (j->fold != NULL && m->stream == STDERR_FILENO) {
        write_folded(j, piece, &err);
    } else if (hb_output_write(j->out, &piece, &err) < 0) {
        output_failed(j, &err);
    }
    job_carry_watch(j);
    return 0;
}

static int is_of_rank(const struct hb_verdict *v)
{
    return v->kind >= HB_CAUSE_START && v->kind <= HB_CAUSE_NO_FINALIZE;
}

/* A rank that has failed may take its time to end, in which others fail because
 * of it, and end: the traceback that came first is not theirs. */
static void tell_first(const struct job *j)
{
    uint32_t first = hb_fold_first(j->fold);

    if (is_of_rank(&j->verdict) && first != j->first_rank &&
        first < j->map->n_ranks) {
        hb_log(HB_ERROR, "the first traceback, above, was rank %u's on %s; "
               "rank %u ended first, with this one:", first,
               job_host_of_rank(j, first), j->first_rank);
    }
}

/* What was folded away, once all have ended. */
void job_carry_tell_folded(struct job *j)
{
    enum hb_log_level level = j->verdict.kind == HB_CAUSE_NONE ? HB_WARN
                                                               : HB_ERROR;
    struct hb_strv lines = HB_STRV_INIT;
    const char *text;

    if (j->fold == NULL) {
        return;
    }
    hb_fold_summary(j->fold, &lines);
    text = hb_fold_text(j->fold, j->first_rank);
    if (level == HB_ERROR && *text != '\0') {
        tell_first(j);
        hb_output_say(j->out, text, strlen(text));
    }
    for (size_t i = 0; i < lines.n; i++) {
        hb_log(level, "also %s", lines.v[i]);
    }
    hb_strv_destroy(&lines);
}

/* How much may be read now without running ahead of the slowest reader. None
 * where nothing runs: a file without an end would keep the loop busy for ever,
 * and whoever is started again is to have what comes. */
static size_t stdin_room(const struct job *j)
{
    uint64_t most = j->stdin_mode == HB_STDIN_ALL ? STDIN_WINDOW_ALL
                                                  : STDIN_WINDOW;
    uint64_t ahead = 0;
    int runs = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];
        uint64_t under_way = h->stdin_sent - h->stdin_taken;

        runs |= h->state == HOST_RUNNING;
        if (h->state == HOST_RUNNING && under_way > ahead) {
            ahead = under_way;
        }
    }
    return runs && ahead < most ? (size_t)(most - ahead) : 0;
}

/* Of a host in this state. */
static int stdin_wanted_by(const struct job *j, const struct job_host *h,
                           enum host_state state)
{
    if (h->state != state || h->node == HB_NODE_UNSET) {
        return 0;
    }
    return j->stdin_mode == HB_STDIN_ALL ||
           (j->stdin_mode == HB_STDIN_RANK &&
            j->map->node_of_rank[j->stdin_rank] == h->node);
}

/* A reader takes the files of the job, and gets its orders behind them. */
static int stdin_is_early(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && (j->hosts[i].joins ||
                             !stdin_wanted_by(j, &j->hosts[i], HOST_READY))) {
        i++;
    }
    return i < j->gang.n;
}

static void stdin_send(struct job *j, const void *data, size_t len, int eof)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (stdin_wanted_by(j, h, HOST_RUNNING)) {
            h->stdin_sent += len;
            HOST_SEND(h, stdin,
                      .rank = j->stdin_mode == HB_STDIN_ALL ? HB_ALL_RANKS
                                                            : j->stdin_rank,
                      .flags = eof ? HB_IN_EOF : 0, .data = {data, len});
        }
    }
}

static void stdin_arm(struct job *j)
{
    static const struct timeval at_once = {0, 0};

    if (!j->stdin_open || stdin_room(j) < STDIN_CHUNK || stdin_is_early(j)) {
        return;
    }
    if (j->stdin_pollable) {
        event_add(j->stdin_ev, NULL);
    } else {
        event_add(j->stdin_ev, &at_once);
    }
}

/* Reading a terminal from the background would stop this process. One that is
 * not its own (-1), as behind su -c or setsid, stops nobody. */
static int in_background(void)
{
    pid_t front = isatty(STDIN_FILENO) ? tcgetpgrp(STDIN_FILENO) : -1;

    return front >= 0 && front != getpgrp();
}

/* Not by the event of stdin itself: a line that waits there for somebody else
 * would set that off again and again. */
static void on_stdin_later(evutil_socket_t fd, short what, void *arg)
{
    stdin_arm(arg);
}

static void on_stdin(evutil_socket_t fd, short what, void *arg)
{
    static char chunk[STDIN_CHUNK];
    struct job *j = arg;
    ssize_t n;

    if (stdin_room(j) < sizeof chunk) {
        return; /* since it was armed the last one has ended */
    }
    if (in_background()) {
        arm_ms(j->stdin_later, BACKGROUND_POLL_MS);
        return;
    }
    n = read(STDIN_FILENO, chunk, sizeof chunk);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        stdin_arm(j);
        return;
    }
    if (n < 0) {
        hb_log(HB_WARN, "standard input cannot be read any further: %s; "
               "the ranks see its end", strerror(errno));
    }
    stdin_send(j, chunk, n > 0 ? (size_t)n : 0, n <= 0);
    j->stdin_open = n > 0;
    stdin_arm(j);
}

void job_carry_stdin_credit(struct job_host *h, uint32_t bytes)
{
    h->stdin_taken += bytes;
    stdin_arm(h->job);
}

void job_carry_stdin_ordered(struct job_host *h)
{
    struct job *j = h->job;

    if (j->stdin_ev == NULL) {
        return; /* not begun, or nobody reads */
    }
    if (!j->stdin_open && stdin_wanted_by(j, h, HOST_RUNNING)) {
        HOST_SEND(h, stdin, .rank = HB_ALL_RANKS, .flags = HB_IN_EOF);
    }
    stdin_arm(j);
}

void job_carry_stdin_lost(struct job *j)
{
    if (j->stdin_ev != NULL) {
        stdin_arm(j);
    }
}

/* Files and /dev/null are always readable and cannot be watched. */
static int can_be_watched(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

/* A file has no answers to questions. */
int job_carry_answers(const struct job *j)
{
    return j->stdin_mode != HB_STDIN_NONE && can_be_watched(STDIN_FILENO);
}

void job_carry_stdin_begin(struct job *j)
{
    if (j->stdin_mode == HB_STDIN_NONE) {
        return;
    }
    j->stdin_open = 1;
    j->stdin_pollable = can_be_watched(STDIN_FILENO);
    j->stdin_ev = event_new(j->base, j->stdin_pollable ? STDIN_FILENO : -1,
                            j->stdin_pollable ? EV_READ : EV_TIMEOUT,
                            on_stdin, j);
    j->stdin_later = evtimer_new(j->base, on_stdin_later, j);
    stdin_arm(j);
}

/* nohup(1) opens one that cannot be read, so that nobody does. */
static int is_write_only(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY;
}

int job_carry_parse(struct job *j, struct hpcboot_error *err)
{
    const char *target = j->opt->stdin_target;
    uint64_t rank = 0;

    j->stdin_mode = HB_STDIN_RANK;
    if (is_write_only(STDIN_FILENO)) {
        target = "none";
    } else if (target == NULL && j->opt->dialect == HB_DIALECT_SRUN) {
        target = "all";
    }
    if (hb_streq(target, "all")) {
        j->stdin_mode = HB_STDIN_ALL;
    } else if (hb_streq(target, "none")) {
        j->stdin_mode = HB_STDIN_NONE;
    } else if (target != NULL &&
               hb_parse_u64(target, 0, HB_MAX_RANKS, &rank) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--stdin %s: expected all, "
                       "none, or the number of a rank", target);
    }
    j->stdin_rank = (uint32_t)rank;
    return 0;
}

/* Only a placed job knows how many ranks there are. */
int job_carry_check(const struct job *j, struct hpcboot_error *err)
{
    if (j->stdin_mode == HB_STDIN_RANK && j->stdin_rank >= j->map->n_ranks) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--stdin %u: the job has ranks "
                       "0 to %u", j->stdin_rank, j->map->n_ranks - 1);
    }
    return 0;
}

static const char *host_of(void *arg, uint32_t rank, uint32_t *number_out)
{
    const struct job *j = arg;

    if (j->map == NULL || rank >= j->map->n_ranks) { /* of an earlier life */
        *number_out = 0;
        return "";
    }
    *number_out = j->map->node_of_rank[rank];
    return job_host_of_rank(j, rank);
}

/* The number of ranks is known by then: called when the job is placed. */
int job_carry_open(struct job *j, struct hpcboot_error *err)
{
    const struct hb_output_config config = {
        .job = job_ancestry_number(j),
        .out_fd = STDOUT_FILENO, .err_fd = STDERR_FILENO,
        .tag = (enum hb_tag)j->opt->tag_output,
        .append = j->lives->epoch > 0,
        .timestamps = j->opt->timestamp_output, .n_ranks = job_ranks_most(j),
        .n_first = j->map->n_ranks,
        .dir = j->opt->output_dir, .dir_only = j->opt->output_dir_only,
        .dir_no_job = j->opt->output_dir_no_job,
        .own_files = {j->opt->events, j->opt->metrics},
        .out_pattern = j->opt->out_pattern,
        .err_pattern = j->opt->err_pattern,
        .patterns_copied = j->opt->patterns_copied && !j->opt->output_dir_only,
        .host_of = host_of, .done = on_written, .arg = j,
    };
    int rc = hb_output_create(&j->out, &config, err);

    if (rc == 0) {
        hb_logsink_output(j->out);
    }
    /* Files get what ranks write, all of it. */
    if (rc == 0 && j->framework != NULL && config.dir == NULL &&
        config.err_pattern == NULL && j->fold == NULL) {
        hb_fold_create(&j->fold, job_ranks_most(j));
    }
    return rc;
}

void job_carry_close(struct job *j)
{
    struct event **evs[] = {&j->out_ev[0], &j->out_ev[1], &j->stdin_ev,
                            &j->stdin_later};

    for (size_t i = 0; i < sizeof evs / sizeof *evs; i++) {
        if (*evs[i] != NULL) {
            event_free(*evs[i]);
            *evs[i] = NULL;
        }
    }
    if (j->out != NULL) { /* the last words may wait for a slow terminal */
        hb_output_drain(j->out, LAST_WORDS_MS, NULL);
        hb_logsink_output(NULL);
    }
    hb_output_destroy(j->out);
    j->out = NULL;
    hb_fold_destroy(j->fold);
    j->fold = NULL;
}
