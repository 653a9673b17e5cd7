/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_GANG_ARGS_H
#define HB_HPCBOOT_GANG_ARGS_H

#include <stddef.h>

#include "bin/hpcboot/args.h"
#include "lib/base/strv.h"

/* Options of commands that go to the hosts as hbrun would. They mean what
 * they mean there, and are handed to hbrun's own parser, which adds
 * configuration and variables. */

enum { HB_GANG_WAIT_HOSTS, HB_GANG_MIN_HOSTS }; /* places in texts */
struct hb_gang_wanted {
    const char *texts[18];
    int switches[2];
};

/* Words that are offered for values; hbrun's parser judges those that come. */
const char *hb_gang_host_keys(size_t i);
const char *hb_gang_yes_no(size_t i);
int hb_gang_any(const char *value);

/* Rows of a command's table; T is its own struct, which has a
 * struct hb_gang_wanted called gang. */
#define HB_GANG_TEXT(T, i) offsetof(T, gang.texts[i])
#define HB_GANG_SWITCH(T, i) offsetof(T, gang.switches[i])
#define HB_GANG_ARGS(T) \
    {"wait-hosts", "TIME", "how long hosts may take", \
     HB_GANG_TEXT(T, HB_GANG_WAIT_HOSTS), NULL}, \
    {"min-hosts", "N", "N hosts or more will do when the time is over", \
     HB_GANG_TEXT(T, HB_GANG_MIN_HOSTS), NULL}, \
    {"host H", "LIST", "hosts to go to: a,b,n[01-16]", HB_GANG_TEXT(T, \
     2), NULL, 1}, \
    {"hostfile machinefile", "FILE", "hosts to go to, from FILE", \
     HB_GANG_TEXT(T, 3), NULL}, \
    {"events", "FILE", "what happens, as JSON lines", HB_GANG_TEXT(T, 4), \
     NULL}, \
    {"port", "N", "port of the hosts' SSH servers", HB_GANG_TEXT(T, 5), \
     NULL}, \
    {"user", "NAME", "login name on the hosts", HB_GANG_TEXT(T, 6), NULL}, \
    {"identity", "FILE", "private key to log in with", HB_GANG_TEXT(T, 7), \
     NULL}, \
    {"ssh-config", "FILE", "SSH configuration instead of ~/.ssh/config", \
     HB_GANG_TEXT(T, 8), NULL}, \
    {"host-keys", "HOW", \
     "strict (known host keys alone) or pin (the first)", \
     HB_GANG_TEXT(T, 9), hb_gang_host_keys, 0, hb_gang_any}, \
    {"launch-with", "COMMAND", \
     "start agents with COMMAND; %h stands for the host", HB_GANG_TEXT(T, \
     10), NULL}, \
    {"prefix", "DIR", "where hpcboot is installed on the hosts", \
     HB_GANG_TEXT(T, 11), NULL}, \
    {"connect-timeout", "TIME", "limit of each step of a login", \
     HB_GANG_TEXT(T, 12), NULL}, \
    {"progress", "YES|NO", "a live line on a terminal (default yes)", \
     HB_GANG_TEXT(T, 13), hb_gang_yes_no, 0, hb_gang_any}, \
    {"default-hostfile", "FILE", "hosts where nothing else names any", \
     HB_GANG_TEXT(T, 14), NULL}, \
    {"pod-selector", "LABELS", \
     "hosts to go to: the pods with these labels", HB_GANG_TEXT(T, 15), \
     NULL}, \
    {"pod-group", "NAME", "hosts to go to: the pods of this PodGroup", \
     HB_GANG_TEXT(T, 16), NULL}, \
    {"discover-hosts", "FILE", "hosts to go to: what the script FILE prints", \
     HB_GANG_TEXT(T, 17), NULL}, \
    {"quiet q", NULL, "errors only", HB_GANG_SWITCH(T, 0), NULL}, \
    {"verbose v", NULL, "say more", HB_GANG_SWITCH(T, 1), NULL}

/* The line of an hbrun that would go to those hosts, up to its program. args:
 * a table whose first rows are HB_GANG_ARGS; wanted: what was scanned. */
void hb_gang_words(const struct hb_arg *args, const void *wanted,
                   struct hb_strv *line);

/* Parses such a line and opens the log as it says; errors are logged with
 * `command` in front. Destroy with hb_options_destroy(). */
struct hb_options;
int hb_gang_options(struct hb_options **out, struct hb_strv *line,
                    const char *command);

#endif
