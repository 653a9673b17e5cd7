/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reads /proc/PID/stat, proc(5). The second field is the process's name in
 * parentheses, up to 15 bytes that the process chooses, ')' and blanks among
 * them; so the fields after it are found from the last ')'. */
#include "config.h"

#include "bin/proc/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The line has 52 numbers; all that is wanted stands in the first 22. */
#define STAT_BYTES 1024

/* Fields by their number in proc(5). */
#define FIELD_STATE 3
#define FIELD_PPID 4
#define FIELD_THREADS 20
#define FIELD_STARTTIME 22

/* The next blank-separated word at *at, NUL-terminated in place; or NULL. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");

    if (*word == '\0') {
        return NULL;
    }
    *at = word + strcspn(word, " \n");
    if (**at != '\0') {
        *(*at)++ = '\0';
    }
    return word;
}

int hb_procfs_parse_stat(const char *text, size_t len,
                         struct hb_procfs_stat *out)
{
    struct hb_procfs_stat st = {0};
    char copy[STAT_BYTES];
    char *at, *word;

    len = len < sizeof(copy) - 1 ? len : sizeof(copy) - 1;
    memcpy(copy, text, len);
    copy[len] = '\0';
    st.pid = (pid_t)strtol(copy, NULL, 10);
    at = memrchr(copy, ')', len);
    if (st.pid <= 0 || at == NULL) {
        return -1;
    }
    at++;
    for (int field = FIELD_STATE; field <= FIELD_STARTTIME; field++) {
        word = next_word(&at);
        if (word == NULL) {
            return -1;
        }
        if (field == FIELD_STATE) {
            st.state = word[0];
        } else if (field == FIELD_PPID) {
            st.ppid = (pid_t)strtol(word, NULL, 10);
        } else if (field == FIELD_THREADS) {
            st.threads = (int)strtol(word, NULL, 10);
        } else if (field == FIELD_STARTTIME) {
            st.starttime = strtoull(word, NULL, 10);
        }
    }
    *out = st;
    return 0;
}

int hb_procfs_read_stat(const char *proc, pid_t pid,
                        struct hb_procfs_stat *out)
{
    char path[256], text[STAT_BYTES];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    n = read(fd, text, sizeof(text));
    close(fd);
    return n > 0 ? hb_procfs_parse_stat(text, (size_t)n, out) : -1;
}
