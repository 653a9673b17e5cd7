/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_VOLCANO_H
#define HB_HOSTFILE_VOLCANO_H

#include "hostfile/hostfile.h"
#include "lib/base/str.h"

/* A task of a Volcano Job and the hosts of its pods. */
struct hb_vc_task {
    char *name;   /* "mpi-worker" */
    char *where;  /* "/etc/volcano/mpi_worker.host", "VC_MPI_WORKER_HOSTS" */
    char *text;   /* one host per line */
    size_t len;
    char *first;  /* its first host, or NULL: no replicas */
    size_t n;     /* hosts */
    int own;      /* this pod is one of them */
    int chosen;   /* its hosts run ranks */
};
struct hb_vc_job {
    struct hb_vc_task *tasks;
    size_t n;
    int from_env; /* the tasks come from VC_*_HOSTS */
};

/* What variables say of the tasks; NULL: nothing. */
struct hb_vc_said {
    const char *whose;       /* tasks they are, for messages */
    const char *tasks;       /* HPCBOOT_TASKS */
    const char *mpi_host;    /* MPI_HOST of the mpi plugin */
    const char *master_addr; /* of the pytorch plugin, as the next two */
    const char *world_size;
    const char *rank;
    const char *tf_config;   /* TF_CONFIG of the tensorflow plugin */
};

/* volcano_choose.c: which tasks run ranks; the pytorch plugin's master becomes
 * the first of them. *why_out is a static text. Returns the number chosen;
 * negative: HPCBOOT_TASKS names a task that is not there. */
int hb_vc_choose(struct hb_vc_job *job, const struct hb_vc_said *said,
                 const char **why_out, struct hpcboot_error *err);
/* 1 when the pytorch plugin has made this a pod of its master or workers. */
int hb_vc_is_torch(const struct hb_vc_job *job, const struct hb_vc_said *said);
/* 1 when the two names belong to one task: all but the index is the same. */
int hb_vc_same_task(const char *a, const char *b);

/* volcano_ssh.c: the port that the ssh plugin's client configuration has for
 * hosts of the gang that `host` is in; 0: none, or not one for all. */
int hb_vc_ssh_port(const char *text, size_t len, const char *host);

#endif
