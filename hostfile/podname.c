/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The name of this pod.
 *
 * A pod with hostNetwork has its node's host name and its node's /etc/hosts,
 * so it does not find itself among the names of its gang by these. Its address
 * does not tell either: pods on one node share it. What tells is the token of
 * its service account, which Kubernetes makes for one pod and in whose middle
 * part (JSON in base64url, RFC 7519) the pod's name and namespace stand. It is
 * this container's own file, so it is believed without a look at its
 * signature. Where no token is mounted, a variable of the downward API may
 * name the pod.
 *
 * The pod of a Job has a random word behind the host name that its peers know
 * it by. */

#include "config.h"

#include "hostfile/podname.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/json.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define TOKEN_PATH "/var/run/secrets/kubernetes.io/serviceaccount/token"
#define TOKEN_MAX_BYTES (64u << 10)
/* "-x7k2p": a dash and what apimachinery's rand.String(5) makes. */
#define RANDOM_BYTES 6u
#define RANDOM_LETTERS "bcdfghjklmnpqrstvwxz2456789"

static int value_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        "abcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *p = c != '\0' ? strchr(digits, c) : NULL;

    return p != NULL ? (int)(p - digits) : -1;
}

/* Decodes base64url up to its first other character, in place. */
static size_t decode(char *text)
{
    unsigned bits = 0, n_bits = 0;
    size_t n = 0;
    int v;

    for (const char *p = text; (v = value_of(*p)) >= 0; p++) {
        bits = (bits << 6 | (unsigned)v) & 0xffffu;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            text[n++] = (char)(bits >> n_bits & 0xffu);
        }
    }
    return n;
}

static void read_token(struct hb_podname *out, const char *root)
{
    char *path = hb_xasprintf("%s" TOKEN_PATH, root), *text = NULL, *claims;
    const struct hb_gang_json *json;
    size_t len;

    if (hb_file_read(path, TOKEN_MAX_BYTES, &text, &len, NULL) >= 0 &&
        (claims = strchr(text, '.')) != NULL &&
        hb_gang_json_open(&json, NULL) >= 0) {
        len = decode(++claims);
        json->token_pod(claims, len, &out->name, &out->space);
    }
    free(text);
    free(path);
}

static void read_variable(struct hb_podname *out)
{
    static const char *const names[] = {"POD_NAME", "K8S_POD_NAME"};

    for (size_t i = 0; out->name == NULL &&
                       i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        out->name = value != NULL && value[0] != '\0' ? hb_xstrdup(value)
                                                      : NULL;
    }
}

void hb_podname_read(struct hb_podname *out, const char *root)
{
    memset(out, 0, sizeof(*out));
    read_token(out, root);
    if (out->name == NULL && root[0] == '\0') {
        read_variable(out);
    }
}

void hb_podname_destroy(struct hb_podname *pod)
{
    free(pod->name);
    free(pod->space);
    memset(pod, 0, sizeof(*pod));
}

/* The length of a Job's pod name without its random word; 0: it has none. */
static size_t job_len(const char *name)
{
    size_t n = strlen(name);
    const char *random = n > RANDOM_BYTES ? name + n - RANDOM_BYTES : "";

    return random[0] == '-' && random[1 + strspn(random + 1, RANDOM_LETTERS)]
                                   == '\0' ? n - RANDOM_BYTES : 0;
}

/* Behind a pod's name: "", "SERVICE", "SERVICE.SPACE...", "SPACE.svc...". */
static int is_own_domain(const struct hb_podname *pod, const char *domain)
{
    size_t first = strcspn(domain, "."), n;
    const char *second = domain + first + (domain[first] == '.');

    if (second[0] == '\0') {
        return 1;
    }
    if (strcmp(second, "svc") == 0 || hb_starts_with(second, "svc.")) {
        second = domain;
    }
    n = strcspn(second, ".");
    return pod->space != NULL && strlen(pod->space) == n &&
           strncasecmp(second, pod->space, n) == 0;
}

int hb_podname_is(const struct hb_podname *pod, const char *name)
{
    size_t n = strcspn(name, ".");

    return pod->name != NULL && n > 0 &&
           (n == strlen(pod->name) || n == job_len(pod->name)) &&
           strncasecmp(name, pod->name, n) == 0 &&
           is_own_domain(pod, name + n + (name[n] == '.'));
}
