/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See termlog.h. The file is there before the container starts; who makes it
 * would leave a file on a host that is no pod. */
#include "config.h"

#include "bin/proc/termlog.h"

#include <fcntl.h>
#include <string.h>

#include "lib/base/fd.h"
#include "lib/base/log.h"

#define TERMINATION_LOG "/dev/termination-log"

void hb_termlog_write(const char *text)
{
    int fd = open(TERMINATION_LOG, O_WRONLY | O_TRUNC | O_CLOEXEC);
    struct hpcboot_error err = {0};

    if (fd >= 0 && hb_fd_write_all(fd, text, strlen(text), &err) < 0) {
        hb_log(HB_DEBUG, "%s: %s", TERMINATION_LOG, err.text);
    }
    hb_fd_close(&fd);
}
