/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Cuts answers of the Kubernetes API into objects while they arrive, so that
 * neither the length of a list nor of a watch decides how much memory is
 * needed, and a list can be read while the server still writes it.
 *
 * Only brackets and strings are told apart here; whether an object is good
 * JSON is found by its reader. Half of a pod is of no interest to anybody
 * (which manager owns which field, volumes, variables): such values are
 * replaced by null before they are parsed, which halves the cost.
 *
 * Bounded are the depth, the size of one object, and the text around them. */

#include "config.h"

#include "hostfile/k8s_cut.h"

#include <string.h>

/* Members whose value, an array or an object, is dropped wherever it is. */
static const char *const dropped[] = {
    "managedFields", "volumes", "volumeMounts", "tolerations", "env",
    "envFrom", "command", "args", "affinity", "ports",
};

void hb_k8s_cut_begin(struct hb_k8s_cut *c, enum hb_k8s_cut_kind kind,
                      int (*take)(void *, const char *, size_t,
                                  struct hpcboot_error *), void *arg)
{
    memset(c, 0, sizeof(*c));
    c->kind = kind;
    c->take = take;
    c->arg = arg;
}

void hb_k8s_cut_destroy(struct hb_k8s_cut *c)
{
    hb_str_destroy(&c->object);
    hb_str_destroy(&c->head);
}

static int fail(const struct hb_k8s_cut *c, int code, const char *what,
                struct hpcboot_error *err)
{
    return hb_fail(err, code, "after byte %llu: %s",
                   (unsigned long long)c->n_bytes, what);
}

/* Keeps the bytes from `from` up to `to`. */
static int keep(struct hb_k8s_cut *c, const char *from, const char *to,
                struct hpcboot_error *err)
{
    struct hb_str *where = c->in_object ? &c->object : &c->head;
    size_t n = (size_t)(to - from);

    /* Between the items stand but commas. */
    if (c->drop_depth > 0 || n == 0 || (c->in_items && !c->in_object)) {
        return HPCBOOT_OK;
    }
    if (where->len + n > (c->in_object ? HB_K8S_MAX_OBJECT : HB_K8S_MAX_HEAD)) {
        return fail(c, HPCBOOT_ERR_LIMIT,
                    c->in_object ? "an object is larger than 4 MiB"
                                 : "a list has more than 64 KiB beside its "
                                   "items", err);
    }
    hb_str_putn(where, from, n);
    return HPCBOOT_OK;
}

static void end_key(struct hb_k8s_cut *c)
{
    c->key_is_dropped = 0;
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (strlen(dropped[i]) == c->key_len &&
            memcmp(dropped[i], c->key, c->key_len) == 0) {
            c->key_is_dropped = 1;
        }
    }
}

static int key_is(const struct hb_k8s_cut *c, const char *name)
{
    return c->key_len == strlen(name) &&
           memcmp(c->key, name, c->key_len) == 0;
}

/* The rest of a string; returns where it ends, or `end`. */
static const char *walk_string(struct hb_k8s_cut *c, const char *p,
                               const char *end)
{
    for (; p < end; p++) {
        if (c->escaped) {
            c->escaped = 0;
        } else if (*p == '\\') {
            c->escaped = 1;
        } else if (*p == '"') {
            c->in_string = 0;
            end_key(c);
            return p + 1;
        }
        if (c->key_len < sizeof(c->key)) {
            c->key[c->key_len++] = *p;
        }
    }
    return p;
}

/* An object of interest begins at a bracket outside of any other. */
static int begins_object(const struct hb_k8s_cut *c)
{
    return !c->in_object && (c->kind == HB_K8S_CUT_STREAM
                                 ? c->depth == 0
                                 : c->in_items && c->depth == 2);
}

/* `p` is at a "{" or "[", up to which the text is kept. */
static int open_bracket(struct hb_k8s_cut *c, const char *p,
                        struct hpcboot_error *err)
{
    if (c->depth == HB_K8S_MAX_DEPTH) {
        return fail(c, HPCBOOT_ERR_LIMIT, "nested more than 64 deep", err);
    }
    if (c->depth == 0 && *p == '[') {
        return fail(c, HPCBOOT_ERR_PARSE, "expected an object", err);
    }
    if (c->depth == 0 && c->kind == HB_K8S_CUT_LIST && c->begun) {
        return fail(c, HPCBOOT_ERR_PARSE, "expected nothing after the list",
                    err);
    }
    if (begins_object(c)) {
        if (*p != '{') {
            return fail(c, HPCBOOT_ERR_PARSE,
                        "expected an object in \"items\"", err);
        }
        c->in_object = 1;
    } else if (c->in_object && c->drop_depth == 0 && c->key_is_dropped) {
        hb_str_put(&c->object, "null");
        c->drop_depth = c->depth + 1;
    }
    c->open[c->depth++] = *p == '{' ? '}' : ']';
    if (c->kind == HB_K8S_CUT_LIST && c->depth == 2 && *p == '[' &&
        key_is(c, "items")) {
        c->in_items = 1;
    }
    c->key_is_dropped = 0;
    c->begun = 1;
    return HPCBOOT_OK;
}

/* 1 when the bracket ends an object of interest. */
static int close_bracket(struct hb_k8s_cut *c, char bracket,
                         struct hpcboot_error *err)
{
    int outside = c->kind == HB_K8S_CUT_STREAM ? 0 : 2;

    if (c->depth == 0 || c->open[c->depth - 1] != bracket) {
        return fail(c, HPCBOOT_ERR_PARSE, "a bracket that closes nothing",
                    err);
    }
    c->depth--;
    c->key_is_dropped = 0;
    if (c->in_items && c->depth == 1) {
        c->in_items = 0;
    }
    return c->in_object && c->depth == outside;
}

static int hand_out(struct hb_k8s_cut *c, struct hpcboot_error *err)
{
    int rc = c->take(c->arg, c->object.s, c->object.len, err);

    c->in_object = 0;
    c->n_objects++;
    c->object.len = 0;
    return rc < 0 ? rc : HPCBOOT_OK;
}

/* Between objects stand blanks, and commas in a list. */
static int is_between(const struct hb_k8s_cut *c, char b)
{
    return strchr(c->in_items ? " \t\r\n,\0" : " \t\r\n", b) != NULL &&
           b != '\0';
}

/* One bracket at *p; moves *kept to where the text goes on. */
static int walk_bracket(struct hb_k8s_cut *c, const char *p, const char **kept,
                        struct hpcboot_error *err)
{
    int opens = *p == '{' || *p == '[', in_items = c->in_items, rc;

    if (opens) {
        rc = keep(c, *kept, p, err);
        *kept = p;
        rc = rc < 0 ? rc : open_bracket(c, p, err);
        if (rc >= 0 && c->in_items && !in_items) {
            hb_str_put(&c->head, "[");
        }
        return rc;
    }
    rc = close_bracket(c, *p, err);
    if (rc < 0) {
        return rc;
    }
    if (in_items && !c->in_items) {
        *kept = p;
    }
    if (c->drop_depth > 0 && c->depth < c->drop_depth) {
        c->drop_depth = 0;
        *kept = p + 1;
    }
    if (rc > 0) {
        rc = keep(c, *kept, p + 1, err);
        *kept = p + 1;
        return rc < 0 ? rc : hand_out(c, err);
    }
    return HPCBOOT_OK;
}

int hb_k8s_cut_feed(struct hb_k8s_cut *c, const char *data, size_t len,
                    struct hpcboot_error *err)
{
    const char *p = data, *kept = data, *end = data + len;
    int rc = HPCBOOT_OK;

    while (rc >= 0 && p < end) {
        if (c->in_string) {
            p = walk_string(c, p, end);
            continue;
        }
        switch (*p) {
        case '"':
            c->in_string = 1;
            c->key_len = 0;
            break;
        case '{': case '[': case '}': case ']':
            rc = walk_bracket(c, p, &kept, err);
            break;
        case ',':
            c->key_is_dropped = 0;
            break;
        default:
            break;
        }
        if (rc >= 0 && !c->in_object && (c->depth == 0 || c->in_items) &&
            strchr("{}[]", *p) == NULL && !is_between(c, *p)) {
            rc = fail(c, HPCBOOT_ERR_PARSE, "expected an object", err);
        }
        p++;
    }
    c->n_bytes += len;
    return rc < 0 ? rc : keep(c, kept, end, err);
}

int hb_k8s_cut_end(const struct hb_k8s_cut *c, struct hpcboot_error *err)
{
    if (c->depth > 0 || c->in_string ||
        (c->kind == HB_K8S_CUT_LIST && !c->begun)) {
        return fail(c, HPCBOOT_ERR_PARSE,
                    "the answer ends before its last bracket", err);
    }
    return HPCBOOT_OK;
}
