/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* ssh_config of any bytes, without files it could include; what it says is
 * expanded as bin/boot does. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/trust/sshconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_ssh_query query = {.host = "node-1", .local_user = "me"};
    struct hb_ssh_tokens tokens = {.host = "node-1", .local_host = "here.x",
                                   .port = 22};
    struct hb_ssh_conf conf;
    struct hpcboot_error err;

    hb_ssh_conf_init(&conf);
    if (hb_ssh_conf_text(&conf, (const char *)data, size, "f", NULL, &query,
                         &err) == HPCBOOT_OK) {
        if (conf.port < 0 || conf.port > 65535
            || (conf.hostname && !*conf.hostname)) {
            abort();
        }
        for (size_t i = 0; i < conf.identity_files.n; i++) {
            free(hb_ssh_expand(conf.identity_files.v[i], &tokens, 1));
        }
    }
    hb_ssh_conf_destroy(&conf);
    return 0;
}
