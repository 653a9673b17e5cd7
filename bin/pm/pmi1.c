/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMI-1, versions 1.1 and 1.2: the dialect of MPICH, Intel MPI and MVAPICH,
 * one line per message. Each handler below answers one command; the table at
 * the end is the protocol. Every rank begins here, also one that goes on to
 * speak PMI-2: the first line asks for the version.
 *
 * Rules that clients depend on: an abort gets no reply (MPICH takes one for
 * the answer to something else); a missing key is answered at once; `key=`
 * with nothing behind it is never sent. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmi.h"
#include "lib/base/str.h"

#define OUR_VERSION 1
#define OUR_SUBVERSION 2 /* 1.2: barriers of groups */
#define NO_TEXT "abort" /* what MPICH 5 says where it has nothing to say */
#define HOSTS_MAX (256u << 10) /* every rank asks for this text */

static int reply(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 struct hb_str *line)
{
    hb_str_putc(line, '\n');
    hb_pmi_send(pm, rank, line);
    hb_str_destroy(line);
    return HPCBOOT_OK;
}

static int reply_rc(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    const char *cmd, const char *reason)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_putf(&line, "cmd=%s rc=%d", cmd, reason != NULL ? -1 : 0);
    hb_pmi_put_line_value(&line, "msg", reason != NULL ? reason : "");
    return reply(pm, rank, &line);
}

static int need(const struct hb_pmi_msg *msg, const char *key,
                const char **out, struct hpcboot_error *err)
{
    *out = hb_pmi_value(msg, key);
    if (*out == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI: %s without %s",
                       msg->cmd, key);
    }
    return HPCBOOT_OK;
}

static int number(const struct hb_pmi_msg *msg, const char *key, int fallback)
{
    const char *text = hb_pmi_value(msg, key);
    int value;

    if (text == NULL || hb_parse_int(text, 0, 1000000, &value) < 0) {
        return fallback;
    }
    return value;
}

/* The version decides the dialect of everything that follows. */
static int on_init(struct hb_pm *pm, struct hb_pmi_rank *rank,
                   const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;
    int version = number(msg, "pmi_version", 0);
    int sub = number(msg, "pmi_subversion", 0);

    hb_str_put(&line, "cmd=response_to_init ");
    if (version == OUR_VERSION) {
        sub = sub < OUR_SUBVERSION ? 1 : OUR_SUBVERSION;
        hb_str_putf(&line, "pmi_version=1 pmi_subversion=%d rc=0", sub);
        hb_pmi_contact(pm, rank, HB_PMI_INITIALISED);
    } else if (version == 2) {
        hb_str_put(&line, "pmi_version=2 pmi_subversion=0 rc=0");
        rank->dialect = &hb_pmi2_dialect;
    } else {
        hb_str_putf(&line, "pmi_version=%d pmi_subversion=%d rc=-1",
                    OUR_VERSION, OUR_SUBVERSION);
    }
    return reply(pm, rank, &line);
}

/* Of clients that came through a port; ours inherit a socket, but some send
 * it all the same. */
static int on_initack(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_putf(&line,
                "cmd=initack rc=0\ncmd=set size=%u\ncmd=set rank=%u\n"
                "cmd=set debug=0", pm->job->map->n_ranks, rank->rank);
    return reply(pm, rank, &line);
}

static int on_get_maxes(struct hb_pm *pm, struct hb_pmi_rank *rank,
                        const struct hb_pmi_msg *msg,
                        struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_putf(&line,
                "cmd=maxes rc=0 kvsname_max=%u keylen_max=%u vallen_max=%u",
                HB_PMI_NAME_MAX, HB_PMI_KEY_MAX, HB_PMI_VALUE_MAX);
    return reply(pm, rank, &line);
}

static int on_get_appnum(struct hb_pm *pm, struct hb_pmi_rank *rank,
                         const struct hb_pmi_msg *msg,
                         struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_putf(&line, "cmd=appnum rc=0 appnum=%u",
                hb_jobmap_app_of(pm->job->map, rank->rank));
    return reply(pm, rank, &line);
}

static int on_get_my_kvsname(struct hb_pm *pm, struct hb_pmi_rank *rank,
                             const struct hb_pmi_msg *msg,
                             struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_put(&line, "cmd=my_kvsname rc=0");
    hb_pmi_put_line_value(&line, "kvsname", pm->job->job_id);
    return reply(pm, rank, &line);
}

static int on_get_universe_size(struct hb_pm *pm, struct hb_pmi_rank *rank,
                                const struct hb_pmi_msg *msg,
                                struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;

    hb_str_putf(&line, "cmd=universe_size rc=0 size=%u", hb_pmi_universe(pm));
    return reply(pm, rank, &line);
}

/* "LEN NAME 0,1,2, " for each node that has ranks; returns their number. */
static uint32_t put_hosts(const struct hb_jobmap *map, struct hb_str *out)
{
    struct hb_str *ranks = hb_xcalloc(map->n_nodes, sizeof(*ranks));
    uint32_t n_hosts = 0;

    for (uint32_t i = 0; i < map->n_ranks; i++) {
        hb_str_putf(&ranks[map->node_of_rank[i]], "%u,", i);
    }
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        const char *name = map->node_names[i];

        if (ranks[i].len > 0) {
            hb_str_putf(out, "%zu %s %s ", strlen(name), name,
                        hb_str_text(&ranks[i]));
            n_hosts++;
        }
        hb_str_destroy(&ranks[i]);
    }
    free(ranks);
    return n_hosts;
}

/* An extension of Intel MPI, whose own launcher answers without `cmd=`: a line
 * with the length of what follows plus one, and the number of hosts; then the
 * hosts. ParaStation's server names none to any job, and clients go on. */
static int on_get_ranks2hosts(struct hb_pm *pm, struct hb_pmi_rank *rank,
                              const struct hb_pmi_msg *msg,
                              struct hpcboot_error *err)
{
    const struct hb_jobmap *map = pm->job->map;
    struct hb_str line = HB_STR_INIT, hosts = HB_STR_INIT;
    uint32_t n_hosts = 0;

    if (map->n_ranks < HOSTS_MAX / sizeof("100000")) {
        n_hosts = put_hosts(map, &hosts);
        hb_str_putc(&hosts, '\n');
    }
    if (n_hosts > 0 && hosts.len <= HOSTS_MAX) {
        hb_str_putf(&line, "put_ranks2hosts %zu %u\n%s", hosts.len + 1,
                    n_hosts, hb_str_text(&hosts));
    } else {
        hb_str_put(&line, "put_ranks2hosts 0 0\n");
    }
    hb_pmi_send(pm, rank, &line);
    hb_str_destroy(&line);
    hb_str_destroy(&hosts);
    return HPCBOOT_OK;
}

static int on_put(struct hb_pm *pm, struct hb_pmi_rank *rank,
                  const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *key, *value = hb_pmi_value(msg, "value");
    int rc = need(msg, "key", &key, err);

    if (rc < 0) {
        return rc;
    }
    return reply_rc(pm, rank, "put_result",
                    hb_pmi_put(pm, rank, key, value != NULL ? value : ""));
}

static int on_get(struct hb_pm *pm, struct hb_pmi_rank *rank,
                  const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    struct hb_str line = HB_STR_INIT;
    const char *name = hb_pmi_value(msg, "kvsname");
    const char *key, *value = NULL;
    int rc = need(msg, "key", &key, err);

    if (rc < 0) {
        return rc;
    }
    if (name == NULL || strcmp(name, pm->job->job_id) == 0) {
        value = hb_pmi_get(pm, key);
    }
    if (value != NULL) {
        hb_str_put(&line, "cmd=get_result rc=0");
        hb_pmi_put_line_value(&line, "value", value);
    } else {
        hb_str_put(&line, "cmd=get_result rc=-1 found=FALSE "
                          "msg=key_not_found");
    }
    return reply(pm, rank, &line);
}

static int on_barrier_in(struct hb_pm *pm, struct hb_pmi_rank *rank,
                         const struct hb_pmi_msg *msg,
                         struct hpcboot_error *err)
{
    return hb_pmi_join(pm, rank, hb_pmi_value(msg, "group"), NULL, err);
}

static void barrier_out(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                        int status)
{
    struct hb_str line = HB_STR_INIT;
    const char *tag = to->group != NULL ? strchr(to->group, ':') : NULL;

    hb_str_putf(&line, "cmd=barrier_out rc=%d", status < 0 ? -1 : 0);
    if (to->group != NULL) {
        hb_pmi_put_line_value(&line, "group", to->group);
    }
    if (tag != NULL) {
        hb_pmi_put_line_value(&line, "tag", tag + 1);
    }
    hb_pmi_put_line_value(&line, "msg",
                          status < 0 ? hb_status_name(status) : "");
    (void)reply(pm, to->rank, &line);
}

static int on_finalize(struct hb_pm *pm, struct hb_pmi_rank *rank,
                       const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    hb_pmi_contact(pm, rank, HB_PMI_FINALISED);
    return reply_rc(pm, rank, "finalize_ack", NULL);
}

/* Clients do not escape the blanks of their message, so the words behind it
 * have become pairs; it is their last value, and they are put together. */
static void whole_message(const struct hb_pmi_msg *msg, struct hb_str *out)
{
    size_t i = 0;

    while (i < msg->n_pairs && strcmp(msg->pairs[i].key, "message") != 0) {
        i++;
    }
    if (i == msg->n_pairs) {
        return;
    }
    hb_str_put(out, msg->pairs[i].value != NULL ? msg->pairs[i].value : "");
    for (i++; i < msg->n_pairs; i++) {
        const char *value = msg->pairs[i].value;

        hb_str_putf(out, " %s%s%s", msg->pairs[i].key,
                    value != NULL ? "=" : "", value != NULL ? value : "");
    }
}

static int on_abort(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    const char *code = hb_pmi_value(msg, "exitcode");

    code = code != NULL ? code : hb_pmi_value(msg, "exit_code");
    whole_message(msg, &text);
    pm->host.abort(pm->arg, rank->rank, hb_pmi_exit_code(code),
                   hb_streq(hb_str_text(&text), NO_TEXT)
                       ? "" : hb_str_text(&text));
    hb_str_destroy(&text);
    return HPCBOOT_OK;
}

static int on_publish(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *name, *port;
    int rc = need(msg, "service", &name, err);

    rc = rc == 0 ? need(msg, "port", &port, err) : rc;
    if (rc == 0) {
        hb_pmi_name(pm, rank, HB_PM_PUBLISH, name, port, NULL);
    }
    return rc;
}

static int on_unpublish(struct hb_pm *pm, struct hb_pmi_rank *rank,
                        const struct hb_pmi_msg *msg,
                        struct hpcboot_error *err)
{
    const char *name;
    int rc = need(msg, "service", &name, err);

    if (rc == 0) {
        hb_pmi_name(pm, rank, HB_PM_UNPUBLISH, name, NULL, NULL);
    }
    return rc;
}

static int on_lookup(struct hb_pm *pm, struct hb_pmi_rank *rank,
                     const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *name;
    int rc = need(msg, "service", &name, err);

    if (rc == 0) {
        hb_pmi_name(pm, rank, HB_PM_LOOKUP, name, NULL, NULL);
    }
    return rc;
}

/* `info` is what clients up to MPICH 3 look at, `rc` the later ones. */
static void name_result(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                        enum hb_pm_name_op op, int status, const char *value)
{
    static const char *const cmd[] = {
        [HB_PM_PUBLISH] = "publish_result",
        [HB_PM_LOOKUP] = "lookup_result",
        [HB_PM_UNPUBLISH] = "unpublish_result",
    };
    struct hb_str line = HB_STR_INIT;
    int found = status >= 0 && (op != HB_PM_LOOKUP || value[0] != '\0');

    hb_str_putf(&line, "cmd=%s rc=%d info=%s", cmd[op], found ? 0 : -1,
                found ? "ok" : "failed");
    if (op == HB_PM_LOOKUP && found) {
        hb_pmi_put_line_value(&line, "port", value);
    }
    hb_pmi_put_line_value(&line, "msg", found ? "" : hb_status_name(status));
    (void)reply(pm, to->rank, &line);
}

/* Without error codes of each process: all have started, or none has. */
static void spawn_result(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                         const struct hb_pm_spawned *answer, uint32_t n_ranks)
{
    (void)reply_rc(pm, to->rank, "spawn_result",
                   answer->status < 0 ? hb_status_name(answer->status) : NULL);
}

/* A process without a launcher asks to be adopted; ours all have one. */
static int on_singinit(struct hb_pm *pm, struct hb_pmi_rank *rank,
                       const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    return reply_rc(pm, rank, "singinit_info", "this_rank_was_launched");
}

static int on_unknown(struct hb_pm *pm, struct hb_pmi_rank *rank,
                      const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                   "PMI-1 knows no command \"%.64s\"", msg->cmd);
}

static const struct hb_pmi_command commands[] = {
    {"init", on_init},
    {"initack", on_initack},
    {"get_maxes", on_get_maxes},
    {"get_appnum", on_get_appnum},
    {"get_my_kvsname", on_get_my_kvsname},
    {"get_universe_size", on_get_universe_size},
    {"get_ranks2hosts", on_get_ranks2hosts},
    {"put", on_put},
    {"get", on_get},
    {"barrier_in", on_barrier_in},
    {"finalize", on_finalize},
    {"abort", on_abort},
    {"publish_name", on_publish},
    {"unpublish_name", on_unpublish},
    {"lookup_name", on_lookup},
    {"spawn", hb_pmi_on_spawn1},
    {"singinit", on_singinit},
    {NULL, NULL},
};

const struct hb_pmi_dialect hb_pmi1_dialect = {
    .name = "pmi1",
    .commands = commands,
    .unknown = on_unknown,
    .next = hb_pmi_next_line,
    .parse = hb_pmi_parse_line,
    .fence_reply = barrier_out,
    .name_reply = name_result,
    .spawn_reply = spawn_result,
};
