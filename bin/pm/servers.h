/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_SERVERS_H
#define HB_PM_SERVERS_H

#include "bin/pm/pm.h"

/* What hb_pm_ops_get chooses from. The one of PMIx is the only symbol of the
 * module hb_pmix.so. */
extern const struct hb_pm_ops hb_pm_none_ops, hb_pmi1_ops, hb_pmi2_ops;
extern const struct hb_pm_ops hb_pmix_ops;

#endif
