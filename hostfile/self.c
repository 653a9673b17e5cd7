/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which names certainly mean the host this runs on.
 *
 * Certain are: localhost and its variants, a loopback address, an address of
 * one of the host's own interfaces (the kernel would route it here), the
 * host's own name, and what /etc/hosts says on the line with that name. In a
 * pod that line holds the full name which hostfiles of operators use, with
 * the cluster's domain at its end or without. DNS is not asked: an answer
 * could take seconds, or be that of another host.
 *
 * A pod that uses its node's network knows itself by none of these, but by
 * its name as a pod (podname.c).
 *
 * Not certain, and so not taken, is a name with another domain: "node1.a"
 * need not be the "node1" that runs this. Such a host is then reached like
 * any other, which works too. */

#include "config.h"

#include "hostfile/hostname.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "hostfile/hostfile.h"
#include "hostfile/podname.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

#define HOSTS_MAX_BYTES (1u << 20)
#define NAME_MAX_BYTES 256u

/* Of the interfaces, as text; asked for when a name is an address. */
struct addresses {
    int known;
    struct hb_strv v;
};

/* The pod that this is; read for a name that is no other's. */
struct pod {
    char *root; /* NULL once it is read */
    struct hb_podname name;
};

struct hb_self {
    char name[NAME_MAX_BYTES];
    struct hb_strv full; /* names of the host's line in /etc/hosts */
    struct addresses *addresses;
    struct pod *pod;
};

static size_t label_len(const char *name)
{
    return strcspn(name, ".");
}

static int same_label(const char *a, const char *b)
{
    return label_len(a) == label_len(b) &&
           strncasecmp(a, b, label_len(a)) == 0;
}

/* 1 when `name` is `full`, or `full` goes on after it with a dot. */
static int leads(const char *name, const char *full)
{
    size_t n = strlen(name);

    return strncasecmp(name, full, n) == 0 &&
           (full[n] == '\0' || full[n] == '.');
}

/* Keeps the names of a line of /etc/hosts that has our own name on it. */
static void take_line(struct hb_self *self, char *line)
{
    struct hb_strv names = HB_STRV_INIT;
    char *save = NULL, *word;
    int ours = 0;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, " \t\r", &save); /* the address */
    while (word != NULL && (word = strtok_r(NULL, " \t\r", &save)) != NULL) {
        hb_strv_push(&names, word);
        ours = ours || strcasecmp(word, self->name) == 0;
    }
    for (size_t i = 0; ours && i < names.n; i++) {
        if (same_label(names.v[i], self->name)) {
            hb_strv_push(&self->full, names.v[i]);
        }
    }
    hb_strv_destroy(&names);
}

static void read_hosts(struct hb_self *self, const char *root)
{
    char *path = hb_xasprintf("%s/etc/hosts", root), *text = NULL, *save = NULL;
    size_t len;

    if (hb_file_read(path, HOSTS_MAX_BYTES, &text, &len, NULL) >= 0) {
        for (char *line = strtok_r(text, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save)) {
            take_line(self, line);
        }
    }
    free(text);
    free(path);
}

static void read_name(struct hb_self *self, const char *root)
{
    char *path = hb_xasprintf("%s/etc/hostname", root), *text = NULL;
    size_t len;

    if (root[0] == '\0') {
        if (gethostname(self->name, sizeof(self->name)) != 0) {
            self->name[0] = '\0';
        }
        self->name[sizeof(self->name) - 1] = '\0';
    } else if (hb_file_read(path, NAME_MAX_BYTES - 1, &text, &len, NULL) >= 0) {
        text[strcspn(text, " \t\r\n")] = '\0';
        memcpy(self->name, text, strlen(text) + 1);
    }
    free(text);
    free(path);
}

static void read_addresses(struct addresses *a)
{
    struct ifaddrs *list = NULL;

    if (a->known || getifaddrs(&list) != 0) {
        return;
    }
    a->known = 1;
    for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        const void *bytes = NULL;
        if (i->ifa_addr == NULL) {
            continue;
        }
        if (i->ifa_addr->sa_family == AF_INET) {
            bytes = &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            bytes = &((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr;
        }
        if (bytes != NULL && inet_ntop(i->ifa_addr->sa_family, bytes, text,
                                       sizeof(text)) != NULL) {
            hb_strv_push(&a->v, text);
        }
    }
    freeifaddrs(list);
}

struct hb_self *hb_self_create(const char *root)
{
    struct hb_self *self = hb_xcalloc(1, sizeof(*self));

    read_name(self, root);
    if (self->name[0] != '\0') {
        read_hosts(self, root);
    }
    self->addresses = hb_xcalloc(1, sizeof(*self->addresses));
    self->addresses->known = root[0] != '\0'; /* a test's host has none */
    self->pod = hb_xcalloc(1, sizeof(*self->pod));
    self->pod->root = hb_xstrdup(root);
    return self;
}

void hb_self_destroy(struct hb_self *self)
{
    if (self != NULL) {
        hb_strv_destroy(&self->full);
        hb_strv_destroy(&self->addresses->v);
        free(self->addresses);
        hb_podname_destroy(&self->pod->name);
        free(self->pod->root);
        free(self->pod);
        free(self);
    }
}

const char *hb_self_name(const struct hb_self *self)
{
    return self->name[0] != '\0' ? self->name : "localhost";
}

const char *hb_self_domain(const struct hb_self *self)
{
    for (size_t i = 0; i < self->full.n; i++) {
        const char *dot = strchr(self->full.v[i], '.');
        if (dot != NULL && dot[1] != '\0') {
            return dot + 1;
        }
    }
    return NULL;
}

static const struct hb_podname *pod_of(const struct hb_self *self)
{
    struct pod *pod = self->pod;

    if (pod->root != NULL) {
        hb_podname_read(&pod->name, pod->root);
        free(pod->root);
        pod->root = NULL;
    }
    return &pod->name;
}

const char *hb_self_pod(const struct hb_self *self)
{
    return pod_of(self)->name;
}

static int is_own_address(const struct hb_self *self, const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;
    char text[INET6_ADDRSTRLEN];

    if (hb_is_loopback(name)) {
        return 1;
    }
    if (inet_pton(AF_INET, name, &v4) == 1) {
        inet_ntop(AF_INET, &v4, text, sizeof(text));
    } else if (inet_pton(AF_INET6, name, &v6) == 1) {
        inet_ntop(AF_INET6, &v6, text, sizeof(text));
    } else {
        return 0;
    }
    read_addresses(self->addresses);
    for (size_t i = 0; i < self->addresses->v.n; i++) {
        if (strcmp(self->addresses->v.v[i], text) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_own_name(const struct hb_self *self, const char *name)
{
    static const char *const loopback[] = {
        "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"};

    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
        if (strcasecmp(name, loopback[i]) == 0) {
            return 1;
        }
    }
    if (self->name[0] == '\0') {
        return 0;
    }
    /* The short form of an own name that is a full one is covered as well. */
    if (leads(name, self->name) && label_len(name) == label_len(self->name)) {
        return 1;
    }
    for (size_t i = 0; i < self->full.n; i++) {
        if (leads(name, self->full.v[i]) &&
            label_len(name) == label_len(self->full.v[i])) {
            return 1;
        }
    }
    return 0;
}

int hb_self_is(const struct hb_self *self, const char *name)
{
    char *plain = hb_xstrndup(name, hb_hostname_len(name));
    int yes = is_own_name(self, plain) || is_own_address(self, plain) ||
              hb_podname_is(pod_of(self), plain);

    free(plain);
    return yes;
}

int hb_host_is_self(const char *name)
{
    struct hb_self *self = hb_self_create("");
    int yes = hb_self_is(self, name);

    hb_self_destroy(self);
    return yes;
}
