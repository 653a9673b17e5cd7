/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMI-2: the dialect of libpmi2 as Slurm's users know it. A rank comes here
 * from PMI-1 with its init line; from then on messages are frames, and every
 * reply repeats the `thrid` of its request, because replies may overtake each
 * other. The table at the end is the protocol.
 *
 * A key that is not there is no error: rc=0 and found=FALSE. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmi.h"
#include "lib/base/str.h"

#define SPAWN_CODES_MAX (HB_PMI2_PAYLOAD_MAX / 4)

/* Begins "cmd=NAME-response;thrid=T;rc=N;". */
static void begin(struct hb_str *out, const char *cmd, const char *thrid,
                  int rc)
{
    hb_str_put(out, "cmd=");
    hb_pmi_put_frame_text(out, cmd);
    hb_str_put(out, "-response;");
    if (thrid != NULL && *thrid != '\0') {
        hb_pmi_put_frame_value(out, "thrid", thrid);
    }
    hb_str_putf(out, "rc=%d;", rc);
}

static int finish(struct hb_pm *pm, struct hb_pmi_rank *rank,
                  struct hb_str *payload)
{
    struct hb_str frame = HB_STR_INIT;

    frame.s = hb_pmi_frame(payload);
    frame.len = strlen(frame.s);
    hb_pmi_send(pm, rank, &frame);
    hb_str_destroy(&frame);
    hb_str_destroy(payload);
    return HPCBOOT_OK;
}

/* An answer that is nothing but success (reason NULL) or a reason. */
static int reply_rc(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    const struct hb_pmi_msg *msg, const char *reason)
{
    struct hb_str out = HB_STR_INIT;

    begin(&out, msg->cmd, hb_pmi_value(msg, "thrid"), reason != NULL ? -1 : 0);
    if (reason != NULL) {
        hb_str_putf(&out, "errmsg=%s;", reason);
    }
    return finish(pm, rank, &out);
}

/* An answer to a question for a value; NULL: not found. */
static void put_found(struct hb_str *out, const char *value)
{
    if (value != NULL) {
        hb_str_put(out, "found=TRUE;");
        hb_pmi_put_frame_value(out, "value", value);
    } else {
        hb_str_put(out, "found=FALSE;");
    }
}

static int reply_found(struct hb_pm *pm, struct hb_pmi_rank *rank,
                       const struct hb_pmi_msg *msg, const char *value)
{
    struct hb_str out = HB_STR_INIT;

    begin(&out, msg->cmd, hb_pmi_value(msg, "thrid"), 0);
    put_found(&out, value);
    return finish(pm, rank, &out);
}

static const char *text_of(const struct hb_pmi_msg *msg, const char *key)
{
    const char *value = hb_pmi_value(msg, key);

    return value != NULL ? value : "";
}

static int on_fullinit(struct hb_pm *pm, struct hb_pmi_rank *rank,
                       const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    struct hb_str out = HB_STR_INIT;

    hb_pmi_contact(pm, rank, HB_PMI_INITIALISED);
    begin(&out, msg->cmd, hb_pmi_value(msg, "thrid"), 0);
    hb_str_putf(&out,
                "pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=%u;"
                "debugged=FALSE;pmiverbose=FALSE;",
                rank->rank, pm->job->map->n_ranks,
                hb_jobmap_app_of(pm->job->map, rank->rank));
    if (pm->job->parent_id != NULL) { /* by this alone clients know */
        hb_pmi_put_frame_value(&out, "spawner-jobid", pm->job->parent_id);
    }
    return finish(pm, rank, &out);
}

static int on_job_getid(struct hb_pm *pm, struct hb_pmi_rank *rank,
                        const struct hb_pmi_msg *msg,
                        struct hpcboot_error *err)
{
    struct hb_str out = HB_STR_INIT;

    begin(&out, msg->cmd, hb_pmi_value(msg, "thrid"), 0);
    hb_pmi_put_frame_value(&out, "jobid", pm->job->job_id);
    return finish(pm, rank, &out);
}

static int on_putnodeattr(struct hb_pm *pm, struct hb_pmi_rank *rank,
                          const struct hb_pmi_msg *msg,
                          struct hpcboot_error *err)
{
    const char *reason = hb_pmi_node_put(pm, text_of(msg, "key"),
                                         text_of(msg, "value"));

    return reply_rc(pm, rank, msg, reason);
}

static void nodeattr_came(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                          const char *value)
{
    struct hb_str out = HB_STR_INIT;

    begin(&out, "info-getnodeattr", to->thrid, 0);
    put_found(&out, value);
    (void)finish(pm, to->rank, &out);
}

static int on_getnodeattr(struct hb_pm *pm, struct hb_pmi_rank *rank,
                          const struct hb_pmi_msg *msg,
                          struct hpcboot_error *err)
{
    const char *key = text_of(msg, "key");
    const char *value = hb_pmi_node_get(pm, key);

    if (value == NULL && strcmp(text_of(msg, "wait"), "TRUE") == 0) {
        hb_pmi_node_wait(pm, key, rank, hb_pmi_value(msg, "thrid"),
                         nodeattr_came);
        return HPCBOOT_OK;
    }
    return reply_found(pm, rank, msg, value);
}

static int on_getjobattr(struct hb_pm *pm, struct hb_pmi_rank *rank,
                         const struct hb_pmi_msg *msg,
                         struct hpcboot_error *err)
{
    const char *key = text_of(msg, "key"), *value = NULL;
    char *universe = hb_xasprintf("%u", hb_pmi_universe(pm));
    int rc;

    if (strcmp(key, "universeSize") == 0) {
        value = universe;
    } else if (strcmp(key, "hasNameServ") == 0) {
        value = "TRUE";
    } else {
        value = hb_pmi_get(pm, key);
    }
    rc = reply_found(pm, rank, msg, value);
    free(universe);
    return rc;
}

static int on_kvs_put(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    return reply_rc(pm, rank, msg, hb_pmi_put(pm, rank, text_of(msg, "key"),
                                              text_of(msg, "value")));
}

/* `srcid` says who has put it; the answer is the same without. */
static int on_kvs_get(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *job = hb_pmi_value(msg, "jobid");
    int ours = job == NULL || *job == '\0' ||
               strcmp(job, pm->job->job_id) == 0;

    return reply_found(pm, rank, msg,
                       ours ? hb_pmi_get(pm, text_of(msg, "key")) : NULL);
}

static int on_kvs_fence(struct hb_pm *pm, struct hb_pmi_rank *rank,
                        const struct hb_pmi_msg *msg,
                        struct hpcboot_error *err)
{
    return hb_pmi_join(pm, rank, NULL, hb_pmi_value(msg, "thrid"), err);
}

static void fence_over(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                       int status)
{
    struct hb_str out = HB_STR_INIT;

    begin(&out, "kvs-fence", to->thrid, status < 0 ? -1 : 0);
    if (status < 0) {
        hb_str_putf(&out, "errmsg=%s;", hb_status_name(status));
    }
    (void)finish(pm, to->rank, &out);
}

static int on_name_publish(struct hb_pm *pm, struct hb_pmi_rank *rank,
                           const struct hb_pmi_msg *msg,
                           struct hpcboot_error *err)
{
    hb_pmi_name(pm, rank, HB_PM_PUBLISH, text_of(msg, "name"),
                text_of(msg, "port"), hb_pmi_value(msg, "thrid"));
    return HPCBOOT_OK;
}

static int on_name_unpublish(struct hb_pm *pm, struct hb_pmi_rank *rank,
                             const struct hb_pmi_msg *msg,
                             struct hpcboot_error *err)
{
    hb_pmi_name(pm, rank, HB_PM_UNPUBLISH, text_of(msg, "name"), NULL,
                hb_pmi_value(msg, "thrid"));
    return HPCBOOT_OK;
}

static int on_name_lookup(struct hb_pm *pm, struct hb_pmi_rank *rank,
                          const struct hb_pmi_msg *msg,
                          struct hpcboot_error *err)
{
    hb_pmi_name(pm, rank, HB_PM_LOOKUP, text_of(msg, "name"), NULL,
                hb_pmi_value(msg, "thrid"));
    return HPCBOOT_OK;
}

/* Slurm's clients read what was looked up as the value, MPICH's as the port. */
static void name_result(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                        enum hb_pm_name_op op, int status, const char *value)
{
    static const char *const cmd[] = {
        [HB_PM_PUBLISH] = "name-publish",
        [HB_PM_LOOKUP] = "name-lookup",
        [HB_PM_UNPUBLISH] = "name-unpublish",
    };
    struct hb_str out = HB_STR_INIT;
    int found = status >= 0 && (op != HB_PM_LOOKUP || value[0] != '\0');

    begin(&out, cmd[op], to->thrid, found ? 0 : -1);
    if (!found) {
        hb_str_putf(&out, "errmsg=%s;", hb_status_name(status));
    } else if (op == HB_PM_LOOKUP) {
        hb_pmi_put_frame_value(&out, "value", value);
        hb_pmi_put_frame_value(&out, "port", value);
    }
    (void)finish(pm, to->rank, &out);
}

/* One code for each process, as clients count them: all have started, or none
 * has. What is more than a frame takes is not there at all. */
static void spawn_result(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                         const struct hb_pm_spawned *answer, uint32_t n_ranks)
{
    struct hb_str out = HB_STR_INIT;
    int failed = answer->status < 0;

    begin(&out, "spawn", to->thrid, failed ? -1 : 0);
    hb_str_putf(&out, "%s=%s;", failed ? "errmsg" : "jobid",
                failed ? hb_status_name(answer->status) : answer->job_id);
    if (n_ranks <= SPAWN_CODES_MAX) {
        hb_str_putf(&out, "nerrs=%u;errcodes=", n_ranks);
        for (uint32_t i = 0; i < n_ranks; i++) {
            hb_str_putf(&out, "%s%d", i > 0 ? "," : "", failed ? -1 : 0);
        }
        hb_str_put(&out, ";");
    }
    (void)finish(pm, to->rank, &out);
}

static int on_connect(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    return reply_rc(pm, rank, msg, "jobs_cannot_be_connected");
}

static int on_abort(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *text = hb_pmi_value(msg, "msg");

    text = text != NULL ? text : text_of(msg, "message");
    pm->host.abort(pm->arg, rank->rank,
                   hb_pmi_exit_code(hb_pmi_value(msg, "exitcode")), text);
    return HPCBOOT_OK;
}

static int on_finalize(struct hb_pm *pm, struct hb_pmi_rank *rank,
                       const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    hb_pmi_contact(pm, rank, HB_PMI_FINALISED);
    return reply_rc(pm, rank, msg, NULL);
}

/* A frame has told its length, so what follows is still in step: the client
 * is told, and goes on. */
static int on_unknown(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    return reply_rc(pm, rank, msg, "unknown_command");
}

static const struct hb_pmi_command commands[] = {
    {"fullinit", on_fullinit},
    {"job-getid", on_job_getid},
    {"info-putnodeattr", on_putnodeattr},
    {"info-getnodeattr", on_getnodeattr},
    {"info-getjobattr", on_getjobattr},
    {"kvs-put", on_kvs_put},
    {"kvs-get", on_kvs_get},
    {"kvs-fence", on_kvs_fence},
    {"name-publish", on_name_publish},
    {"name-unpublish", on_name_unpublish},
    {"name-lookup", on_name_lookup},
    {"spawn", hb_pmi_on_spawn2},
    {"job-connect", on_connect},
    {"job-disconnect", on_connect},
    {"abort", on_abort},
    {"finalize", on_finalize},
    {NULL, NULL},
};

const struct hb_pmi_dialect hb_pmi2_dialect = {
    .name = "pmi2",
    .commands = commands,
    .unknown = on_unknown,
    .next = hb_pmi_next_frame,
    .parse = hb_pmi_parse_frame,
    .fence_reply = fence_over,
    .name_reply = name_result,
    .spawn_reply = spawn_result,
};
