/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What is found out by trying, each in a child of its own, so that a resolver
 * that hangs or a library that crashes costs at most PROBE_MS: may ranks read
 * each other's memory, does this host know its own name, which UCX is there
 * and which transports does it see, and what are the program and its libraries.
 *
 * A child writes its answer to a pipe and ends; what it wrote until then
 * counts. */

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/doctor/impl.h"
#include "bin/pm/elf.h"
#include "bin/proc/search.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define PROBE_MS 2000
#define ANSWER_MAX (64u << 10)
#define PIECE_BYTES (16u << 10) /* on the stack, which may be small */
#define HASHED_MAX (512u << 20) /* of one file; then its size must do */
#define NOT_ASKED (-2)          /* no child could be made: nothing is known */

extern char **environ;

/* Runs `probe` in a child whose stdout is the answer; free() it. *status_out:
 * as waitpid gives it, -1 where the time was over; or NOT_ASKED. */
static char *ask(void (*probe)(const void *arg), const void *arg,
                 int *status_out)
{
    struct hb_str answer = HB_STR_INIT;
    int64_t until = hb_now_ns() + PROBE_MS * INT64_C(1000000);
    int fds[2] = {-1, -1}, open = 1;
    pid_t pid = hb_fd_pipe(fds, NULL) < 0 ? -1 : fork();

    *status_out = pid < 0 ? NOT_ASKED : -1;
    if (pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        probe(arg);
        fflush(stdout);
        _exit(0);
    }
    hb_fd_close(&fds[1]);
    while (pid > 0 && open && answer.len < ANSWER_MAX) {
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        int64_t left = (until - hb_now_ns()) / 1000000;
        char piece[4096];
        ssize_t n;

        if (left <= 0 || poll(&p, 1, (int)left) <= 0) {
            break;
        }
        n = read(fds[0], piece, sizeof piece);
        if (n > 0) {
            hb_str_putn(&answer, piece, (size_t)n);
        }
        open = n > 0;
    }
    hb_fd_close(&fds[0]);
    if (pid > 0) {
        int status = 0;

        if (open) {
            kill(pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        *status_out = open ? -1 : status;
    }
    hb_str_put(&answer, "");
    return hb_str_steal(&answer);
}

/* --- memory of other ranks ----------------------------------------------- */

struct reading {
    int as_libhpcboot; /* whoever has the same parent is let in */
    pid_t of;          /* as struct hb_exam's neighbour */
};

/* -1 where there may be no more processes. */
static pid_t start_sibling(int as_libhpcboot)
{
    pid_t pid, self = getpid();
    int ready[2] = {-1, -1};
    char none;

    (void)hb_fd_pipe(ready, NULL);
    pid = fork();
    if (pid == 0) {
        if (as_libhpcboot) {
            (void)prctl(PR_SET_PTRACER, (unsigned long)self, 0, 0, 0);
        }
        hb_fd_close(&ready[1]);
        pause();
        _exit(0);
    }
    hb_fd_close(&ready[1]);
    (void)!read(ready[0], &none, 1); /* until it is closed */
    hb_fd_close(&ready[0]);
    return pid;
}

/* Ranks are siblings: one process reads the memory of another that is not
 * below it. Both are copies of this one, so that the byte is at one place. */
static void read_sibling(const void *arg)
{
    static char mine = 1;
    const struct reading *r = arg;
    char here = 0;
    struct iovec to = {&here, 1}, from = {&mine, 1};
    pid_t reader, other = r->of > 0 ? r->of : start_sibling(r->as_libhpcboot);
    int status = 0;

    if (other < 0) {
        return; /* and nothing can be said; -1 is everybody to kill() */
    }
    reader = fork();
    if (reader == 0) {
        _exit(process_vm_readv(other, &to, 1, &from, 1, 0) == 1 ? 0 : errno);
    }
    if (reader > 0) {
        (void)waitpid(reader, &status, 0);
        printf("%d", WIFEXITED(status) ? WEXITSTATUS(status) : EPERM);
    }
    if (r->of <= 0) {
        kill(other, SIGKILL);
        (void)waitpid(other, NULL, 0);
    }
}

static int sibling_errno(int as_libhpcboot, pid_t of)
{
    struct reading r = {as_libhpcboot, of};
    int status;
    char *answer = ask(read_sibling, &r, &status);
    int why = status == 0 ? (int)strtol(answer, NULL, 10) : 0;

    free(answer);
    return why;
}

int hb_exam_ranks_read(void)
{
    return sibling_errno(1, 0);
}

static void try_cma(struct look *l)
{
    int why = sibling_errno(0, l->e->neighbour);
    char *scope, *mend;

    if (why != 0) {
        scope = look_file(l, "/proc/sys/kernel/yama/ptrace_scope");
        scope[strcspn(scope, "\n")] = '\0';
        mend = hb_xasprintf("sysctl kernel.yama.ptrace_scope=0 on the node "
                            "(it is %s), or the capability SYS_PTRACE in the "
                            "pod's spec", *scope != '\0' ? scope : "not set");
        look_found(l, HB_GRADE_DEGRADED, "cma",
                   "large messages between ranks of a host are copied twice, "
                   "and older MPIs fail over it", mend,
                   "ranks may not read each other's memory: %s",
                   strerror(why));
        free(mend);
        free(scope);
    }
}

/* --- names --------------------------------------------------------------- */

/* Can be bound to only where it is an address of this host. */
static int is_here(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int here = fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) == 0 ||
               errno != EADDRNOTAVAIL;

    hb_fd_close(&fd);
    return here;
}

/* Prints the name, and behind a blank what is wrong with it. */
static void resolve_self(const void *arg)
{
    char name[256] = "", address[64] = "";
    struct addrinfo *list = NULL;
    int rc, here = 0;

    (void)arg;
    if (gethostname(name, sizeof name - 1) != 0) {
        return;
    }
    rc = getaddrinfo(name, NULL, NULL, &list);
    if (rc != 0) {
        printf("%s does not resolve: %s", name, gai_strerror(rc));
        return;
    }
    for (const struct addrinfo *a = list; a != NULL && !here; a = a->ai_next) {
        here = is_here(a);
    }
    if (here) {
        printf("%s ", name);
        return;
    }
    (void)getnameinfo(list->ai_addr, list->ai_addrlen, address, sizeof address,
                      NULL, 0, NI_NUMERICHOST);
    printf("%s is %s, which is no address of this host", name, address);
}

static void try_names(struct look *l)
{
    int status;
    char *answer = ask(resolve_self, NULL, &status);
    char *fault = strchr(answer, ' ');

    if (status != NOT_ASKED &&
        (status != 0 || (fault != NULL && fault[1] != '\0'))) {
        look_found(l, HB_GRADE_DEGRADED, "dns",
                   "rendezvous of torch, Gloo and some MPIs look up the "
                   "host's own name, and hang or fail",
                   "give the pod a headless service, or the host a line in "
                   "/etc/hosts", "its own name %s",
                   status != 0 ? "does not resolve within 2 s" : answer);
    }
    free(answer);
}

/* --- UCX ----------------------------------------------------------------- */

static void ucx_version(const void *arg)
{
    void *lib = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;

    (void)arg;
    if (lib != NULL) {
        *(void **)&version = dlsym(lib, "ucp_get_version_string");
    }
    if (version != NULL) {
        printf("%s", version());
    }
    if (lib != NULL) {
        dlclose(lib);
    }
}

static void ucx_transports(const void *arg)
{
    (void)arg;
    (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    (void)execlp("ucx_info", "ucx_info", "-d", (char *)NULL);
}

/* Each name behind "Transport:" once, "posix sysv tcp". */
static char *transports_in(const char *text)
{
    struct hb_str o = HB_STR_INIT;

    for (const char *p = text; (p = strstr(p, "Transport: ")) != NULL;) {
        size_t len;
        char *name;

        p += strlen("Transport: ");
        len = strcspn(p, " \n");
        name = hb_xasprintf(" %.*s ", (int)len, p);
        if (strstr(hb_str_text(&o), name) == NULL) {
            hb_str_put(&o, name);
        }
        free(name);
    }
    hb_str_put(&o, "");
    return hb_str_steal(&o);
}

static void try_ucx(struct look *l)
{
    int status;
    char *version = ask(ucx_version, NULL, &status), *text, *seen;

    if (status != NOT_ASKED) {
        hb_strv_pushf(l->facts, "UCX=%s",
                      version[0] != '\0' ? version : "none");
    }
    free(version);
    text = ask(ucx_transports, NULL, &status);
    seen = transports_in(text);
    if (seen[0] != '\0') {
        hb_strv_pushf(l->facts, "UCX transports=%s", seen);
        if (look_has_rdma(l) && strstr(seen, " rc_") == NULL &&
            strstr(seen, " dc_") == NULL) {
            look_found(l, HB_GRADE_DEGRADED, "ucx",
                       "MPIs on UCX run over TCP although there is RDMA",
                       "see what ucx_info -d complains of; a UCX without "
                       "verbs lacks the package of its InfiniBand part",
                       "UCX sees no RDMA transport, but%s", seen);
        }
    }
    free(seen);
    free(text);
}

/* --- programs ------------------------------------------------------------ */

/* FNV-1a: to tell builds apart, not to prove anything. */
static uint64_t hash_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t h = 0xcbf29ce484222325u, done = 0;
    unsigned char piece[PIECE_BYTES];
    ssize_t n;

    while (fd >= 0 && done < HASHED_MAX &&
           (n = read(fd, piece, sizeof piece)) > 0) {
        done += (uint64_t)n;
        for (ssize_t i = 0; i < n; i++) {
            h = (h ^ piece[i]) * 0x100000001b3u;
        }
    }
    hb_fd_close(&fd);
    return h;
}

/* As ldd does it: the dynamic linker names what it would load. */
static void list_libraries(const void *arg)
{
    char *const argv[] = {(char *)arg, NULL};

    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    (void)execv(arg, argv);
}

static void put_file(struct look *l, const char *path)
{
    hb_strv_pushf(l->facts, "contents of %s=%016llx", path,
                  (unsigned long long)hash_file(path));
}

static void try_libraries(struct look *l, const char *program)
{
    struct hb_elf elf = {0};
    int status, dynamic = hb_elf_open(&elf, program, NULL) >= 0 &&
                          elf.is_dynamic && elf.needed.n > 0;
    char *text, *save = NULL;

    hb_elf_destroy(&elf);
    if (!dynamic) {
        return; /* a script, or one that would run */
    }
    text = ask(list_libraries, program, &status);
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *path = strstr(line, " => "), *end;

        if (path != NULL && strstr(path, "not found") != NULL) {
            path[0] = '\0';
            look_found(l, HB_GRADE_BAD, "program",
                       "it cannot start here",
                       "install the library, or let LD_LIBRARY_PATH lead to "
                       "it", "%s needs a library that is not here: %s",
                       program, line + strspn(line, " \t"));
        } else if (path != NULL && (end = strstr(path, " (")) != NULL) {
            *end = '\0';
            put_file(l, path + 4);
        }
    }
    free(text);
}

static void try_program(struct look *l, const char *name)
{
    struct hb_strv paths = HB_STRV_INIT;
    struct stat st;
    size_t i = 0;

    hb_search_paths(name, environ, &paths);
    while (i < paths.n && (stat(paths.v[i], &st) != 0 ||
                           !S_ISREG(st.st_mode) ||
                           access(paths.v[i], X_OK) != 0)) {
        i++;
    }
    if (i == paths.n) {
        look_found(l, HB_GRADE_BAD, "program", "its ranks cannot start here",
                   "install it, give its path, or copy it with "
                   "--preload-binary", "%s is not found, or may not be run",
                   name);
    } else {
        put_file(l, paths.v[i]);
        try_libraries(l, paths.v[i]);
    }
    hb_strv_destroy(&paths);
}

void look_by_trying(struct look *l)
{
    try_cma(l);
    try_names(l);
    try_ucx(l);
    for (char *const *p = l->e->programs; p != NULL && *p != NULL; p++) {
        try_program(l, *p);
    }
}
