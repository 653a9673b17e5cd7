/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_HPCBOOT_H
#define HPCBOOT_HPCBOOT_H

/* The library of hpcboot: ranks that find each other, and their collectives.
 * hpcboot_intro(7) begins with a complete program. */
#include "hpcboot/coll.h"
#include "hpcboot/comm.h"
#include "hpcboot/job.h"
#include "hpcboot/kvs.h"
#include "hpcboot/status.h"
#include "hpcboot/topo.h"
#include "hpcboot/version.h"

#endif
