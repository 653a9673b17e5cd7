/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_HOSTNAME_H
#define HB_HOSTFILE_HOSTNAME_H

#include <stddef.h>

/* NULL when `name` can be a host: a DNS or host name, an IPv4 or IPv6 address
 * (without brackets, with a scope or not). Else what was expected, and where
 * in the name. A name can become a command's argument, so none begins with
 * "-" and none holds a character that a shell would see. */
const char *hb_hostname_wrong(const char *name, size_t *at_out);
/* The bytes of a name that tell hosts apart: all but a dot at its end, which
 * tells a resolver that the name is a full one. */
size_t hb_hostname_len(const char *name);
/* The same for the user in USER@HOST. */
const char *hb_username_wrong(const char *user, size_t *at_out);

/* One word for a host: [USER@]HOST[:SLOTS]. */
struct hb_host_word {
    char *user;  /* into the text, or NULL */
    char *name;  /* into the text, without brackets of an IPv6 literal */
    char *slots; /* into the text, or NULL */
    int literal; /* brackets in the name were those of an address */
};
/* Cuts `text` up in place. NULL, or what was expected at *at_out. */
const char *hb_host_word_cut(char *text, struct hb_host_word *out,
                             size_t *at_out);

/* Who this host is, read from its own files; no network is asked. */
struct hb_self;
struct hb_self *hb_self_create(const char *root);
void hb_self_destroy(struct hb_self *self);
int hb_self_is(const struct hb_self *self, const char *name);
const char *hb_self_name(const struct hb_self *self);
/* What follows the own name in /etc/hosts, "sub.ns.svc.cluster.local" in a
 * pod with a subdomain; NULL when it stands there alone. Borrowed. */
const char *hb_self_domain(const struct hb_self *self);
/* What Kubernetes calls this pod; NULL where that is not known. Borrowed. */
const char *hb_self_pod(const struct hb_self *self);

#endif
