/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Runs a program from which the kernel refuses system calls, as the seccomp
 * profile of a container does: refuse CALL[,CALL...] COMMAND...
 * Status 77: no filter can be set here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 8
#define CANNOT 77

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"sendmsg", SYS_sendmsg}, {"recvmsg", SYS_recvmsg},
    {"mbind", SYS_mbind}, {"set_mempolicy", SYS_set_mempolicy},
    {"get_mempolicy", SYS_get_mempolicy},
    {"sched_setaffinity", SYS_sched_setaffinity}, {"accept4", SYS_accept4},
    {"wait4", SYS_wait4}, {"fcntl", SYS_fcntl}, {"getrandom", SYS_getrandom},
    {"epoll_pwait", SYS_epoll_pwait}, {"epoll_pwait2", SYS_epoll_pwait2},
#ifdef SYS_epoll_wait
    {"epoll_wait", SYS_epoll_wait},
#else
    {"epoll_wait", SYS_epoll_pwait},
#endif
};

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return (int)calls[i].number;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct sock_filter f[2 * MAX_CALLS + 2] = {BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.filter = f};
    unsigned short n = 1;

    if (argc < 3) {
        return 2;
    }
    for (char *name = strtok(argv[1], ","); name != NULL;
         name = strtok(NULL, ",")) {
        if (number_of(name) < 0 || n > 2 * (MAX_CALLS - 1)) {
            fprintf(stderr, "refuse: %s\n", name);
            return 2;
        }
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                              (unsigned)number_of(name), 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("refuse");
        return CANNOT;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
