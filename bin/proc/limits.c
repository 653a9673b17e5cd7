/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Resource limits: read at the launcher, written as text, checked and set on
 * each host.
 *
 * One table says which limits travel and how. Those that only ever do harm
 * by being low (locked memory for RDMA, descriptors) travel with the soft limit
 * raised to the hard one. Core files are the user's choice, and none by most
 * shells' default: gigabytes a rank fill a disk, and hold up the end of a job
 * for as long as they are written. Locked memory has one more rule: a
 * launcher pod is often given less of it than its workers, so it is never
 * lowered. Limits on the number of processes count a user's processes on a
 * whole machine and stay on their host.
 *
 * Whether a hard limit can be raised depends on capabilities, user name
 * spaces and fs.nr_open; it is found out by trying, on this process, which
 * has its old limit back at once. */
#include "config.h"

#include "bin/proc/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/str.h"

/* Longest name of a limit, and longest number: 20 digits. */
#define NAME_MAX_BYTES 16
#define NUMBER_MAX_BYTES 24

#define RAISE 0x1u      /* soft limit up to the hard limit */
#define NEVER_LOWER 0x2u /* at least this host's hard limit */

struct known_limit {
    const char *name;
    int resource;
    unsigned flags;
    const char *advice; /* what to do when it is refused, or "" */
};

static const struct known_limit known[] = {
    {"memlock", RLIMIT_MEMLOCK, RAISE | NEVER_LOWER,
     "; RDMA needs a higher one, or the capability IPC_LOCK"},
    {"nofile", RLIMIT_NOFILE, RAISE, ""},
    {"core", RLIMIT_CORE, 0, ""},
    {"stack", RLIMIT_STACK, 0, ""},
    {"data", RLIMIT_DATA, 0, ""},
    {"as", RLIMIT_AS, 0, ""},
    {"fsize", RLIMIT_FSIZE, 0, ""},
    {"cpu", RLIMIT_CPU, 0, ""},
    {"rtprio", RLIMIT_RTPRIO, 0, ""},
};

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static const struct known_limit *find_known(const char *name, size_t len)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strlen(known[i].name) == len
            && memcmp(known[i].name, name, len) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

static void number_text(rlim_t value, char text[NUMBER_MAX_BYTES])
{
    if (value == RLIM_INFINITY) {
        snprintf(text, NUMBER_MAX_BYTES, "unlimited");
    } else {
        snprintf(text, NUMBER_MAX_BYTES, "%llu", (unsigned long long)value);
    }
}

void hb_limits_outgoing(struct hb_strv *out)
{
    char soft[NUMBER_MAX_BYTES], hard[NUMBER_MAX_BYTES];
    struct rlimit l;

    for (size_t i = 0; i < N_KNOWN; i++) {
        if (getrlimit((__rlimit_resource_t)known[i].resource, &l) < 0) {
            continue;
        }
        if (known[i].flags & RAISE) {
            l.rlim_cur = l.rlim_max;
        }
        number_text(l.rlim_cur, soft);
        number_text(l.rlim_max, hard);
        hb_strv_pushf(out, "%s=%s:%s", known[i].name, soft, hard);
    }
}

/* ---- reading */

static int parse_number(const char *text, size_t len, rlim_t *out)
{
    char copy[NUMBER_MAX_BYTES];
    uint64_t value;

    if (len >= sizeof(copy)) {
        return -1;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strcmp(copy, "unlimited") == 0) {
        *out = RLIM_INFINITY;
        return 0;
    }
    if (hb_parse_u64(copy, 0, UINT64_MAX, &value) != HPCBOOT_OK) {
        return -1;
    }
    *out = (rlim_t)value;
    return 0;
}

/* "name=soft:hard"; *known_out is NULL for a name that is not known. */
static int parse_text(const char *text, const struct known_limit **known_out,
                      struct rlimit *out, struct hpcboot_error *err)
{
    size_t name_len = strcspn(text, "=");
    const char *soft = text + name_len + (text[name_len] == '=');
    size_t soft_len = strcspn(soft, ":");
    const char *hard = soft + soft_len + (soft[soft_len] == ':');

    if (name_len == 0 || name_len > NAME_MAX_BYTES || text[name_len] != '='
        || soft[soft_len] != ':'
        || parse_number(soft, soft_len, &out->rlim_cur) < 0
        || parse_number(hard, strlen(hard), &out->rlim_max) < 0
        || out->rlim_cur > out->rlim_max) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "\"%.100s\" is no resource limit (NAME=SOFT:HARD)",
                       text);
    }
    *known_out = find_known(text, name_len);
    return HPCBOOT_OK;
}

rlim_t hb_limits_soft(char *const *texts, int resource)
{
    const struct known_limit *known_as = NULL;
    struct rlimit value = {0};

    for (; *texts != NULL; texts++) {
        if (parse_text(*texts, &known_as, &value, NULL) == HPCBOOT_OK &&
            known_as != NULL && known_as->resource == resource) {
            return value.rlim_cur;
        }
    }
    return RLIM_INFINITY;
}

/* ---- fitting to a host */

static void say_refused(const struct known_limit *k, rlim_t granted,
                        rlim_t wanted, struct hb_strv *refused)
{
    char have[NUMBER_MAX_BYTES], want[NUMBER_MAX_BYTES];

    number_text(granted, have);
    number_text(wanted, want);
    hb_strv_pushf(refused, "the %s limit stays at %s here; the launcher's is "
                  "%s%s", k->name, have, want, k->advice);
}

/* Changes what is wanted into what this host can have. */
static void fit(const struct hb_limits_host *host, const struct known_limit *k,
                struct rlimit *value, struct hb_strv *refused)
{
    struct rlimit here;
    rlim_t wanted = value->rlim_cur;

    if (host->get(host->arg, k->resource, &here) < 0) {
        return;
    }
    if ((k->flags & NEVER_LOWER) && here.rlim_max > value->rlim_max) {
        value->rlim_cur = value->rlim_max = here.rlim_max;
    }
    if (value->rlim_max <= here.rlim_max
        || host->may_raise(host->arg, k->resource, value)) {
        return;
    }
    value->rlim_max = here.rlim_max;
    if (value->rlim_cur > here.rlim_max) {
        value->rlim_cur = here.rlim_max;
        say_refused(k, here.rlim_max, wanted, refused);
    }
}

int hb_limits_parse_on(const struct hb_limits_host *host, char *const *texts,
                       struct hb_proc_limit **limits_out, size_t *n_out,
                       struct hb_strv *refused, struct hpcboot_error *err)
{
    struct hb_proc_limit *limits = hb_xcalloc(N_KNOWN, sizeof(*limits));
    struct rlimit values[N_KNOWN];
    unsigned char given[N_KNOWN] = {0};
    size_t n = 0;

    for (; texts != NULL && *texts != NULL; texts++) {
        const struct known_limit *k = NULL;
        struct rlimit value;
        int rc = parse_text(*texts, &k, &value, err);

        if (rc < 0) {
            free(limits);
            return rc;
        }
        if (k != NULL) {
            values[k - known] = value; /* given twice: the later one */
            given[k - known] = 1;
        }
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (given[i]) {
            fit(host, &known[i], &values[i], refused);
            limits[n].resource = known[i].resource;
            limits[n].value = values[i];
            limits[n++].optional = 1; /* a limit is no reason not to start */
        }
    }
    *limits_out = limits;
    *n_out = n;
    return HPCBOOT_OK;
}

static int get_own(void *arg, int resource, struct rlimit *out)
{
    return getrlimit((__rlimit_resource_t)resource, out);
}

static int may_raise_own(void *arg, int resource, const struct rlimit *value)
{
    struct rlimit before, tried;

    if (get_own(NULL, resource, &before) < 0) {
        return 0;
    }
    tried = before;
    tried.rlim_max = value->rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &tried) < 0) {
        return 0;
    }
    (void)setrlimit((__rlimit_resource_t)resource, &before);
    return 1;
}

int hb_limits_parse(char *const *texts, struct hb_proc_limit **limits_out,
                    size_t *n_out, struct hb_strv *refused,
                    struct hpcboot_error *err)
{
    const struct hb_limits_host host = {get_own, may_raise_own, NULL};

    return hb_limits_parse_on(&host, texts, limits_out, n_out, refused, err);
}
