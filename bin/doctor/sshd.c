/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a host's sshd does to those who start jobs: a login worked, or nobody
 * would look, but those of a large gang come all at once, and each counts. The
 * server that let the agent in is found among its ancestors, with the file it
 * was started with; of that file, and those that it includes, the first value
 * of a keyword holds, as sshd_config(5) says, and what stands in a Match block
 * is not looked at. */

#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bin/doctor/impl.h"
#include "bin/proc/procfs.h"
#include "lib/base/fd.h"

#define DEFAULT_CONFIG "/etc/ssh/sshd_config"
#define CONFIG_DIRECTORY "/etc/ssh/" /* of names that are relative */
#define INCLUDES_DEEP_MAX 16 /* OpenSSH's own limit */
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

/* What follows a keyword that begins a line; NULL: another one does. */
static const char *behind(const char *line, const char *keyword)
{
    size_t n = strlen(keyword);

    if (strncasecmp(line, keyword, n) != 0 || line[n] == '\0' ||
        strchr(BLANKS "=", line[n]) == NULL) {
        return NULL;
    }
    return line + n + strspn(line + n, BLANKS "=");
}

/* A keyword that is looked for, and where it was found. */
struct wanted {
    const struct look *l;
    const char *keyword;
    char value[64];
    char *file;
};

static int find_in(struct wanted *w, const char *file, int deep);

/* In the files of an Include line, in the order of their names. */
static int find_in_included(struct wanted *w, const char *patterns, int deep)
{
    const char *root = w->l->e->root;
    char *words = hb_xstrndup(patterns, strcspn(patterns, "\r\n"));
    char *save = NULL;
    int found = 0;

    for (char *word = strtok_r(words, BLANKS, &save); word != NULL && !found;
         word = strtok_r(NULL, BLANKS, &save)) {
        char *full = hb_xasprintf("%s%s%s", root,
                                  word[0] == '/' ? "" : CONFIG_DIRECTORY, word);
        glob_t g = {0};

        if (glob(full, 0, NULL, &g) == 0) {
            for (size_t i = 0; i < g.gl_pathc && !found; i++) {
                found = find_in(w, g.gl_pathv[i] + strlen(root), deep + 1);
            }
        }
        globfree(&g);
        free(full);
    }
    free(words);
    return found;
}

/* The first value of a keyword, outside of Match blocks; 0: none. */
static int find_in(struct wanted *w, const char *file, int deep)
{
    char *text = look_file(w->l, file);
    int found = 0;

    for (const char *line = deep < INCLUDES_DEEP_MAX ? text : "";
         *line != '\0' && !found;
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, BLANKS), *value;

        if (behind(at, "Match") != NULL) {
            break;
        }
        if ((value = behind(at, "Include")) != NULL) {
            found = find_in_included(w, value, deep);
        } else if ((value = behind(at, w->keyword)) != NULL) {
            snprintf(w->value, sizeof w->value, "%.*s",
                     (int)strcspn(value, BLANKS "\r\n"), value);
            w->file = hb_xstrdup(file);
            found = 1;
        }
    }
    free(text);
    return found;
}

static void look_at_startups(struct look *l, const char *keyword,
                             const char *config)
{
    struct wanted w = {.l = l, .keyword = keyword};
    char *end;
    unsigned long begin;

    if (!find_in(&w, config, 0)) {
        return;
    }
    begin = strtoul(w.value, &end, 10);
    if (end != w.value && begin < STARTUPS_MIN) {
        look_found(l, HB_GRADE_DEGRADED, "sshd",
                   "logins that come at the same time are dropped, and every "
                   "launcher has to try again",
                   "raise it to 100 or more, and let sshd read its "
                   "configuration again (SIGHUP)",
                   "%s is %s in %s", keyword, w.value, w.file);
    }
    free(w.file);
}

static void look_at_names(struct look *l, const char *config)
{
    struct wanted w = {.l = l, .keyword = "UseDNS"};

    if (find_in(&w, config, 0) && strcasecmp(w.value, "yes") == 0) {
        look_found(l, HB_GRADE_DEGRADED, "sshd",
                   "each login waits for the name of the address it comes "
                   "from, which a cluster's DNS often does not have",
                   "set UseDNS to no, and let sshd read its configuration "
                   "again (SIGHUP)", "UseDNS is yes in %s", w.file);
    }
    free(w.file);
}

void look_at_sshd(struct look *l)
{
    int is_real = l->e->root[0] == '\0';
    char *config = is_real ? config_of_ancestors()
                           : hb_xstrdup(DEFAULT_CONFIG);

    if (config != NULL) {
        look_at_startups(l, "MaxStartups", config);
        look_at_startups(l, "PerSourceMaxStartups", config);
        look_at_names(l, config);
    }
    free(config);
}
