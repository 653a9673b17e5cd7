/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_TOPO_VIEW_H
#define HB_HPCBOOT_TOPO_VIEW_H

#include "bin/cli/drawing.h"
#include "lib/base/str.h"
#include "lib/fabric/fabric.h"
#include "lib/topo/bind.h"

/* What hpcboot topo shows. */
struct hb_topo_view {
    char name[256];
    struct hb_topo *machine;   /* all of it */
    struct hb_topo *part;      /* what may be used */
    struct hb_cpus cpus;       /* the same as numbers */
    struct hb_allowed allowed;
    uint32_t n_ranks;          /* 0: none are shown */
    struct hb_bind_plan plan;
    int with_fabric;           /* what follows is shown too */
    struct hb_fabric fabric;
    struct hb_strv differences; /* between sysfs and libibverbs */
};

void hb_topo_view_text(const struct hb_topo_view *v, struct hb_str *out);
void hb_topo_view_json(const struct hb_topo_view *v, struct hb_str *out);
void hb_topo_view_draw(const struct hb_topo_view *v, struct hb_drawing *out);

#endif
