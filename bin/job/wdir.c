/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The working directories of ranks: hbrun's own where nobody names one, and
 * what is named, which counts from there on every host. Hosts are told whole
 * paths: an agent may begin anywhere, as a login does in HOME. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "lib/base/str.h"

/* Nobody needs the one that the launcher has. */
static int have_wdirs(const struct hb_options *o)
{
    size_t i = 0;

    while (i < o->n_apps && o->apps[i].wdir != NULL &&
           o->apps[i].wdir[0] == '/') {
        i++;
    }
    return o->n_apps > 0 && i == o->n_apps;
}

int job_wdir_make(struct job *j, struct hpcboot_error *err)
{
    char path[PATH_MAX];
    const char *own = getcwd(path, sizeof path);

    if (own == NULL && !have_wdirs(j->opt)) {
        return hb_fail_errno(err, HPCBOOT_ERR_USAGE,
                             "the working directory cannot be determined; "
                             "go to another one and start from there");
    }
    j->wdir = hb_xstrdup(own != NULL ? own : "/");
    return 0;
}

void job_wdirs_complete(struct hb_options *opt)
{
    char path[PATH_MAX];
    const char *own = getcwd(path, sizeof path);

    for (uint32_t i = 0; own != NULL && i < opt->n_apps; i++) {
        char *named = opt->apps[i].wdir;

        if (named != NULL && named[0] != '/') {
            opt->apps[i].wdir = hb_xasprintf("%s/%s", own, named);
            free(named);
        }
    }
}
