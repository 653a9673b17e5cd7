/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The group of a LeaderWorkerSet that this pod is in. LWS_LEADER_ADDRESS is
 * "LEADER.SUBDOMAIN.NAMESPACE", LWS_GROUP_SIZE counts the leader in; workers
 * are LEADER-1 to LEADER-(size-1) in the same subdomain. */

#include "config.h"

#include "hostfile/source.h"

#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

/* Of IPv4 and IPv6. No name of a pod is made of these alone: it begins with
 * the LeaderWorkerSet's, in which a "-" follows. */
#define ADDRESS "0123456789abcdefABCDEF.:"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE",
                                        NULL};
    const char *leader = hb_source_env(req, "LWS_LEADER_ADDRESS");
    struct hb_members m;
    uint64_t size;
    int label, rc;

    if (!hb_source_all_set(req, names, reason_out)) {
        return 0;
    }
    if (leader[0] == '\0') {
        *reason_out = hb_xstrdup("LWS_LEADER_ADDRESS is empty");
        hb_source_note_unused(out, "LeaderWorkerSet", *reason_out);
        return 0;
    }
    if (!hb_source_count(req, "LeaderWorkerSet", "LWS_GROUP_SIZE", 1, &size,
                         out, reason_out)) {
        return 0;
    }
    if (leader[strspn(leader, ADDRESS)] == '\0') {
        *reason_out = hb_xasprintf("LWS_LEADER_ADDRESS is %.100s, an address "
                                   "and not the leader's name", leader);
        hb_source_note_several(out, "LeaderWorkerSet", size, *reason_out);
        return 0;
    }
    label = (int)strcspn(leader, ".");
    hb_members_begin(&m, "LWS_GROUP_SIZE", 0);
    hb_members_add(&m, err, "%s", leader);
    for (uint64_t i = 1; i < size && m.failed >= 0; i++) {
        hb_members_add(&m, err, "%.*s-%llu%s", label, leader,
                       (unsigned long long)i, leader + label);
    }
    rc = hb_members_end(&m, req, out);
    if (rc >= 0) {
        rc = hb_source_take_index(req, "LWS_WORKER_INDEX", "LWS_GROUP_SIZE",
                                  out, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_source_operator_made(req, out, "LWS_LEADER_ADDRESS and LWS_GROUP_SIZE");
    return 1;
}

const struct hb_source hb_source_lws = {
    .name = "LeaderWorkerSet", .own_hosts = 1, .ask = ask};
