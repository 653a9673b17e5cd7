/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The job's directory on this host, and the files that the launcher hands
 * over before the job: SESSION belongs to the servers, SESSION/files to the
 * ranks, so that no file can take the name of a socket. Both end with the
 * job; where the agent cannot remove them the guard does.
 *
 * A file that cannot be kept makes the host useless for the job. The agent
 * says so and then only listens, so that its last words are read by a
 * launcher that is still writing. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "bin/hpcbootd/agent.h"
#include "bin/proc/guard.h"
#include "bin/proc/stage.h"
#include "bin/proc/stale.h"
#include "lib/base/str.h"

/* So many bytes of files are reported at a time; far below what is allowed to
 * be under way (bin/job/files.c). */
#define TAKEN_STEP (256u << 10)

static int make_files_dir(struct agent *a, struct hpcboot_error *err)
{
    char *path = hb_xasprintf("%s/files", a->session_dir);
    int rc = 0;

    if (mkdir(path, S_IRWXU) < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_HOST,
                           "the directory %s cannot be made", path);
        free(path);
    } else {
        a->files_dir = path;
    }
    return rc;
}

/* Made when first needed. */
static int session_open(struct agent *a, enum hb_session_use use,
                        struct hpcboot_error *err)
{
    int rc = 0;

    if (a->session_dir == NULL) {
        rc = hb_session_dir_create(a->job_id, a->host, use, &a->session_dir,
                                   err);
        if (rc == 0) {
            hb_guard_set_session_dir(a->session_dir);
            (void)hb_owner_write(a->session_dir, a->cookie, NULL);
        }
    }
    return rc == 0 && a->files_dir == NULL ? make_files_dir(a, err) : rc;
}

/* A PMIx server has files, and so may a recipe and the job; all others do on a
 * host that is read-only. */
static int is_needed(const struct agent *a)
{
    int needed = a->job.family == HB_PM_PMIX || agent_recipe_puts_files(a);

    for (uint32_t i = 0; i < a->job.n_apps_known; i++) {
        needed |= a->job.apps[i].program != NULL ||
                  a->job.apps[i].session_wdir;
    }
    return needed;
}

/* Now that the directory has a name: what of an app lies in it. */
static void place_app(struct agent *a, uint32_t i)
{
    struct agent_app *app = &a->job.apps[i];
    char *name = app->program;

    if (name != NULL) {
        app->program = hb_xasprintf("%s/%s", a->files_dir, name);
        free(name);
    }
    if (app->session_wdir) {
        free(app->wdir);
        app->wdir = hb_xstrdup(a->files_dir);
        app->wdir_given = 1;
        a->job.pm_apps[i].wdir = app->wdir;
    }
}

int agent_session_settle(struct agent *a, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    int needed = is_needed(a);
    int rc = session_open(a, needed ? HB_SESSION_KEEPS : HB_SESSION_BARE,
                          &why);

    if (rc < 0) {
        return needed ? hb_fail(err, rc, "%s", why.text) : 0;
    }
    for (uint32_t i = 0; i < a->job.n_apps_known; i++) {
        place_app(a, i);
    }
    return 0;
}

/* Whatever the file system says concerns this host; a launcher that breaks
 * the protocol concerns the link. */
static int settle(struct agent *a, int rc, const struct hpcboot_error *why,
                  struct hpcboot_error *err)
{
    if (rc == HPCBOOT_ERR_PROTOCOL) {
        return hb_fail(err, rc, "%s", why->text);
    }
    if (rc < 0) {
        a->refused = 1;
        AGENT_SEND(a, failed, .code = why->code, .text = why->text);
    }
    return 0;
}

int agent_file_frame(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_msg_file m;
    int rc = hb_wire_get_file(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->job.map != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "FILE came out of turn");
    }
    rc = session_open(a, HB_SESSION_COPIES, &why);
    if (rc == 0 && a->files.dir < 0) {
        rc = hb_deposit_open(&a->files, a->files_dir, &why);
    }
    if (rc == 0) {
        rc = hb_deposit_begin(&a->files, m.name, m.mode, m.size, &why);
    }
    return settle(a, rc, &why, err);
}

int agent_file_data_frame(struct agent *a, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_msg_file_data m;
    int rc = hb_wire_get_file_data(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (!a->refused) {
        rc = hb_deposit_data(&a->files, m.data.data, m.data.len, &why);
        rc = settle(a, rc, &why, err);
    }
    a->files_in += m.data.len;
    agent_file_taken(a);
    return rc;
}

void agent_file_taken(struct agent *a)
{
    uint64_t taken = a->files_in - agent_files_below(a);

    if (taken >= a->files_told + TAKEN_STEP) {
        a->files_told = taken;
        AGENT_SEND(a, file_taken, .bytes = taken);
    }
}

void agent_session_destroy(struct agent *a)
{
    hb_deposit_close(&a->files);
    if (a->session_dir != NULL) {
        hb_session_dir_remove(a->session_dir);
    }
    if (a->shm_dir != NULL) {
        hb_session_dir_remove(a->shm_dir);
    }
}
