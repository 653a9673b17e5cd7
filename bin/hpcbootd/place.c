/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which pod or host this is. Names and addresses do not say: several may lead
 * to one pod, and host names may be alike in all. The machine is told by its
 * boot, and a pod by the namespaces that it does not share with others; the
 * containers of one pod share the network, and each has a mount namespace of
 * its own. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 64u

char *agent_place(void)
{
    static const char *const spaces[] = {
        "/proc/self/ns/pid", "/proc/self/ns/net", "/proc/self/ns/mnt"};
    struct hb_str place = HB_STR_INIT;
    char *boot = NULL;
    size_t len;
    int known = hb_file_read(BOOT_ID, BOOT_ID_MAX, &boot, &len, NULL) >= 0;

    if (known) {
        hb_str_putf(&place, "%.*s", (int)strcspn(boot, "\n"), boot);
    }
    for (size_t i = 0; known && i < sizeof spaces / sizeof *spaces; i++) {
        struct stat st;

        known = stat(spaces[i], &st) == 0;
        hb_str_putf(&place, " %llu", known ? (unsigned long long)st.st_ino : 0);
    }
    free(boot);
    if (!known) {
        hb_str_destroy(&place);
        return hb_xstrdup("");
    }
    return hb_str_steal(&place);
}
