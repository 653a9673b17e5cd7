/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Descriptors and small files. Every descriptor made here is close-on-exec
 * at birth: a rank inherits exactly what was chosen for it.
 *
 * Programs ignore SIGPIPE; a broken pipe is then the error of the write. */
#include "config.h"

#include "lib/base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/str.h"

/* Long enough for whoever makes the FIFO's text to have begun. */
#define FIFO_WAIT_MS 10000
/* How many descriptors are looked at where there is no /proc. */
#define SWEEP_FDS 1024
/* Of Linux 6.15, with what it takes. */
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif
#define AGAIN_LEAST_MS 1000
#define AGAIN_MOST_MS 120000

int hb_fd_fill_standard(struct hpcboot_error *err)
{
    static const int modes[] = {
        [STDIN_FILENO] = O_RDONLY,
        [STDOUT_FILENO] = O_RDONLY, /* a write fails, as it would have */
        [STDERR_FILENO] = O_WRONLY, /* closed by who wants no words */
    };

    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno != EBADF) {
            return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "descriptor %d "
                                 "cannot be looked at (fcntl)", fd);
        }
        /* A new descriptor gets the lowest free number: this one. */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd) {
            return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "descriptor %d is "
                                 "closed and /dev/null cannot be opened", fd);
        }
    }
    return HPCBOOT_OK;
}

unsigned hb_fd_hold_standard(void)
{
    unsigned held = 0;

    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY, got;

        if (fcntl(fd, F_GETFD) < 0) {
            got = open("/dev/null", mode | O_CLOEXEC);
            if (got == fd) {
                held |= 1u << fd;
            } else if (got >= 0) {
                close(got); /* another thread was faster */
            }
        }
    }
    return held;
}

void hb_fd_let_standard_go(unsigned held)
{
    struct stat null, st;

    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if ((held >> fd & 1) != 0 && stat("/dev/null", &null) == 0 &&
            fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
            st.st_rdev == null.st_rdev &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) == mode &&
            (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) {
            close(fd);
        }
    }
}

void hb_fd_close(int *fd)
{
    int saved = errno;

    if (*fd >= 0) {
        close(*fd); /* never again after EINTR: Linux has closed it */
        *fd = -1;
    }
    errno = saved;
}

/* One above the highest that is open. */
static int fd_end(void)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    int end = d == NULL ? SWEEP_FDS : 0;

    while (d != NULL && (e = readdir(d)) != NULL) {
        int fd = atoi(e->d_name);

        end = fd >= end ? fd + 1 : end;
    }
    if (d != NULL) {
        closedir(d);
    }
    return end;
}

void hb_fd_close_as_exec(int keep)
{
    int end = fd_end();

    for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
        int flags = fd == keep ? -1 : fcntl(fd, F_GETFD);

        if (flags >= 0 && (flags & FD_CLOEXEC) != 0) {
            close(fd);
        }
    }
}

/* Sets or clears one flag by the F_GET.../F_SET... pair it belongs to. */
static int change_flag(int fd, int get, int set, int flag, int on)
{
    int flags = fcntl(fd, get);

    if (flags < 0) {
        return -1;
    }
    return fcntl(fd, set, on ? flags | flag : flags & ~flag);
}

int hb_fd_set_nonblock(int fd, int on, struct hpcboot_error *err)
{
    if (change_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot change blocking of descriptor %d", fd);
    }
    return HPCBOOT_OK;
}

int hb_fd_set_cloexec(int fd, int on, struct hpcboot_error *err)
{
    if (change_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot change "
                             "inheritance of descriptor %d", fd);
    }
    return HPCBOOT_OK;
}

int hb_fd_pipe(int out[2], struct hpcboot_error *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot make a pipe");
    }
    memcpy(out, fds, sizeof(fds));
    return HPCBOOT_OK;
}

/* By its number in /dev/pts; it becomes nobody's controlling terminal. */
static int open_other_end(int fd)
{
    char name[64];

    if (grantpt(fd) < 0 || unlockpt(fd) < 0 ||
        ptsname_r(fd, name, sizeof name) != 0) {
        return -1;
    }
    return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int hb_fd_terminal(int out[2], struct hpcboot_error *err)
{
    int fds[2] = {posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), -1};
    struct termios as;

    if (fds[0] >= 0) {
        fds[1] = open_other_end(fds[0]);
    }
    if (fds[1] < 0 || tcgetattr(fds[1], &as) < 0) {
        goto failed;
    }
    cfmakeraw(&as);
    if (tcsetattr(fds[1], TCSANOW, &as) < 0) {
        goto failed;
    }
    memcpy(out, fds, sizeof(fds));
    return HPCBOOT_OK;
failed:
    (void)hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot make a terminal for "
                        "a rank's output (--unbuffered), which takes /dev/ptmx "
                        "and /dev/pts");
    hb_fd_close(&fds[1]);
    hb_fd_close(&fds[0]);
    return HPCBOOT_ERR_SYSTEM;
}

int hb_fd_socketpair(int out[2], struct hpcboot_error *err)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot make a socket pair");
    }
    memcpy(out, fds, sizeof(fds));
    return HPCBOOT_OK;
}

/* No descriptor: the system looks at it after its filters. */
int hb_fd_listen(int fd, int backlog)
{
    if (accept4(-1, NULL, NULL, SOCK_CLOEXEC) < 0 && errno != EBADF) {
        return -1;
    }
    return listen(fd, backlog);
}

static int wait_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

void hb_fd_send_again(int fd, int64_t most_ms)
{
    int ms = most_ms < AGAIN_LEAST_MS ? AGAIN_LEAST_MS
             : most_ms > AGAIN_MOST_MS ? AGAIN_MOST_MS : (int)most_ms;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, sizeof ms);
}

static ssize_t put(int fd, const void *data, size_t len)
{
    return write(fd, data, len);
}

static ssize_t put_quietly(int fd, const void *data, size_t len)
{
    return send(fd, data, len, MSG_NOSIGNAL);
}

static int put_all(int fd, ssize_t (*some)(int, const void *, size_t),
                   const void *data, size_t len, struct hpcboot_error *err)
{
    const char *next = data;
    ssize_t n;

    while (len > 0) {
        n = some(fd, next, len);
        if (n >= 0) {
            next += n;
            len -= (size_t)n;
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN || wait_writable(fd) < 0) {
            return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                                 "cannot write to descriptor %d", fd);
        }
    }
    return HPCBOOT_OK;
}

int hb_fd_write_all(int fd, const void *data, size_t len,
                    struct hpcboot_error *err)
{
    return put_all(fd, put, data, len, err);
}

int hb_fd_send_all(int fd, const void *data, size_t len,
                   struct hpcboot_error *err)
{
    return put_all(fd, put_quietly, data, len, err);
}

uint64_t hb_fd_file_most(void)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) < 0 ||
                   most.rlim_cur == RLIM_INFINITY
               ? UINT64_MAX : most.rlim_cur;
}

/* Of a FIFO that was opened without waiting and has nothing to read: 1 when
 * somebody writes to it now or has done so, 0 when it is something else. */
static int await_writer(int fd, const char *path, struct hpcboot_error *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct stat st;
    int n;

    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode)) {
        return 0;
    }
    do {
        n = poll(&p, 1, FIFO_WAIT_MS);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "cannot read %s: it is a "
                       "FIFO, and nobody has written to it for %d s", path,
                       FIFO_WAIT_MS / 1000);
    }
    return 1;
}

/* What to do after a read that gave nothing: 1 read on, 0 the end. */
static int nothing_read(int fd, const char *path, int *waited, ssize_t n,
                        struct hpcboot_error *err)
{
    int rc = 1;

    if (n < 0 && errno != EAGAIN) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot read %s", path);
    }
    if (n == 0) {
        rc = *waited ? 0 : await_writer(fd, path, err);
    }
    if (rc == 1) {
        *waited = 1;
        rc = hb_fd_set_nonblock(fd, 0, err) < 0 ? HPCBOOT_ERR_SYSTEM : 1;
    }
    return rc;
}

/* Reads to the end: files of /proc have no size to ask for. One byte more
 * than allowed is room enough to tell "full" from "too large". */
static int read_to_end(int fd, const char *path, int waited, size_t max_bytes,
                       struct hb_buf *b, struct hpcboot_error *err)
{
    const size_t step = 4096;
    int rc;
    size_t want;
    ssize_t n;

    while (b->len <= max_bytes) {
        want = max_bytes + 1 - b->len;
        want = want < step ? want : step;
        if (hb_buf_reserve(b, want) == NULL) {
            return hb_fail(err, HPCBOOT_ERR_NOMEM,
                           "cannot read %s: out of memory", path);
        }
        do {
            n = read(fd, b->data + b->len, want);
        } while (n < 0 && errno == EINTR);
        if (n > 0) {
            hb_buf_added(b, (size_t)n);
            waited = 1; /* there is a writer, or it is no FIFO */
            continue;
        }
        rc = nothing_read(fd, path, &waited, n, err);
        if (rc <= 0) {
            return rc;
        }
    }
    return hb_fail(err, HPCBOOT_ERR_LIMIT, "cannot read %s: it is larger than "
                   "%zu bytes", path, max_bytes);
}

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Whose a file has to be; see the functions that the header has. */
enum whose { ANYONES, ANYONES_NOW, OWN, PLACED };

/* Debian and others give each user a group of the same name, and a umask that
 * lets it write. Who has it as the first group is not looked for: that takes
 * reading all of passwd, wherever that is. */
static int is_own_group(const struct stat *st)
{
    const struct passwd *pw = getpwuid(st->st_uid);
    char *name = pw ? hb_xstrdup(pw->pw_name) : NULL;
    const struct group *gr = name ? getgrgid(st->st_gid) : NULL;
    int own = gr && hb_streq(gr->gr_name, name);

    for (size_t i = 0; own && gr->gr_mem[i]; i++) {
        own = hb_streq(gr->gr_mem[i], name);
    }
    free(name);
    return own;
}

static int is_ours(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static int is_own(const struct stat *st, const char *path,
                  struct hpcboot_error *err)
{
    if (!is_ours(st)) {
        return hb_fail(err, HPCBOOT_ERR_AUTH, "%s belongs to uid %u, and this "
                       "is uid %u", path, (unsigned)st->st_uid,
                       (unsigned)geteuid());
    }
    if ((st->st_mode & S_IWOTH)
        || ((st->st_mode & S_IWGRP) && !is_own_group(st))) {
        return hb_fail(err, HPCBOOT_ERR_AUTH, "%s may be written by others "
                       "than its owner (mode %04o: chmod go-w)", path,
                       (unsigned)st->st_mode & 07777);
    }
    return HPCBOOT_OK;
}

/* The folder is held while the file is opened in it. Links in it that lead out
 * of it are its owner's word, as a mount's are root's. */
static int open_placed(const char *path, struct hpcboot_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? hb_xstrndup(path, (size_t)(slash - path) + 1)
                      : hb_xstrdup(".");
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
    struct stat st;

    if (at >= 0 && fstat(at, &st) == 0 && !is_ours(&st)) {
        hb_fail(err, HPCBOOT_ERR_AUTH, "%s is not used: its folder belongs to "
                "neither root nor uid %u", path, (unsigned)geteuid());
        fd = HPCBOOT_ERR_AUTH;
    } else if (at >= 0) {
        fd = openat(at, slash ? slash + 1 : path, OPEN_FLAGS);
    }
    if (fd == -1) {
        fd = errno == ENOENT ? HPCBOOT_ERR_NOT_FOUND : HPCBOOT_ERR_SYSTEM;
        hb_fail_errno(err, fd, "cannot open %s", path);
    }
    hb_fd_close(&at);
    free(dir);
    return fd;
}

static int is_placed(const struct stat *st, const char *path,
                     struct hpcboot_error *err)
{
    if (!is_ours(st)) {
        return hb_fail(err, HPCBOOT_ERR_AUTH, "%s is not used: it belongs to "
                       "neither root nor uid %u", path, (unsigned)geteuid());
    }
    return S_ISREG(st->st_mode) ? HPCBOOT_OK
        : hb_fail(err, HPCBOOT_ERR_SYSTEM, "%s is not a file", path);
}

/* What is open, not what has the name by now. */
static int is_whose(int fd, const char *path, enum whose whose,
                    struct hpcboot_error *err)
{
    struct stat st;

    if (whose <= ANYONES_NOW) {
        return HPCBOOT_OK;
    }
    if (fstat(fd, &st) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot read %s", path);
    }
    return whose == OWN ? is_own(&st, path, err) : is_placed(&st, path, err);
}

static int open_file(const char *path, enum whose whose,
                     struct hpcboot_error *err)
{
    int fd;

    if (whose == PLACED) {
        return open_placed(path, err);
    }
    fd = open(path, OPEN_FLAGS);
    if (fd < 0) {
        int rc = errno == ENOENT ? HPCBOOT_ERR_NOT_FOUND : HPCBOOT_ERR_SYSTEM;

        return hb_fail_errno(err, rc, "cannot open %s", path);
    }
    return fd;
}

static int read_file(const char *path, enum whose whose, size_t max_bytes,
                     char **data_out, size_t *len_out,
                     struct hpcboot_error *err)
{
    struct hb_buf b;
    int fd = open_file(path, whose, err), rc;

    hb_buf_init(&b, max_bytes + 2); /* see read_to_end, and the NUL */
    if (fd < 0) {
        return fd;
    }
    rc = is_whose(fd, path, whose, err);
    if (rc == HPCBOOT_OK) {
        rc = read_to_end(fd, path, whose == ANYONES_NOW, max_bytes, &b, err);
    }
    if (rc < 0) {
        goto out;
    }
    hb_buf_put_u8(&b, 0);
    if (hb_buf_failed(&b)) {
        rc = hb_fail(err, HPCBOOT_ERR_NOMEM, "cannot read %s: out of memory",
                     path);
        goto out;
    }
    *data_out = (char *)b.data;
    *len_out = b.len - 1;
    hb_buf_init(&b, 0); /* handed over */
out:
    hb_buf_destroy(&b);
    hb_fd_close(&fd);
    return rc;
}

int hb_file_read(const char *path, size_t max_bytes, char **data_out,
                 size_t *len_out, struct hpcboot_error *err)
{
    return read_file(path, ANYONES, max_bytes, data_out, len_out, err);
}

int hb_file_read_now(const char *path, size_t max_bytes, char **data_out,
                     size_t *len_out, struct hpcboot_error *err)
{
    return read_file(path, ANYONES_NOW, max_bytes, data_out, len_out, err);
}

int hb_file_read_own(const char *path, size_t max_bytes, char **data_out,
                     size_t *len_out, struct hpcboot_error *err)
{
    return read_file(path, OWN, max_bytes, data_out, len_out, err);
}

int hb_file_read_placed(const char *path, size_t max_bytes, char **data_out,
                        size_t *len_out, struct hpcboot_error *err)
{
    return read_file(path, PLACED, max_bytes, data_out, len_out, err);
}

/* Where there is no /proc: the name that was executed, seen from the directory
 * in which that happened. */
static char *executed_name(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN);

    return name != NULL ? realpath(name, NULL) : NULL;
}

/* A program that was installed anew while it runs: the new one stands there. */
static char *undeleted(char *path)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(path), end = len - (sizeof mark - 1);

    if (hb_ends_with(path, mark) && access(path, F_OK) < 0) {
        path[end] = '\0';
        if (access(path, X_OK) < 0) {
            path[end] = mark[0];
        }
    }
    return path;
}

char *hb_self_exe(void)
{
    size_t cap = 256;
    char *path = NULL;
    ssize_t n;

    for (;;) {
        path = hb_xrealloc(path, cap);
        n = readlink("/proc/self/exe", path, cap);
        if (n < 0) {
            free(path);
            return executed_name();
        }
        if ((size_t)n < cap) {
            path[n] = '\0';
            return undeleted(path);
        }
        cap *= 2;
    }
}
