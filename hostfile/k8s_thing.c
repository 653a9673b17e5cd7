/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Nodes and HyperNodes of the API as values of ours, read by jansson. A member
 * of a kind that is not known holds nothing; what has the wrong type is
 * refused, and named, because an order made of half a network would look like
 * one. */

#include "config.h"

#include "hostfile/k8s_json.h"

#include <jansson.h>
#include <string.h>

#include "hostfile/hostname.h"

/* A tier is a height in a tree of switches. */
#define MAX_TIER 1000000

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int wrong(const char *name, const char *what, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s: expected %s", name, what);
}

/* Values of labels become steps of a path: no blank, no control character. */
static int is_word(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';
         p++) {
        if (*p <= ' ' || *p == 0x7f) {
            return 0;
        }
    }
    return strlen(text) <= HB_K8S_MAX_TEXT;
}

static void read_labels(const json_t *meta, struct hb_k8s_thing *out)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(meta, "labels"), key, value) {
        const char *text = json_string_value(value);
        if (text != NULL && is_word(text) && is_word(key)) {
            hb_strv_pushf(&out->labels, "%s=%s", key, text);
        }
    }
}

static struct hb_k8s_need *add_need(struct hb_k8s_member *m, const char *key)
{
    m->needs = hb_xrealloc(m->needs, (m->n_needs + 1) * sizeof(*m->needs));
    m->needs[m->n_needs] = (struct hb_k8s_need){.key = hb_xstrdup(key)};
    return &m->needs[m->n_needs++];
}

static int read_expression(const json_t *e, struct hb_k8s_member *m)
{
    static const char *const names[] = {
        [HB_K8S_IN] = "In", [HB_K8S_NOT_IN] = "NotIn",
        [HB_K8S_EXISTS] = "Exists", [HB_K8S_ABSENT] = "DoesNotExist",
    };
    const char *key = text_at(e, "key"), *op = text_at(e, "operator");
    struct hb_k8s_need *need;
    size_t i;
    json_t *value;

    for (i = 0; op != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], op) == 0) {
            break;
        }
    }
    if (key == NULL || op == NULL || i == sizeof(names) / sizeof(names[0])) {
        return -1;
    }
    need = add_need(m, key);
    need->op = (enum hb_k8s_operator)i;
    json_array_foreach(json_object_get(e, "values"), i, value) {
        if (!json_is_string(value)) {
            return -1;
        }
        hb_strv_push(&need->values, json_string_value(value));
    }
    return 0;
}

static int read_selector(const json_t *selector, const char *name,
                         struct hb_k8s_member *m, struct hpcboot_error *err)
{
    const char *key;
    json_t *value;
    size_t i;

    m->by_labels = 1;
    json_object_foreach(json_object_get(selector, "matchLabels"), key, value) {
        if (!json_is_string(value)) {
            return wrong(name, "texts in matchLabels", err);
        }
        hb_strv_push(&add_need(m, key)->values, json_string_value(value));
    }
    json_array_foreach(json_object_get(selector, "matchExpressions"), i,
                       value) {
        if (read_expression(value, m) < 0) {
            return wrong(name, "key, operator and values in matchExpressions",
                         err);
        }
    }
    return HPCBOOT_OK;
}

static int read_member(const json_t *member, const char *name,
                       struct hb_k8s_member *m, struct hpcboot_error *err)
{
    const json_t *selector = json_object_get(member, "selector"), *labels;
    const char *exact = text_at(json_object_get(selector, "exactMatch"),
                                "name");
    const char *pattern = text_at(json_object_get(selector, "regexMatch"),
                                  "pattern");
    const char *type = text_at(member, "type");

    if (type == NULL || !json_is_object(selector)) {
        return wrong(name, "a type and a selector in each member", err);
    }
    m->is_node = strcmp(type, "Node") == 0;
    if (exact != NULL) {
        m->name = hb_xstrdup(exact);
    } else if (pattern != NULL) {
        m->pattern = hb_xstrdup(pattern);
    } else if ((labels = json_object_get(selector, "labelMatch")) != NULL &&
               !json_is_null(labels)) {
        return read_selector(labels, name, m, err);
    }
    return HPCBOOT_OK;
}

static int read_spec(const json_t *spec, struct hb_k8s_thing *out,
                     struct hpcboot_error *err)
{
    const json_t *tier = json_object_get(spec, "tier");
    const json_t *members = json_object_get(spec, "members");
    const json_t *member;
    size_t i;
    int rc = HPCBOOT_OK;

    if (members == NULL || json_is_null(members)) {
        return HPCBOOT_OK;
    }
    if (!json_is_array(members) ||
        (tier != NULL && !json_is_integer(tier)) ||
        json_integer_value(tier) < 0 || json_integer_value(tier) > MAX_TIER) {
        return wrong(out->name, "spec.members to be a list, spec.tier to be a "
                     "number", err);
    }
    out->tier = (uint32_t)json_integer_value(tier);
    out->members = hb_xcalloc(json_array_size(members) + 1,
                              sizeof(*out->members));
    for (i = 0; rc >= 0 && i < json_array_size(members); i++) {
        member = json_array_get(members, i);
        rc = read_member(member, out->name, &out->members[out->n_members++],
                         err);
    }
    return rc;
}

int hb_k8s_read_thing(const char *json, size_t len, struct hb_k8s_thing *out,
                      struct hpcboot_error *err)
{
    json_error_t why;
    json_t *top = json_loadb(json, len, 0, &why);
    const json_t *meta = json_object_get(top, "metadata");
    const char *name = text_at(meta, "name");
    size_t at;
    int rc;

    memset(out, 0, sizeof(*out));
    if (top == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%d:%d: %s", why.line,
                       why.column, why.text);
    }
    if (name == NULL || hb_hostname_wrong(name, &at) != NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE,
                     "expected a name in metadata.name");
    } else {
        out->name = hb_xstrdup(name);
        read_labels(meta, out);
        rc = read_spec(json_object_get(top, "spec"), out, err);
    }
    json_decref(top);
    if (rc < 0) {
        hb_k8s_thing_destroy(out);
    }
    return rc;
}
