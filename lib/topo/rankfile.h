/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_RANKFILE_H
#define HB_TOPO_RANKFILE_H

#include <stdint.h>

#include "lib/base/error.h"

/* Open MPI's rank files: "rank 0=host slot=0:0-3", one rank a line. */
struct hb_rankfile_entry {
    char *host;   /* NULL: this rank has no line */
    char *slots;  /* "0:0-3;1:2", "0-3,7"; NULL: none were named */
    int relative; /* host is the n-th of the job ("+n2"); -1: by name */
    uint32_t line;
};

struct hb_rankfile {
    char *name;
    struct hb_rankfile_entry *v; /* [n], by rank */
    uint32_t n;                  /* the highest rank that has a line, + 1 */
};

/* ERR_PARSE says file, line and column, and what was expected. */
int hb_rankfile_parse(const char *name, const char *text,
                      struct hb_rankfile *out, struct hpcboot_error *err);
int hb_rankfile_read(const char *path, struct hb_rankfile *out,
                     struct hpcboot_error *err);
void hb_rankfile_clear(struct hb_rankfile *f); /* leaves it empty */
/* Do both name one host? A name without a domain matches one with. */
int hb_rankfile_same_host(const char *a, const char *b);
/* The same, where `host` is the launcher's own when is_local: "localhost" and
 * the loopback addresses, where it has another name, are its as well. */
int hb_rankfile_names(const char *name, const char *host, int is_local);

#endif
