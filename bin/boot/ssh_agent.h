/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_AGENT_H
#define HB_BOOT_SSH_AGENT_H

#include <libssh/libssh.h>

#include "lib/base/strv.h"

/* The way of one login to ssh-agent. */
struct hb_ssh_agent;

/* Lets `session` talk to the agent at `path`. `only`: the public keys that are
 * used, in base64, or NULL for all. Returns NULL where nobody is there, or
 * none has answered lately. Loop thread only. */
struct hb_ssh_agent *hb_ssh_agent_open(const char *path,
                                       const struct hb_strv *only,
                                       ssh_session session);
/* It was asked lately, and has not answered. */
int hb_ssh_agent_is_left_alone(const char *path);
/* What it has for its next answer (0: the usual limit). */
void hb_ssh_agent_limit(struct hb_ssh_agent *agent, int ms);
/* Whether the agent has hung up, or did not answer in time. */
int hb_ssh_agent_is_silent(const struct hb_ssh_agent *agent);
/* Whether it has listed no key that is used: it has none, or none of `only`. */
int hb_ssh_agent_has_none(const struct hb_ssh_agent *agent);
void hb_ssh_agent_close(struct hb_ssh_agent *agent); /* NULL-safe */

#endif
