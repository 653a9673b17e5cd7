/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_HEATMAP_H
#define HB_HPCBOOT_HEATMAP_H

#include "bin/cli/drawing.h"
#include "bin/doctor/traffic.h"

/* Two maps of all hosts by all hosts, latency and bandwidth. */
void hb_heatmap_draw(const struct hb_traffic *t, struct hb_drawing *out);

#endif
