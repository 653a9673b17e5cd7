/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The working directories of ranks: hbrun's own where nobody names one, and
 * what is named, which counts from there on every host. Hosts are told whole
 * paths: an agent may begin anywhere, as a login does in HOME.
 *
 * hbrun's own is named as its shell has it, through the links by which the user
 * went there: where these lead may be another place on each host. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "lib/base/str.h"

/* PWD, where that is what it names; or NULL. */
static const char *named_by_shell(void)
{
    const char *name = getenv("PWD");
    struct stat here, there;

    return name != NULL && name[0] == '/' && strlen(name) < PATH_MAX &&
           strstr(name, "/./") == NULL && strstr(name, "/../") == NULL &&
           stat(".", &here) == 0 && stat(name, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino
               ? name : NULL;
}

/* NULL: it cannot be told, and errno says why. */
static const char *own_wdir(char path[PATH_MAX])
{
    const char *name = named_by_shell();

    return name != NULL ? name : getcwd(path, PATH_MAX);
}

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
    const char *own = own_wdir(path);

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
    const char *own = own_wdir(path);

    for (uint32_t i = 0; own != NULL && i < opt->n_apps; i++) {
        char *named = opt->apps[i].wdir;

        if (named != NULL && named[0] != '/') {
            opt->apps[i].wdir = hb_xasprintf("%s/%s", own, named);
            free(named);
        }
    }
}
