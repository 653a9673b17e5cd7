/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_SSHCONFIG_IMPL_H
#define HB_TRUST_SSHCONFIG_IMPL_H

#include "lib/trust/sshconfig.h"

/* The files of the ssh_config reader: sshconfig.c has lines and keywords,
 * sshmatch.c says which lines apply, sshexpand.c has the % letters. */
struct hb_ssh_reader {
    struct hb_ssh_conf *conf;
    const struct hb_ssh_query *query;
    const char *file, *dir;
    int line;
    int active; /* the lines apply to this host */
    int never;  /* included by a line that does not: nor does any here */
    int own;    /* files have to be the user's or root's */
    int depth;
    struct hpcboot_error *err;
};

/* The lines Host and Match: they set `active`. */
int hb_ssh_on_host(struct hb_ssh_reader *r, const struct hb_strv *values);
int hb_ssh_on_match(struct hb_ssh_reader *r, const struct hb_strv *values);

/* ERR_PARSE, with the line that is under way. */
int hb_ssh_complain(struct hb_ssh_reader *r, const char *what);

#endif
