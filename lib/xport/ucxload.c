/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* UCX takes over signals when it is loaded; they are given back before anybody
 * can notice. */
#include "config.h"

#include "lib/xport/ucxload.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "lib/base/module_load.h"

#define SIGNALS 65 /* of Linux, and 0 */

int hb_ucx_load(const char *symbol, const void **out, int *shared,
                struct hpcboot_error *err)
{
    struct sigaction before[SIGNALS], now;
    void *there = dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD);
    int rc;

    *shared = there != NULL;
    if (there != NULL) {
        dlclose(there);
    }
    for (int n = 1; n < SIGNALS; n++) {
        if (sigaction(n, NULL, &before[n]) < 0) {
            memset(&before[n], 0, sizeof before[n]);
        }
    }
    rc = hb_module_open("hb_ucx", symbol, out, err);
    for (int n = 1; n < SIGNALS; n++) {
        if (sigaction(n, NULL, &now) == 0 &&
            now.sa_handler != before[n].sa_handler) {
            (void)sigaction(n, &before[n], NULL);
        }
    }
    return rc;
}
