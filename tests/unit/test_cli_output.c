/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks' output at the launcher: bytes, labels, files, slow and gone
 * readers. The places written to are pipes, sockets and a directory of the
 * test's own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/cli/output.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

struct place {
    int out[2], err[2]; /* pipes; [0] is read by the test */
    struct hb_output *o;
    struct hpcboot_error error;
    size_t done[4]; /* bytes of each rank */
    char dir[32];
};

static void count_done(void *arg, uint32_t rank, size_t bytes)
{
    struct place *p = arg;

    p->done[rank & 3] += bytes;
}

static int place_create(void **state)
{
    struct place *p = hb_xcalloc(1, sizeof *p);

    signal(SIGPIPE, SIG_IGN);
    snprintf(p->dir, sizeof p->dir, "/tmp/hb-out-XXXXXX");
    *state = p;
    return mkdtemp(p->dir) && hb_fd_pipe(p->out, NULL) == 0
                   && hb_fd_pipe(p->err, NULL) == 0
               ? 0 : -1;
}

static void start(struct place *p, struct hb_output_config c)
{
    c.n_ranks = c.n_ranks ? c.n_ranks : 4;
    c.n_first = c.n_first ? c.n_first : c.n_ranks;
    c.out_fd = c.out_fd ? c.out_fd : p->out[1];
    c.err_fd = c.err_fd ? c.err_fd : p->err[1];
    c.done = count_done;
    c.arg = p;
    assert_int_equal(hb_output_create(&p->o, &c, &p->error), 0);
}

static int place_destroy(void **state)
{
    struct place *p = *state;
    char *command = hb_xasprintf("rm -rf '%s'", p->dir);
    int rc = system(command);

    free(command);
    hb_output_destroy(p->o);
    hb_fd_close(&p->out[0]);
    hb_fd_close(&p->out[1]);
    hb_fd_close(&p->err[0]);
    hb_fd_close(&p->err[1]);
    free(p);
    return rc;
}

static int put_bytes(struct place *p, uint32_t rank, int stream,
                     const void *data, size_t len)
{
    struct hb_output_piece piece = {
        .rank = rank, .stream = stream, .data = data, .len = len,
        .wall_ns = 1500000000123456789u};

    return hb_output_write(p->o, &piece, &p->error);
}

static int put(struct place *p, uint32_t rank, int stream, const char *text)
{
    return put_bytes(p, rank, stream, text, strlen(text));
}

/* What has come out so far at a pipe. */
static char *come_out(int fd)
{
    struct hb_str all = HB_STR_INIT;
    char data[4096];
    ssize_t n;

    assert_int_equal(hb_fd_set_nonblock(fd, 1, NULL), 0);
    hb_str_put(&all, "");
    while ((n = read(fd, data, sizeof data)) > 0) {
        hb_str_putn(&all, data, (size_t)n);
    }
    return hb_str_steal(&all);
}

static void expect(struct place *p, int stream, const char *wanted)
{
    char *got;

    assert_int_equal(hb_output_flush(p->o, &p->error), 0);
    got = come_out(stream == 1 ? p->out[0] : p->err[0]);
    assert_string_equal(got, wanted);
    free(got);
}

static void expect_file(struct place *p, const char *name, const char *wanted)
{
    char *path = hb_xasprintf("%s/%s", p->dir, name), *text = NULL;
    size_t len;

    if (hb_file_read(path, 1 << 20, &text, &len, &p->error) < 0) {
        fail_msg("%s", p->error.text);
    }
    assert_string_equal(text, wanted);
    free(text);
    free(path);
}

/* --- bytes and labels -------------------------------------------- */

static void bytes_pass_unharmed(void **state)
{
    struct place *p = *state;
    unsigned char bytes[256];
    char got[512];

    for (int i = 0; i < 256; i++) {
        bytes[i] = (unsigned char)i;
    }
    start(p, (struct hb_output_config){0});
    put_bytes(p, 0, 1, bytes, sizeof bytes);
    put(p, 1, 1, "no end");
    put(p, 2, 2, "error\n");
    assert_int_equal(hb_output_flush(p->o, NULL), 0);
    assert_int_equal(read(p->out[0], got, sizeof got), 262);
    assert_memory_equal(got, bytes, 256);
    assert_memory_equal(got + 256, "no end", 6);
    expect(p, 2, "error\n");
}

static void openmpi_labels(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.tag = HB_TAG_OPENMPI});
    put(p, 3, 1, "a\n\nb\n");
    put(p, 0, 2, "c\n");
    expect(p, 1, "[1,3]<stdout>:a\n[1,3]<stdout>:\n[1,3]<stdout>:b\n");
    expect(p, 2, "[1,0]<stderr>:c\n");
}

static void hydra_and_srun_labels(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.tag = HB_TAG_HYDRA});
    put(p, 3, 1, "a\n");
    expect(p, 1, "[3] a\n");
    hb_output_destroy(p->o);
    start(p, (struct hb_output_config){.tag = HB_TAG_SRUN, .n_ranks = 101});
    put(p, 7, 1, "a\n");
    put(p, 100, 1, "b\n");
    expect(p, 1, "  7: a\n100: b\n");
}

static void a_line_in_pieces_has_one_label(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.tag = HB_TAG_HYDRA});
    put(p, 0, 1, "one ");
    put(p, 0, 1, "line\ntwo");
    put(p, 0, 1, "\n");
    expect(p, 1, "[0] one line\n[0] two\n");
}

static void pieces_of_ranks_do_not_mix_in_a_line(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.tag = HB_TAG_HYDRA});
    put(p, 0, 1, "long");
    put(p, 1, 1, "other\n");
    put(p, 0, 1, "er\n");
    expect(p, 1, "[0] long\n[1] other\n[0] er\n");
}

static void streams_in_one_place_do_not_mix_in_a_line(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.tag = HB_TAG_OPENMPI,
                                       .err_fd = p->out[1]});
    put(p, 0, 1, "out");
    put(p, 0, 2, "err\n");
    expect(p, 1, "[1,0]<stdout>:out\n[1,0]<stderr>:err\n");
}

static void order_is_kept_where_both_streams_are_one(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.err_fd = p->out[1]});
    put(p, 0, 1, "1\n");
    put(p, 0, 2, "2\n");
    put(p, 0, 1, "3\n");
    expect(p, 1, "1\n2\n3\n");
}

static void times_are_those_of_the_source(void **state)
{
    struct place *p = *state;

    setenv("TZ", "UTC0", 1);
    tzset();
    start(p, (struct hb_output_config){.timestamps = 1,
                                       .tag = HB_TAG_HYDRA});
    put(p, 0, 1, "a\n");
    expect(p, 1, "2017-07-14 02:40:00.123456 [0] a\n");
}

static void a_file_need_not_be_flushed(void **state)
{
    struct place *p = *state;
    char *path = hb_xasprintf("%s/file", p->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    start(p, (struct hb_output_config){.out_fd = fd});
    put(p, 0, 1, "a\n");
    assert_int_equal(hb_output_pending(p->o), 0);
    expect_file(p, "file", "a\n");
    close(fd);
    free(path);
}

static void a_rank_that_is_not_there_is_refused(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    assert_int_equal(put(p, 4, 1, "x"), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(put(p, 0, 3, "x"), HPCBOOT_ERR_PROTOCOL);
}

/* --- slow readers ------------------------------------------------ */

/* Writes 4 MiB of lines while nobody reads, then reads; all must be there,
 * in order, and be credited only as they go. */
static void slow_reader(struct place *p, int read_fd)
{
    const size_t total = 4u << 20;
    char line[64], got[65536];
    uint64_t wanted = 0, seen = 0;
    size_t sent = 0, received = 0;

    for (; sent < total; sent += 64) {
        snprintf(line, sizeof line, "%063llu", (unsigned long long)wanted++);
        line[63] = '\n';
        assert_int_equal(put_bytes(p, 1, 1, line, 64), 0);
    }
    assert_int_equal(hb_output_flush(p->o, NULL), 1);
    assert_true(p->done[1] < total);
    assert_true(hb_output_pending(p->o) + p->done[1] >= total);
    assert_true(hb_output_wait_fd(p->o, 1) >= 0);
    assert_int_equal(hb_output_wait_fd(p->o, 2), -1);
    while (received < total) {
        ssize_t n = recv(read_fd, got, sizeof got, MSG_WAITALL);

        if (n < 0 && errno == ENOTSOCK) {
            n = read(read_fd, got, 64);
        }
        assert_true(n > 0 && n % 64 == 0);
        for (ssize_t i = 0; i < n; i += 64) {
            assert_int_equal(strtoull(got + i, NULL, 10), seen++);
        }
        received += (size_t)n;
        assert_true(hb_output_flush(p->o, NULL) >= 0);
    }
    assert_int_equal(p->done[1], total);
    assert_int_equal(hb_output_pending(p->o), 0);
}

static void a_pipe_that_is_not_read_never_blocks(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    slow_reader(p, p->out[0]);
}

static void a_socket_that_is_not_read_never_blocks(void **state)
{
    struct place *p = *state;
    int pair[2];

    assert_int_equal(hb_fd_socketpair(pair, NULL), 0);
    start(p, (struct hb_output_config){.out_fd = pair[1]});
    slow_reader(p, pair[0]);
    hb_output_destroy(p->o);
    p->o = NULL;
    close(pair[0]);
    close(pair[1]);
}

static void the_shared_descriptor_stays_blocking(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    assert_int_equal(fcntl(p->out[1], F_GETFL) & O_NONBLOCK, 0);
}

static void a_large_piece_goes_whole(void **state)
{
    struct place *p = *state;
    char *data = hb_xcalloc(1, 300000), *got;

    memset(data, 'x', 299999);
    start(p, (struct hb_output_config){0});
    assert_int_equal(put_bytes(p, 2, 1, data, 299999), 0);
    put(p, 2, 1, "end\n");
    got = hb_xmalloc(300003);
    for (size_t n = 0; n < 300003;) {
        ssize_t some = read(p->out[0], got + n, 300003 - n);

        assert_true(some > 0);
        n += (size_t)some;
        assert_true(hb_output_flush(p->o, NULL) >= 0);
    }
    assert_memory_equal(got, data, 299999);
    assert_memory_equal(got + 299999, "end\n", 4);
    assert_int_equal(p->done[2], 300003);
    free(got);
    free(data);
}

static void drain_gives_up_in_time(void **state)
{
    struct place *p = *state;
    char *data = hb_xcalloc(1, 1 << 20);

    start(p, (struct hb_output_config){0});
    put_bytes(p, 0, 1, data, 1 << 20);
    assert_int_equal(hb_output_drain(p->o, 20, NULL), 1);
    free(data);
}

/* --- places that fail -------------------------------------------- */

static void a_reader_that_is_gone_is_told_once(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    hb_fd_close(&p->out[0]);
    put(p, 1, 1, "lost\n");
    assert_int_equal(hb_output_flush(p->o, &p->error), HPCBOOT_ERR_CLOSED);
    assert_string_equal(p->error.text,
                        "standard output cannot be written: Broken pipe");
    assert_int_equal(put(p, 1, 1, "lost too\n"), 0);
    assert_int_equal(hb_output_flush(p->o, NULL), 0);
    assert_int_equal(p->done[1], 14);
    put(p, 0, 2, "heard\n");
    expect(p, 2, "heard\n");
}

/* The launcher's own words are the first to meet it. */
static void what_is_lost_after_own_words_is_told_once(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    hb_fd_close(&p->err[0]);
    hb_output_say(p->o, "own\n", 4);
    assert_int_equal(hb_output_flush(p->o, &p->error), 0);
    assert_int_equal(put(p, 0, 1, "heard\n"), 0);
    assert_int_equal(put(p, 1, 2, "lost\n"), HPCBOOT_ERR_CLOSED);
    assert_string_equal(p->error.text,
                        "standard error cannot be written: Broken pipe");
    assert_int_equal(put(p, 1, 2, "lost too\n"), 0);
    assert_int_equal(p->done[1], 14);
    expect(p, 1, "heard\n");
}

static void what_is_lost_with_own_words_is_told_once(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){0});
    hb_fd_close(&p->err[0]);
    put(p, 1, 2, "lost\n");
    hb_output_say(p->o, "own\n", 4);
    assert_int_equal(p->done[1], 5);
    assert_int_equal(hb_output_flush(p->o, &p->error), HPCBOOT_ERR_CLOSED);
    assert_int_equal(hb_output_flush(p->o, NULL), 0);
}

static void a_full_disk_names_the_file(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.out_pattern = "/dev/full"});
    assert_int_equal(put(p, 1, 1, "lost\n"), HPCBOOT_ERR_SYSTEM);
    assert_string_equal(p->error.text,
                        "the output file /dev/full cannot be written: No "
                        "space left on device; make room there, or use "
                        "another place");
    assert_int_equal(p->error.sys_errno, ENOSPC);
    assert_int_equal(put(p, 1, 1, "lost too\n"), 0);
    assert_int_equal(p->done[1], 14);
}

static void a_full_disk_behind_standard_output_is_told(void **state)
{
    struct place *p = *state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    start(p, (struct hb_output_config){.out_fd = fd});
    assert_int_equal(put(p, 1, 1, "lost\n"), HPCBOOT_ERR_SYSTEM);
    assert_int_equal(p->error.sys_errno, ENOSPC);
    close(fd);
}

static void a_directory_that_cannot_be_made_is_told_at_once(void **state)
{
    struct place *p = *state;
    const struct hb_output_config c = {
        .out_fd = p->out[1], .err_fd = p->err[1], .n_ranks = 2, .n_first = 2,
        .dir = "/dev/null/x",
    };

    assert_int_equal(hb_output_create(&p->o, &c, &p->error),
                     HPCBOOT_ERR_SYSTEM);
    assert_null(p->o);
    assert_string_equal(p->error.text, "the directory /dev/null/x cannot be "
                                       "made: Not a directory");
}

/* --- files ------------------------------------------------------- */

static void a_later_rank_empties_no_file_of_events(void **state)
{
    struct place *p = *state;
    char *events = hb_xasprintf("%s/1", p->dir);
    char *each = hb_xasprintf("%s/%%r", p->dir);

    assert_int_equal(close(creat(events, 0600)), 0);
    start(p, (struct hb_output_config){.n_first = 1, .out_pattern = each,
                                       .own_files = {events}});
    assert_int_equal(put(p, 1, 1, "out\n"), HPCBOOT_ERR_USAGE);
    free(events);
    free(each);
}

static void files_as_open_mpi_names_them(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.dir = p->dir, .n_ranks = 10});
    put(p, 3, 1, "out\n");
    put(p, 3, 2, "err\n");
    put(p, 3, 1, "more");
    expect(p, 1, "out\nmore");
    expect_file(p, "1/rank.03/stdout", "out\nmore");
    expect_file(p, "1/rank.03/stderr", "err\n");
}

static void files_only_and_labelled(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.dir = p->dir, .dir_only = 1,
                                       .dir_no_job = 1,
                                       .tag = HB_TAG_HYDRA});
    put(p, 0, 1, "a");
    put(p, 1, 1, "b\n");
    put(p, 0, 1, "c\n");
    expect(p, 1, "");
    expect_file(p, "rank.0/stdout", "[0] ac\n");
    assert_int_equal(p->done[0], 3);
}

static void patterns_name_files(void **state)
{
    struct place *p = *state;
    char *each = hb_xasprintf("%s/r%%r%%%%", p->dir);
    char *all = hb_xasprintf("%s/all", p->dir);

    start(p, (struct hb_output_config){.out_pattern = each,
                                       .err_pattern = all});
    free(memset(each, 0, 1)); /* the object has its own copies */
    free(memset(all, 0, 1));
    put(p, 0, 1, "zero\n");
    put(p, 2, 1, "two\n");
    put(p, 0, 2, "e0\n");
    put(p, 2, 2, "e2\n");
    expect(p, 1, "");
    expect_file(p, "r0%", "zero\n");
    expect_file(p, "r2%", "two\n");
    expect_file(p, "all", "e0\ne2\n");
}

static void both_streams_share_a_file(void **state)
{
    struct place *p = *state;
    char *all = hb_xasprintf("%s/all", p->dir);

    start(p, (struct hb_output_config){.out_pattern = all,
                                       .err_pattern = all});
    put(p, 0, 1, "out\n");
    put(p, 1, 2, "err\n");
    expect_file(p, "all", "out\nerr\n");
    free(all);
}

static void labels_in_a_file_that_ranks_share(void **state)
{
    struct place *p = *state;
    char *all = hb_xasprintf("%s/all", p->dir);

    start(p, (struct hb_output_config){.out_pattern = all, .err_pattern = all,
                                       .tag = HB_TAG_HYDRA});
    put(p, 0, 1, "a");
    put(p, 1, 1, "b");
    put(p, 1, 1, "b\nbb");
    put(p, 1, 2, "e\n");
    put(p, 0, 1, "c\n");
    expect_file(p, "all", "[0] a\n[1] bb\n[1] bb\n[1] e\n[0] c\n");
    free(all);
}

/* More ranks than files that are open at a time, each written twice. */
static void more_files_than_descriptors(void **state)
{
    struct place *p = *state;

    start(p, (struct hb_output_config){.dir = p->dir, .dir_only = 1,
                                       .n_ranks = 200});
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t rank = 0; rank < 200; rank++) {
            assert_int_equal(put(p, rank, 1, round ? "b\n" : "a\n"), 0);
        }
    }
    expect_file(p, "1/rank.000/stdout", "a\nb\n");
    expect_file(p, "1/rank.199/stdout", "a\nb\n");
}

int main(void)
{
#define IN_PLACE(f) \
    cmocka_unit_test_setup_teardown(f, place_create, place_destroy)
    const struct CMUnitTest tests[] = {
        IN_PLACE(bytes_pass_unharmed),
        IN_PLACE(openmpi_labels),
        IN_PLACE(hydra_and_srun_labels),
        IN_PLACE(a_line_in_pieces_has_one_label),
        IN_PLACE(pieces_of_ranks_do_not_mix_in_a_line),
        IN_PLACE(streams_in_one_place_do_not_mix_in_a_line),
        IN_PLACE(order_is_kept_where_both_streams_are_one),
        IN_PLACE(times_are_those_of_the_source),
        IN_PLACE(a_file_need_not_be_flushed),
        IN_PLACE(a_rank_that_is_not_there_is_refused),
        IN_PLACE(a_pipe_that_is_not_read_never_blocks),
        IN_PLACE(a_socket_that_is_not_read_never_blocks),
        IN_PLACE(the_shared_descriptor_stays_blocking),
        IN_PLACE(a_large_piece_goes_whole),
        IN_PLACE(drain_gives_up_in_time),
        IN_PLACE(a_reader_that_is_gone_is_told_once),
        IN_PLACE(what_is_lost_after_own_words_is_told_once),
        IN_PLACE(what_is_lost_with_own_words_is_told_once),
        IN_PLACE(a_full_disk_names_the_file),
        IN_PLACE(a_full_disk_behind_standard_output_is_told),
        IN_PLACE(a_directory_that_cannot_be_made_is_told_at_once),
        IN_PLACE(a_later_rank_empties_no_file_of_events),
        IN_PLACE(files_as_open_mpi_names_them),
        IN_PLACE(files_only_and_labelled),
        IN_PLACE(patterns_name_files),
        IN_PLACE(both_streams_share_a_file),
        IN_PLACE(labels_in_a_file_that_ranks_share),
        IN_PLACE(more_files_than_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
