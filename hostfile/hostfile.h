/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_HOSTFILE_H
#define HB_HOSTFILE_HOSTFILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Which hosts form this gang. Sources are asked in order of strength; the
 * first that can answer wins, and each that was passed over says why. */
#define HB_ORIGIN_THIS_HOST "this host"


/* What is counted on a host whose slots are not stated. */
enum hb_count {
    HB_COUNT_UNSAID = 0, /* cores, unless there is a default */
    HB_COUNT_CORES,      /* "auto", "cpu" */
    HB_COUNT_GPUS,       /* "gpu" */
    HB_COUNT_GPUS_ELSE_CORES, /* torchrun's "auto" */
    HB_COUNT_GPUS_ELSE_ONE /* of no source: what a job makes of UNSAID */
};

struct hb_host {
    char *name;     /* as its source spells it; also its node name */
    char *user;     /* or NULL */
    int port;       /* or 0 */
    int slots;      /* > 0: stated; 0: not stated, to be counted on the host */
    enum hb_count count; /* what to count there then */
    int max_slots;  /* 0: none */
    int is_local;   /* this very host: start by fork */
    uint32_t leaf;  /* of the network: alike behind one switch; 0: not known */
    char *origin;   /* "/etc/mpi/hostfile:3", "-H"; never NULL; for the host
                     * that nobody named HB_ORIGIN_THIS_HOST */
};

/* One mention of a host in its source, in order: a host that is named twice
 * is one entry of `hosts` and two mentions. */
struct hb_mention {
    uint32_t host;
    uint32_t slots; /* it stands for; 0: not known */
    int stated;     /* a count was written */
};

struct hb_gang {
    struct hb_host *hosts;
    size_t n;
    struct hb_mention *mentions; /* [n_mentions], for seq and Hydra's turns */
    size_t n_mentions;
    char *source;      /* "-H", "MPI Operator", "this host" */
    char *detail;      /* one sentence: what was found and read */
    char *gang_key;    /* private key file the operator mounted, or NULL */
    int operator_made; /* by an operator: trust as inside a gang */
    uint64_t expected; /* members, as the cluster says; 0: it does not */
    char *launch_with; /* a command that starts agents there, as --launch-with
                        * reads it, for hosts without SSH servers; or NULL */
    char *if_missed; /* what to say where some of its hosts never come, or
                      * NULL */
    char **passed_over; /* [n_passed] "SOURCE: reason" */
    size_t n_passed;
    char **notes; /* [n_notes] what the user should know: which of two sources
                   * was believed, hosts that cannot be named */
    size_t n_notes;
};

struct hb_gang_request {
    const char *host_list;    /* -H, may be NULL */
    int count_list;           /* a host without a count in it is counted there,
                               * as srun has it; 0: a slot for each mention */
    const char *hostfile;     /* --hostfile, may be NULL */
    const char *discover;     /* --discover-hosts, may be NULL */
    const char *hostfile_form; /* its dialect; NULL: the one it looks like */
    const char *default_hostfile; /* from the configuration, may be NULL */
    char *const *env;         /* the launcher's environment */
    const char *root;         /* "" or a directory that stands for / in tests */
    int filter;               /* -H selects from the hosts of another source */
    int filters_found;        /* script and pods are a file's or a variable's:
                               * -H may also name others than theirs */
    const char *pod_selector; /* --pod-selector, "none": ask no API; or NULL */
    const char *pod_group;    /* --pod-group, may be NULL */
    int64_t wait_ms; /* for pods that have no address yet; 0: take the others */
    uint32_t min_hosts; /* so many will do when that is over; 0: all */
    const char *before; /* the source that named the hosts of the job's former
                         * life: what it names is needed; or NULL */
    uint64_t expected_before; /* hb_gang.expected of that life, which holds
                               * where it cannot be learnt now; 0: not known */
    uint32_t needed_hosts; /* fewer are of no use, and awaited; 0: not known */
    uint32_t wished_hosts; /* fewer do, and are awaited for a minute; 0: not
                            * known */
    int awaits_first; /* also for the first pod; 0: that none is there is told
                       * at once */
    uint32_t enough_hosts; /* with so many nobody waits for the others, but
                            * while they are on their way; 0: for all */
    /* Called now and then while that lasts; may be NULL. */
    void (*progress)(void *arg, const char *text);
    void *progress_arg;
    /* Asked now and then meanwhile: when it is not 0 the time is over. May be
     * NULL. */
    int (*stop)(void);
};

#define HB_MAX_HOSTS (1u << 20)
#define HB_MAX_SLOTS (1u << 24) /* as many as a job may have ranks */

/* On failure *out is empty, but for passed_over. ERR_AGAIN, only where
 * enough_hosts is said: a script names none yet. */
int hb_gang_gather(const struct hb_gang_request *req, struct hb_gang *out,
                   struct hpcboot_error *err);
/* As the source of that name sees the gang, now and whenever it is another one:
 * each time `changed` gets all of it, may change it, and keeps none of it.
 * Blocks for as long as the source can be asked. ERR_UNSUPPORTED: it tells
 * nothing by itself, and can only be gathered again. */
typedef void (*hb_gang_changed)(void *arg, struct hb_gang *gang);
int hb_gang_follow(const struct hb_gang_request *req, const char *source,
                   hb_gang_changed changed, void *arg,
                   struct hpcboot_error *err);
void hb_gang_destroy(struct hb_gang *gang); /* leaves it empty; NULL-safe */

/* A text in a dialect by its name (hostfile/dialect.h), NULL: the one it looks
 * like. Errors: "FILE:LINE:COLUMN: expected ...". */
int hb_hostfile_parse(const char *dialect, const char *path, const char *text,
                      size_t len, struct hb_gang *out,
                      struct hpcboot_error *err);
int hb_hostfile_parse_openmpi(const char *path, const char *text, size_t len,
                              struct hb_gang *out, struct hpcboot_error *err);
/* "a,b:2,node[01-04]:4,[::1]:2"; Open MPI meaning: one slot per mention
 * without a count. HOST:auto is counted on the host. */
int hb_hostfile_parse_list(const char *list, struct hb_gang *out,
                           struct hpcboot_error *err);
/* "auto", "cpu", "gpu" or a number: what is understood wherever a number of
 * slots is. 0 when the text is none of these. *slots_out is 0 for the words. */
int hb_slots_word(const char *text, int *slots_out, enum hb_count *count_out);
/* For hosts whose source says nothing about slots. */
void hb_gang_default_slots(struct hb_gang *gang, int slots,
                           enum hb_count count);
/* `text` may be NULL; HB_SLOTS_DEVICES is a word here alone. */
void hb_gang_default_word(struct hb_gang *gang, const char *text);
#define HB_SLOTS_DEVICES "gpu-else-cpu"
/* Keeps the first n hosts, and the mentions of them. */
void hb_gang_cut(struct hb_gang *gang, size_t n);
/* 1 when `name` certainly is this host: localhost, its own host name (short
 * or full), a loopback address. No network is asked. */
int hb_host_is_self(const char *name);

#endif
