/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_MPIJOB_V1_H
#define HB_HOSTFILE_MPIJOB_V1_H

#include <stddef.h>

/* The command template (bin/boot/template.h) that does what the script
 * kubexec.sh does, and carries input too; free() it. NULL: the script carries
 * input itself, or is not understood. */
char *hb_kubexec_template(const char *text, size_t len);

#endif
