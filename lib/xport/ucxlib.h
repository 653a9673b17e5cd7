/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_UCXLIB_H
#define HB_XPORT_UCXLIB_H

#include <stddef.h>

/* What the module hb_ucx.so makes of UCX, in plain types: the module calls
 * nothing of ours but the functions of its configuration, and a program whose
 * ranks do not use UCX loads neither. One thread at a time. */
struct hb_ucx;    /* a context and its worker */
struct hb_ucx_ep; /* the way to one peer */

#define HB_UCX_HEAD_MAX 64u /* bytes before a message's own */

struct hb_ucx_setting {
    const char *name, *value; /* "TLS": UCX_TLS, unless the user has set it */
    int optional; /* a UCX that does not know it has no such matter */
};

/* Called from progress, send, fetch and disconnect. */
struct hb_ucx_config {
    const struct hb_ucx_setting *settings; /* [n_settings] */
    size_t n_settings;
    /* libucs was there before: its log and its settings are others'. */
    int shared;
    /* Messages of up to so many bytes leave from a copy. */
    size_t copied_bytes;
    void *ctx;
    /* A message; its bytes are at data, or, where data is NULL, with the
     * sender until `message` is fetched. 1: message is kept for fetch or
     * refuse; else both are gone on return. */
    int (*arrived)(void *ctx, const void *head, size_t head_len,
                   const void *data, size_t size, void *message);
    /* why: NULL, or why it failed. */
    void (*sent)(void *ctx, void *cookie, const char *why);
    void (*fetched)(void *ctx, void *cookie, const char *why);
    void (*lost)(void *ctx, void *peer, const char *why);
};

/* Functions that can fail return 0 or more, or -1 with a text in why. */
struct hb_ucxlib {
    int (*open)(const struct hb_ucx_config *config, struct hb_ucx **out,
                char *why, size_t why_size);
    void (*close)(struct hb_ucx *u); /* after its endpoints; NULL-safe */
    /* What peers connect by; borrowed until close. */
    const void *(*address)(struct hb_ucx *u, size_t *len_out);
    int (*connect)(struct hb_ucx *u, const void *address, void *peer,
                   struct hb_ucx_ep **out, char *why, size_t why_size);
    /* Within a second: what is under way ends as failed. NULL-safe. */
    void (*disconnect)(struct hb_ucx *u, struct hb_ucx_ep *ep);
    /* 1: done; 0: `sent` follows, until when data is borrowed if it is longer
     * than copied_bytes. head_len: at most HB_UCX_HEAD_MAX.
     * by_fetch: the bytes stay here until the peer fetches them. */
    int (*send)(struct hb_ucx_ep *ep, const void *head, size_t head_len,
                const void *data, size_t size, int by_fetch, void *cookie,
                char *why, size_t why_size);
    /* 1: done; 0: `fetched` follows. size is the message's own. */
    int (*fetch)(struct hb_ucx_ep *ep, void *message, void *to, size_t size,
                 void *cookie, char *why, size_t why_size);
    void (*refuse)(struct hb_ucx *u, void *message);
    int (*progress)(struct hb_ucx *u); /* > 0: something moved */
    int (*event_fd)(struct hb_ucx *u); /* -1: it has none */
    /* 1: the descriptor tells of what comes next; 0: something is there. */
    int (*arm)(struct hb_ucx *u);
    /* "rc_verbs/mlx5_0:1", of an endpoint in use. */
    void (*describe)(struct hb_ucx_ep *ep, char *text, size_t size);
    const char *(*version)(void);
};
extern const struct hb_ucxlib hb_ucxlib;

#endif
