/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_KUBEAPI_H
#define HB_TESTS_UNIT_KUBEAPI_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/gang_pod.h"
#include "tests/unit/tree.h"

/* tests/fakes/kubeapi.py as a child, and a pod that may ask it. */
#define ACCOUNT "var/run/secrets/kubernetes.io/serviceaccount/"

static char server_dir[256]; /* ca.crt, plan.json, log */
static char pod_root[256];
static unsigned server_port;
static pid_t server_pid;
static int server_stdin = -1;

static inline int server_is_possible(void)
{
    if (system("python3 -c 'import ssl' && command -v openssl > /dev/null") ==
        0) {
        return 1;
    }
    printf("1..0 # SKIP python3 or openssl is not installed\n");
    return 0;
}

static inline char *server_file(const char *name)
{
    char *path = hb_xasprintf("%s/%s", server_dir, name), *text;
    FILE *f = fopen(path, "re");
    size_t n;

    free(path);
    if (f == NULL) {
        return hb_xstrdup("");
    }
    text = hb_xcalloc(1, 1 << 20);
    n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

/* Starts the server and reads its port; nonzero where it cannot run. */
static inline int server_start(void)
{
    const char *src = getenv("HB_SRCDIR");
    char *script = hb_xasprintf("%s/tests/fakes/kubeapi.py",
                                src != NULL ? src : ".");
    int in[2], out[2];
    char line[16] = "";
    size_t len = 0;
    ssize_t n;

    tree_create(server_dir, sizeof(server_dir));
    if (pipe(in) != 0 || pipe(out) != 0) {
        return -1;
    }
    server_pid = fork();
    if (server_pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execlp("python3", "python3", script, server_dir, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    server_stdin = in[1];
    /* Its line may come in pieces, and it minds when nobody reads the last. */
    do {
        n = read(out[0], line + len, sizeof(line) - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && strchr(line, '\n') == NULL);
    close(out[0]);
    free(script);
    server_port = (unsigned)strtoul(line, NULL, 10);
    return server_port > 0 ? 0 : -1;
}

static inline void server_stop(void)
{
    close(server_stdin);
    kill(server_pid, SIGTERM);
    waitpid(server_pid, NULL, 0);
    tree_remove(server_dir);
}

/* What the server answers from now on; its log is empty again. */
static inline void plan(const char *json)
{
    char *from = hb_xasprintf("%s/plan.new", server_dir);
    char *to = hb_xasprintf("%s/plan.json", server_dir);

    /* Another file each time: the old one is kept until the new one is. */
    tree_write(server_dir, "plan.new", json);
    if (rename(from, to) != 0) {
        abort();
    }
    tree_write(server_dir, "log", "");
    free(from);
    free(to);
}

/* A pod of namespace hpc, called `name`. */
static inline void pod_create(const char *name)
{
    char *ca = server_file("ca.crt"), *hosts;

    tree_create(pod_root, sizeof(pod_root));
    tree_write(pod_root, ACCOUNT "ca.crt", ca);
    tree_write(pod_root, ACCOUNT "token", "good\n");
    tree_write(pod_root, ACCOUNT "namespace", "hpc");
    tree_write(pod_root, "etc/hostname", name);
    hosts = hb_xasprintf("127.0.0.1 localhost\n10.0.0.0 %s\n", name);
    tree_write(pod_root, "etc/hosts", hosts);
    free(hosts);
    free(ca);
}

static inline char *pod_env(const char *more)
{
    return hb_xasprintf("KUBERNETES_SERVICE_HOST=127.0.0.1 "
                        "KUBERNETES_SERVICE_PORT=%u %s", server_port, more);
}

/* For all tests of a program. */
static inline int server_setup(void **state)
{
    (void)state;
    use_built_modules();
    return server_start();
}

static inline int server_teardown(void **state)
{
    (void)state;
    server_stop();
    return 0;
}

#endif
