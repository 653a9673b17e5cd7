/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_LSF_H
#define HB_HOSTFILE_LSF_H

#include "hostfile/pod.h"

/* Adds the hosts of "h1 4 h2 2". */
int hb_lsf_mcpu_hosts(const char *text, struct hb_members *m,
                      struct hpcboot_error *err);

#endif
