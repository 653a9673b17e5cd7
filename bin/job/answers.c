/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Answers to fences that went to an agent with others below it. When that
 * agent is lost those below may not have got them: each says its open fences
 * again to whom adopts it, and is answered from here. The newest are kept, up
 * to so many and so many bytes; of an older one is known that it was answered,
 * and that it cannot be answered again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"

#define ANSWERS 256u
#define BYTES_MAX ((size_t)32 << 20)

struct answer {
    void *key, *data;
    size_t key_len, len;
    int status;
};

struct job_answers {
    struct answer ring[ANSWERS];
    uint32_t newest, oldest_whole; /* counted on, modulo ANSWERS */
    size_t bytes;
};

static void *copy(struct hb_bytes b)
{
    void *p = hb_xmalloc(b.len + 1);

    if (b.len > 0) {
        memcpy(p, b.data, b.len);
    }
    return p;
}

static int is_for(const struct answer *a, struct hb_bytes key)
{
    return a->key != NULL && a->key_len == key.len &&
           memcmp(a->key, key.data, key.len) == 0;
}

static void drop_data(struct job_answers *as, struct answer *a)
{
    as->bytes -= a->len;
    free(a->data);
    a->data = NULL;
    a->len = 0;
    a->status = HPCBOOT_ERR_PEER_DEAD;
}

void job_answer_keep(struct job *j, struct hb_bytes key, int status,
                     struct hb_bytes data)
{
    struct job_answers *as = j->answers;
    struct answer *a;

    if (as == NULL) {
        as = j->answers = hb_xcalloc(1, sizeof *as);
    }
    a = &as->ring[as->newest % ANSWERS];
    if (is_for(a, key)) {
        return; /* it goes down several links */
    }
    a = &as->ring[++as->newest % ANSWERS];
    if (as->newest - as->oldest_whole >= ANSWERS) {
        as->oldest_whole++;
    }
    drop_data(as, a);
    free(a->key);
    *a = (struct answer){.key = copy(key), .key_len = key.len,
                         .data = copy(data), .len = data.len,
                         .status = status};
    as->bytes += data.len;
    while (as->bytes > BYTES_MAX && as->oldest_whole != as->newest) {
        drop_data(as, &as->ring[as->oldest_whole++ % ANSWERS]);
    }
}

int job_answer_again(struct job_host *h, struct hb_bytes key)
{
    const struct job_answers *as = h->job->answers;

    for (uint32_t i = 0; as != NULL && i < ANSWERS; i++) {
        const struct answer *a = &as->ring[i];

        if (is_for(a, key)) {
            HOST_SEND(h, fence_down, .key = key, .status = a->status,
                      .data = {a->data, a->len});
            return 1;
        }
    }
    return 0;
}

void job_answers_free(struct job *j)
{
    for (uint32_t i = 0; j->answers != NULL && i < ANSWERS; i++) {
        free(j->answers->ring[i].key);
        free(j->answers->ring[i].data);
    }
    free(j->answers);
    j->answers = NULL;
    hb_buf_destroy(&j->mute);
}
