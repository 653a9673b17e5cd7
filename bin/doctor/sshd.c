/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a host's sshd does to those who start jobs: a login worked, or nobody
 * would look, but those of a large gang come all at once, and each counts. The
 * server that let the agent in is found among its ancestors, with the file it
 * was started with; of that file the first value of a keyword holds, as
 * sshd_config(5) says, and what stands in a Match block is not looked at. */

#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bin/doctor/impl.h"
#include "bin/proc/procfs.h"
#include "lib/base/fd.h"

#define DEFAULT_CONFIG "/etc/ssh/sshd_config"
#define ANCESTORS_MAX 64
#define WORDS_MAX 4096u /* of a process */
/* The default; below it the parents of a tree get in each other's way. */
#define STARTUPS_MIN 10u
#define BLANKS " \t\""

/* The words of a process, NULs made blanks; free() it. */
static char *words_of(pid_t pid)
{
    char path[48], *text = NULL;
    size_t len = 0;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    if (hb_file_read(path, WORDS_MAX, &text, &len, NULL) < 0) {
        return hb_xstrdup("");
    }
    for (size_t i = 0; i + 1 < len; i++) {
        text[i] = text[i] == '\0' ? ' ' : text[i];
    }
    return text;
}

/* The listener shows its words: "sshd: /usr/sbin/sshd -De -f FILE [listener]".
 * NULL: no sshd is above this process; free() it. */
static char *config_of_ancestors(void)
{
    struct hb_procfs_stat st;
    char *config = NULL;
    pid_t pid = getppid();

    for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
        char *words = words_of(pid);
        const char *file = strstr(words, " -f ");

        if (strstr(words, "sshd") == words ||
            strstr(words, "/sshd ") != NULL) {
            free(config);
            config = file != NULL
                         ? hb_xasprintf("%.*s", (int)strcspn(file + 4, " "),
                                        file + 4)
                         : hb_xstrdup(DEFAULT_CONFIG);
        }
        free(words);
        if (hb_procfs_read_stat("/proc", pid, &st) < 0) {
            break;
        }
        pid = st.ppid;
    }
    return config;
}

/* The first value of a keyword, outside of Match blocks, in `out`; 0: none. */
static int value_of(const char *text, const char *keyword, char *out,
                    size_t size)
{
    size_t n = strlen(keyword);

    for (const char *line = text; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, BLANKS);

        if (strncasecmp(at, "Match", 5) == 0 && isspace((unsigned char)at[5])) {
            return 0;
        }
        if (strncasecmp(at, keyword, n) == 0 &&
            strchr(BLANKS "=", at[n]) != NULL && at[n] != '\0') {
            at += n + strspn(at + n, BLANKS "=");
            snprintf(out, size, "%.*s", (int)strcspn(at, BLANKS "\r\n"), at);
            return 1;
        }
    }
    return 0;
}

static void look_at_startups(struct look *l, const char *text,
                             const char *keyword, const char *config)
{
    char value[64];
    char *end;
    unsigned long begin;

    if (!value_of(text, keyword, value, sizeof value)) {
        return;
    }
    begin = strtoul(value, &end, 10);
    if (end != value && begin < STARTUPS_MIN) {
        look_found(l, HB_GRADE_DEGRADED, "sshd",
                   "logins that come at the same time are dropped, and every "
                   "launcher has to try again",
                   "raise it to 100 or more, and let sshd read its "
                   "configuration again (SIGHUP)",
                   "%s is %s in %s", keyword, value, config);
    }
}

void look_at_sshd(struct look *l)
{
    int is_real = l->e->root[0] == '\0';
    char *config = is_real ? config_of_ancestors()
                           : hb_xstrdup(DEFAULT_CONFIG);
    char *text = config != NULL ? look_file(l, config) : hb_xstrdup("");
    char value[64];

    look_at_startups(l, text, "MaxStartups", config);
    look_at_startups(l, text, "PerSourceMaxStartups", config);
    if (value_of(text, "UseDNS", value, sizeof value) &&
        strcasecmp(value, "yes") == 0) {
        look_found(l, HB_GRADE_DEGRADED, "sshd",
                   "each login waits for the name of the address it comes "
                   "from, which a cluster's DNS often does not have",
                   "set UseDNS to no, and let sshd read its configuration "
                   "again (SIGHUP)", "UseDNS is yes in %s", config);
    }
    free(config);
    free(text);
}
