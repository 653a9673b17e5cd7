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
#define FIELD_PGRP 5
#define FIELD_SESSION 6
#define FIELD_FLAGS 9
#define FIELD_UTIME 14
#define FIELD_STIME 15
#define FIELD_THREADS 20
#define FIELD_STARTTIME 22

#define FLAG_EXITING 4u /* PF_EXITING, include/linux/sched.h */
#define FLAG_FORKED 0x40u /* PF_FORKNOEXEC */

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

static void put_field(struct hb_procfs_stat *st, int field, const char *word)
{
    unsigned long flags;

    switch (field) {
    case FIELD_STATE:
        st->state = word[0];
        break;
    case FIELD_PPID:
        st->ppid = (pid_t)strtol(word, NULL, 10);
        break;
    case FIELD_PGRP:
        st->pgrp = (pid_t)strtol(word, NULL, 10);
        break;
    case FIELD_SESSION:
        st->session = (pid_t)strtol(word, NULL, 10);
        break;
    case FIELD_FLAGS:
        flags = strtoul(word, NULL, 10);
        st->exits = (flags & FLAG_EXITING) != 0;
        st->is_copy = (flags & FLAG_FORKED) != 0;
        break;
    case FIELD_UTIME:
    case FIELD_STIME:
        st->cpu += strtoull(word, NULL, 10);
        break;
    case FIELD_THREADS:
        st->threads = (int)strtol(word, NULL, 10);
        break;
    case FIELD_STARTTIME:
        st->starttime = strtoull(word, NULL, 10);
        break;
    }
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
        put_field(&st, field, word);
    }
    st.exits = st.exits && st.threads <= 1; /* else its first thread may */
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
