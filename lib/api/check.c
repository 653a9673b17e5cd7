/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What every call looks at before it does anything: whether the library can be
 * called, and arguments that many calls have. Each returns 0, or ERR_USAGE with
 * a text that begins with the call. */
#include "config.h"

#include "lib/api/api.h"

int hb_api_ready(const char *call, struct hpcboot_error *err)
{
    switch (atomic_load(&hb_api.phase)) {
    case API_IN:
        return !hb_coll_is_folding()
                   ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s was called by an "
                                 "op of hpcboot_op_create, which must not "
                                 "call the library", call);
    case API_ENDING:
    case API_OVER:
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s was called after "
                       "hpcboot_finalize", call);
    case API_FORKED:
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s was called in a child that "
                       "rank %d has forked; only the rank itself can use the "
                       "library", call, hb_api.rank);
    default:
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s was called before "
                       "hpcboot_init", call);
    }
}

int hb_api_team(const char *call, const struct hpcboot_team *team,
                struct hpcboot_error *err)
{
    int rc = hb_api_ready(call, err);

    if (rc == 0 && team == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the team is NULL (this rank "
                     "is in none of the new teams?)", call);
    } else if (rc == 0 && team->coll == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the team has been destroyed",
                     call);
    }
    return rc;
}

int hb_api_sized(const char *call, const char *init, const void *sized,
                 size_t size, struct hpcboot_error *err)
{
    size_t given = sized != NULL ? *(const size_t *)sized : 0;

    if (sized == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: NULL, where a struct that "
                       "begins with %s is expected", call, init);
    }
    return given == size
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: struct_size is %zu, "
                             "not %zu: begin with %s", call, given, size,
                             init);
}

int hb_api_place(const char *call, const char *what, const void *place,
                 struct hpcboot_error *err)
{
    return place != NULL
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the place for the "
                             "%s is NULL", call, what);
}

int hb_api_timeout(const char *call, int timeout_ms,
                   struct hpcboot_error *err)
{
    return timeout_ms >= 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the timeout is "
                             "negative (%d ms)", call, timeout_ms);
}

int hb_api_flags(const char *call, unsigned flags, unsigned known,
                 struct hpcboot_error *err)
{
    return (flags & ~known) == 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no flag "
                             "%#x", call, flags & ~known);
}
