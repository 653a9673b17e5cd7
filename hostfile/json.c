/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reads the JSON texts that sources know: TF_CONFIG, Flux's resource set and
 * the claims of a service account's token. jansson checks the syntax; what is
 * checked here is that each value is of the kind that is expected, and the
 * text says which is not. */

#include "config.h"

#include "hostfile/json.h"

#include <jansson.h>
#include <string.h>

#include "lib/base/str.h"

/* TF_CONFIG of 10,000 hosts is half a megabyte; R of as many less. */
#define MAX_BYTES (16u << 20)

static int load(const char *what, const char *text, size_t len, json_t **out,
                struct hpcboot_error *err)
{
    json_error_t why;

    if (len > MAX_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "%s: expected at most %u bytes", what, MAX_BYTES);
    }
    *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (*out == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%d:%d: %s", what, why.line,
                       why.column, why.text);
    }
    return HPCBOOT_OK;
}

static int wrong(const char *what, const char *expected,
                 struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s: expected %s", what, expected);
}

#define TF "TF_CONFIG"

/* "host:2222" or "[v6]:2222" without the port. */
static int add_address(struct hb_strv *members, const json_t *value,
                       struct hpcboot_error *err)
{
    const char *text = json_string_value(value), *colon;
    const char *from = text;

    if (text == NULL || text[0] == '\0') {
        return wrong(TF, "every member of a role to be \"host:port\"", err);
    }
    colon = strrchr(text, ':');
    if (text[0] == '[' && strchr(text, ']') != NULL) {
        from = text + 1;
        colon = strchr(text, ']');
    }
    hb_strv_take(members, hb_xstrndup(from, colon != NULL
                                                ? (size_t)(colon - from)
                                                : strlen(from)));
    return HPCBOOT_OK;
}

/* A list, or (with dynamic workers) an object from index to member. */
static int add_role(struct hb_tf_config *out, json_t *role,
                    struct hpcboot_error *err)
{
    const char *key;
    json_t *value;
    size_t i;
    int rc = HPCBOOT_OK;

    if (json_is_object(role)) {
        out->sparse = 1;
        json_object_foreach(role, key, value) {
            rc = rc < 0 ? rc : add_address(&out->members, value, err);
        }
        return rc;
    }
    if (!json_is_array(role)) {
        return wrong(TF, "each role of \"cluster\" to be a list", err);
    }
    json_array_foreach(role, i, value) {
        rc = rc < 0 ? rc : add_address(&out->members, value, err);
    }
    return rc;
}

static int read_tf_config(const char *text, struct hb_tf_config *out,
                          struct hpcboot_error *err)
{
    /* The one that leads first; evaluators only look on. */
    static const char *const roles[] = {"chief", "master", "worker", "ps",
                                        "evaluator"};
    json_t *top = NULL, *cluster;
    int rc = load(TF, text, strlen(text), &top, err);

    memset(out, 0, sizeof(*out));
    if (rc < 0) {
        return rc;
    }
    cluster = json_object_get(top, "cluster");
    if (!json_is_object(cluster) ||
        !json_is_object(json_object_get(top, "task"))) {
        rc = wrong(TF, "the objects \"cluster\" and \"task\"", err);
    }
    for (size_t i = 0; rc >= 0 && i < sizeof(roles) / sizeof(roles[0]); i++) {
        json_t *role = json_object_get(cluster, roles[i]);
        rc = role != NULL ? add_role(out, role, err) : rc;
    }
    out->cloud = hb_streq(
        json_string_value(json_object_get(top, "environment")), "cloud");
    json_decref(top);
    if (rc < 0) {
        hb_tf_config_destroy(out);
    }
    return rc;
}

#define FLUX "Flux resource set"

static int add_ranks(struct hb_flux_set *out, json_t *entry,
                     struct hpcboot_error *err)
{
    json_t *children = json_object_get(entry, "children");
    const char *ranks = json_string_value(json_object_get(entry, "rank"));
    const char *cores = json_string_value(json_object_get(children, "core"));

    if (ranks == NULL || cores == NULL) {
        return wrong(FLUX, "\"rank\" and \"core\" in each entry of R_lite",
                     err);
    }
    hb_strv_push(&out->ranks, ranks);
    hb_strv_push(&out->cores, cores);
    return HPCBOOT_OK;
}

static int read_set(json_t *top, struct hb_flux_set *out,
                    struct hpcboot_error *err)
{
    json_t *execution = json_object_get(top, "execution"), *value;
    json_t *lite = json_object_get(execution, "R_lite");
    json_t *nodes = json_object_get(execution, "nodelist");
    size_t i;
    int rc = HPCBOOT_OK;

    if (json_integer_value(json_object_get(top, "version")) != 1) {
        return wrong(FLUX, "version 1", err);
    }
    if (!json_is_array(lite) || !json_is_array(nodes)) {
        return wrong(FLUX, "the lists R_lite and nodelist in \"execution\"",
                     err);
    }
    json_array_foreach(lite, i, value) {
        rc = rc < 0 ? rc : add_ranks(out, value, err);
    }
    json_array_foreach(nodes, i, value) {
        if (rc >= 0 && !json_is_string(value)) {
            rc = wrong(FLUX, "nodelist to hold texts", err);
        } else if (rc >= 0) {
            hb_strv_push(&out->nodelist, json_string_value(value));
        }
    }
    return rc;
}

static int read_flux_set(const char *text, size_t len, struct hb_flux_set *out,
                         struct hpcboot_error *err)
{
    json_t *top = NULL;
    int rc = load(FLUX, text, len, &top, err);

    memset(out, 0, sizeof(*out));
    if (rc < 0) {
        return rc;
    }
    rc = read_set(top, out, err);
    json_decref(top);
    if (rc < 0) {
        hb_flux_set_destroy(out);
    }
    return rc;
}

static char *text_of(json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value != NULL ? hb_xstrdup(value) : NULL;
}

static void read_token_pod(const char *text, size_t len, char **pod_out,
                           char **space_out)
{
    json_t *top = NULL, *claims;

    if (load("token", text, len, &top, NULL) >= 0) {
        claims = json_object_get(top, "kubernetes.io");
        *pod_out = text_of(json_object_get(claims, "pod"), "name");
        *space_out = text_of(claims, "namespace");
        json_decref(top);
    }
}

extern const struct hb_gang_json hb_gang_json;
const struct hb_gang_json hb_gang_json = {
    .tf_config = read_tf_config,
    .token_pod = read_token_pod,
    .flux_set = read_flux_set,
};
