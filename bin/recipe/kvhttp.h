/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_KVHTTP_H
#define HB_RECIPE_KVHTTP_H

#include "lib/base/kvs.h"
#include "lib/base/str.h"

/* The key-value rendezvous of Horovod's Gloo, as HTTP, without I/O:
 * GET /SCOPE/KEY (the value, or 404), PUT /SCOPE/KEY with a body, DELETE
 * /SCOPE/KEY. One request for each connection. */
#define HB_KVHTTP_HEAD_MAX (8u << 10)
#define HB_KVHTTP_BODY_MAX (8u << 20)

/* `data` is what has come so far. 0: more is needed; 1: *reply is to be sent,
 * and the connection closed; that is so, too, for what is no request. 2, only
 * where `asked` is not NULL: a rank of an elastic job asks who it is by now;
 * *asked, "HOST:LOCAL_RANK", is to be freed. */
int hb_kvhttp_answer(struct hb_kvs *store, const char *data, size_t len,
                     struct hb_str *reply, char **asked);
/* A reply with this text. */
void hb_kvhttp_text(struct hb_str *reply, const char *text);

#endif
