/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_SGE_H
#define HB_HOSTFILE_SGE_H

#include "hostfile/dialect.h"

/* Read only: nobody but Grid Engine writes it. */
extern const struct hb_form hb_form_sge;

#endif
