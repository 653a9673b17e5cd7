/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_CHILDREN_H
#define HB_HPCBOOTD_CHILDREN_H

#include <stddef.h>
#include <stdint.h>

#include "bin/boot/boot.h"
#include "bin/hpcbootd/agent.h"
#include "bin/link/words.h"

/* What children.c, which starts the agents below this one, and passing.c, which
 * carries what is said between them and the launcher, have in common. */

struct child {
    struct agent *agent;
    struct child *next;
    uint32_t host;
    char *name, *user, *token;
    int port;
    enum hb_boot_stage stage;
    struct hb_boot *boot;
    struct hb_link *link;
    struct event *timer; /* HELLO is overdue */
    int is_up;           /* HELLO has come */
    int is_known;        /* WELCOME has gone to it: somebody vouches for it */
    int may_wait;        /* those below it wait to be adopted */
    uint64_t files_out, files_taken; /* bytes of files: sent, and taken */
    int64_t clock_told_ns;
    struct hb_words words;
};

/* Of a host, by its number. */
struct route {
    struct child *by; /* it is started below this child, or is it; or NULL */
    uint32_t parent;  /* the host that was told to start it */
    uint8_t is_up;    /* and its HELLO has come */
    uint8_t was_told; /* to be started here, at some time */
};

/* What all logins have in common; the strings of `boot` are owned here. */
struct agent_tree {
    struct hb_boot_config boot;
    char *agent_path, *prefix, *kex, *gang_key, *known_hosts;
    int known_fd; /* behind known_hosts, in memory */
    struct hb_strv members;
    struct child *children;
    struct route *routes; /* [n_routes] */
    uint32_t n_routes;
};

/* children.c */
/* The child that is this host itself; NULL: there is none. */
struct child *child_of_agent(const struct agent *a, uint32_t host);
/* Its start has come so far; detail may be NULL. The launcher is told. */
void child_stage(struct child *c, enum hb_boot_stage stage, const char *detail);

/* passing.c */
/* The host is the child, or is to be started by `parent`, which is the child or
 * below it. */
void child_expect(struct child *c, uint32_t host, uint32_t parent);
/* A frame of the child, or of a host below it. ERR_PROTOCOL: it may not say
 * that; the child is still there. */
int child_pass_up(struct child *c, const struct hb_frame *f,
                  struct hpcboot_error *err);
/* below: the launcher is gone, and with it whoever would adopt them. */
void child_send_gone(struct child *c, int below);

#endif
