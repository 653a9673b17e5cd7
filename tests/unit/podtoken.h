/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_PODTOKEN_H
#define HB_TESTS_UNIT_PODTOKEN_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/trust/base64.h"

/* The token of a service account as the API server makes it for a pod, but for
 * the signature; free() it. */
static inline char *pod_token(const char *pod, const char *space)
{
    char *claims = hb_xasprintf(
        "{\"aud\":[\"https://kubernetes.default.svc\"],\"kubernetes.io\":"
        "{\"namespace\":\"%s\",\"node\":{\"name\":\"node7\",\"uid\":\"e1\"},"
        "\"pod\":{\"name\":\"%s\",\"uid\":\"a?>~\"},\"serviceaccount\":"
        "{\"name\":\"default\",\"uid\":\"b3\"}}}", space, pod);
    struct hb_str text = HB_STR_INIT;
    char *token;

    hb_base64_encode(&text, claims, strlen(claims), 0);
    for (char *p = text.s; *p != '\0'; p++) {
        *p = (char)(*p == '+' ? '-' : *p == '/' ? '_' : *p == '=' ? '\0' : *p);
    }
    token = hb_xasprintf("eyJhbGciOiJSUzI1NiJ9.%s.c2lnbmF0dXJl", text.s);
    free(claims);
    hb_str_destroy(&text);
    return token;
}

#endif
