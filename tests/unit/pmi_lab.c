/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See pmi_lab.h. Plays the agent to each server: keeps what is sent, gathers
 * the nodes of a fence, remembers one published name. */
#include "config.h"

#include "tests/unit/pmi_lab.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (1u << 20)

static void on_send(void *arg, uint32_t rank, const void *data, size_t len)
{
    struct lab_node *node = arg;

    hb_str_putn(&node->lab->told[rank], data, len);
}

static struct lab_fence *fence_of(struct lab *lab, struct hb_bytes key)
{
    for (int i = 0; i < LAB_FENCES; i++) {
        struct lab_fence *f = &lab->fence[i];

        if (f->key != NULL && strlen(f->key) == key.len &&
            memcmp(f->key, key.data, key.len) == 0) {
            return f;
        }
    }
    for (int i = 0; i < LAB_FENCES; i++) {
        if (lab->fence[i].key == NULL) {
            lab->fence[i].key = hb_xstrndup(key.data, key.len);
            hb_buf_init(&lab->fence[i].data, ROOM);
            return &lab->fence[i];
        }
    }
    return NULL; /* a fuzzer can open more than any test; they stay open */
}

static void on_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct lab_node *node = arg;
    struct lab_fence *f = fence_of(node->lab, key);

    if (f == NULL) {
        return;
    }
    f->n_nodes = n_nodes;
    f->joined[f->n_joined++] = node->number;
    hb_buf_put_u32(&f->data, node->number);
    hb_buf_put_blob(&f->data, data.data, data.len);
    node->lab->fence_bytes += data.len;
}

static void on_abort(void *arg, uint32_t rank, int code, const char *text)
{
    struct lab *lab = ((struct lab_node *)arg)->lab;

    lab->aborted++;
    lab->abort_rank = rank;
    lab->abort_code = code;
    free(lab->abort_text);
    lab->abort_text = hb_xstrdup(text);
}

static void on_contact(void *arg, uint32_t rank, unsigned bits)
{
    struct lab *lab = ((struct lab_node *)arg)->lab;

    lab->contact[rank] |= bits;
    lab->n_contacts[rank]++;
}

static void on_modex(void *arg, uint64_t id, uint32_t rank)
{
    abort(); /* PMI never asks */
}

static void on_name(void *arg, uint64_t id, enum hb_pm_name_op op,
                    const char *name, struct hb_bytes value)
{
    struct lab_node *node = arg;
    struct lab *lab = node->lab;

    if (lab->n_asked == LAB_NAMES) {
        return;
    }
    lab->asked[lab->n_asked].node = node->number;
    lab->asked[lab->n_asked].id = id;
    lab->asked[lab->n_asked].op = op;
    lab->asked[lab->n_asked].name = hb_xstrdup(name);
    lab->asked[lab->n_asked].value = hb_xstrndup(value.data, value.len);
    lab->n_asked++;
}

static void on_violation(void *arg, uint32_t rank, const char *text)
{
    struct lab *lab = ((struct lab_node *)arg)->lab;

    free(lab->violation);
    lab->violation = hb_xstrdup(text);
}

static void put_list(struct hb_str *out, const struct hb_strv *list)
{
    for (size_t i = 0; i < list->n; i++) {
        hb_str_putf(out, "%s%s", i > 0 ? "," : "", list->v[i]);
    }
    hb_str_putc(out, ';');
}

/* "RANK: 2 1 0 ...; words; hints; preput;" */
static void on_spawn(void *arg, uint64_t id, uint32_t rank,
                     const struct hb_pm_spawn *what)
{
    struct lab *lab = ((struct lab_node *)arg)->lab;
    struct hb_str text = HB_STR_INIT;

    hb_str_putf(&text, "%u:", rank);
    for (uint32_t i = 0; i < what->n_apps * HB_SPAWN_COUNTS; i++) {
        hb_str_putf(&text, " %u", what->counts[i]);
    }
    hb_str_putc(&text, ';');
    put_list(&text, &what->words);
    put_list(&text, &what->hints);
    put_list(&text, &what->preput);
    free(lab->spawn);
    lab->spawn = hb_str_steal(&text);
    lab->spawn_id = id;
    lab->n_spawns++;
}

static const struct hb_pm_host lab_host = {
    .send = on_send, .fence = on_fence, .abort = on_abort,
    .contact = on_contact, .modex = on_modex, .name = on_name,
    .violation = on_violation, .spawn = on_spawn,
};

struct lab *lab_new(enum hb_pm_family family, uint32_t n_ranks,
                    const uint32_t *node_of_rank, uint32_t n_nodes)
{
    return lab_new_spawned(family, n_ranks, node_of_rank, n_nodes, NULL);
}

struct lab *lab_new_spawned(enum hb_pm_family family, uint32_t n_ranks,
                          const uint32_t *node_of_rank, uint32_t n_nodes,
                          char *const *preput)
{
    static char *names[LAB_NODES] = {(char *)"n0", (char *)"n1",
                                     (char *)"n2", (char *)"n3"};
    static const struct hb_pm_app app = {NULL, "/"};
    struct lab *lab = hb_xcalloc(1, sizeof(*lab));
    struct hb_job_app ranks = {0, n_ranks};

    if (hb_pm_ops_get(family, &lab->ops, NULL) < 0 ||
        hb_jobmap_create(&lab->map, n_ranks, node_of_rank, n_nodes, names, 1,
                         &ranks, 32, NULL) < 0) {
        abort();
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        struct lab_node *node = &lab->node[i];

        node->lab = lab;
        node->number = i;
        node->job = (struct hb_pm_job){
            .job_id = "job.1", .session_dir = "/nonexistent",
            .map = lab->map, .node = i, .apps = &app,
            .parent_id = preput != NULL ? "job.0" : NULL, .preput = preput,
        };
        if (lab->ops->create(&node->pm, &node->job, &lab_host, node, NULL) <
            0) {
            abort();
        }
    }
    return lab;
}

void lab_free(struct lab *lab)
{
    for (int i = 0; i < LAB_NODES; i++) {
        if (lab->node[i].pm != NULL) {
            lab->ops->destroy(lab->node[i].pm);
        }
    }
    for (int i = 0; i < LAB_RANKS; i++) {
        hb_str_destroy(&lab->told[i]);
    }
    for (int i = 0; i < LAB_FENCES; i++) {
        free(lab->fence[i].key);
        hb_buf_destroy(&lab->fence[i].data);
    }
    for (int i = 0; i < lab->n_asked; i++) {
        free(lab->asked[i].name);
        free(lab->asked[i].value);
    }
    hb_jobmap_destroy(lab->map);
    free(lab->published_name);
    free(lab->published_value);
    free(lab->abort_text);
    free(lab->violation);
    free(lab->spawn);
    free(lab);
}

void lab_spawned(struct lab *lab, uint32_t node, int status)
{
    const struct hb_pm_spawned answer = {
        .status = status, .job_id = "job.2", .text = "words",
    };

    lab->ops->spawn_done(lab->node[node].pm, lab->spawn_id, &answer);
}

int lab_say(struct lab *lab, uint32_t rank, const char *text)
{
    struct lab_node *node = &lab->node[lab->map->node_of_rank[rank]];

    return lab->ops->feed(node->pm, rank, text, strlen(text), NULL);
}

int lab_say2(struct lab *lab, uint32_t rank, const char *payload)
{
    char *frame = hb_xasprintf("%6zu%s", strlen(payload), payload);
    int rc = lab_say(lab, rank, frame);

    free(frame);
    return rc;
}

static void finish_fence(struct lab *lab, struct lab_fence *f)
{
    struct lab_fence done = *f;
    struct hb_bytes key = {done.key, strlen(done.key)};
    struct hb_bytes data = {done.data.data, done.data.len};

    memset(f, 0, sizeof(*f));
    for (uint32_t i = 0; i < done.n_joined; i++) {
        lab->ops->fence_done(lab->node[done.joined[i]].pm, key,
                             lab->fence_status, data);
    }
    free(done.key);
    hb_buf_destroy(&done.data);
}

static void answer_name(struct lab *lab, int i)
{
    struct hb_bytes value = {NULL, 0};
    int known = hb_streq(lab->asked[i].name, lab->published_name);
    int status = known ? HPCBOOT_OK : HPCBOOT_ERR_NOT_FOUND;

    if (lab->asked[i].op == HB_PM_PUBLISH) {
        free(lab->published_name);
        free(lab->published_value);
        lab->published_name = hb_xstrdup(lab->asked[i].name);
        lab->published_value = hb_xstrdup(lab->asked[i].value);
        status = HPCBOOT_OK;
    } else if (known && lab->asked[i].op == HB_PM_UNPUBLISH) {
        free(lab->published_name);
        lab->published_name = NULL;
    } else if (known) {
        value.data = lab->published_value;
        value.len = strlen(lab->published_value);
    }
    lab->ops->name_done(lab->node[lab->asked[i].node].pm, lab->asked[i].id,
                        status, value);
    free(lab->asked[i].name);
    free(lab->asked[i].value);
}

void lab_run(struct lab *lab)
{
    int n = lab->n_asked;

    lab->n_asked = 0;
    for (int i = 0; i < n; i++) {
        answer_name(lab, i);
    }
    for (int i = 0; i < LAB_FENCES; i++) {
        struct lab_fence *f = &lab->fence[i];

        if (f->key != NULL && f->n_joined == f->n_nodes) {
            finish_fence(lab, f);
            i = -1;
        }
    }
}

char *lab_heard(struct lab *lab, uint32_t rank)
{
    char *text = hb_xstrdup(hb_str_text(&lab->told[rank]));

    hb_str_destroy(&lab->told[rank]);
    return text;
}
