/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_KUBEPODS_H
#define HB_TESTS_UNIT_KUBEPODS_H

#include "tests/unit/kubeapi.h"

/* Pods as tests/fakes/kubeapi.py lists them. */

/* A pod: name, marks, more of its metadata, spec, status. */
static inline char *pod(const char *name, const char *labels,
                        const char *spec, const char *status)
{
    return hb_xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%s\","
                        "\"resourceVersion\":\"1\",\"creationTimestamp\":"
                        "\"2026-01-01T00:00:00Z\",%s},\"spec\":{%s},"
                        "\"status\":{%s}}", name, name, labels, spec, status);
}

#define RUNS(ip) "\"phase\":\"Running\",\"podIP\":\"" ip "\",\"conditions\":" \
    "[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define LABELS(more) "\"labels\":{" more "}"
#define VC(task, index) LABELS("\"volcano.sh/job-name\":\"lm\","             \
    "\"volcano.sh/task-spec\":\"" task "\",\"volcano.sh/task-index\":\"" index \
    "\"")

static inline void plan_pods(char *const *pods, const char *more)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_put(&text, "{\"pods\":[");
    for (size_t i = 0; pods[i] != NULL; i++) {
        hb_str_putf(&text, "%s%s", i > 0 ? "," : "", pods[i]);
        free(pods[i]);
    }
    hb_str_putf(&text, "]%s}", more);
    plan(text.s);
    hb_str_destroy(&text);
}

#define EVENT(type) "{\"type\":\"" type "\",\"object\":%s}"

/* What a watch brings after the list. */
static inline void plan_event(char *const *pods, char *event)
{
    char *more = hb_xasprintf(",\"watches\":[[" EVENT("MODIFIED")
                              ",\"hold\"]]", event);

    plan_pods(pods, more);
    free(more);
    free(event);
}

/* Of a status: a condition; and a pod whose container fetch has ended, beside
 * main. */
#define CONDITION(type, status, reason, message) "\"conditions\":[{\"type\":" \
    "\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason             \
    "\",\"message\":\"" message "\"}]"
#define BESIDE(ip, ready, fetch, main) "\"phase\":\"Running\",\"podIP\":\"" ip \
    "\"," CONDITION("Ready", ready, "x", "y") ",\"containerStatuses\":["       \
    "{\"name\":\"fetch\",\"state\":{\"terminated\":{\"exitCode\":" fetch       \
    "}}},{\"name\":\"main\",\"state\":{" main "}}]"
#define RUNNING "\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}"

#endif
