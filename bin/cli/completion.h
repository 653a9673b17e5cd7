/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_COMPLETION_H
#define HB_CLI_COMPLETION_H

#include <stdio.h>

#include "bin/cli/optdef.h"

/* What the completion scripts of all shells ask the option table. */
typedef void (*hb_compl_visitor)(FILE *out, const struct hb_optdef *opt,
                                 const char *name);
void hb_compl_each_name(FILE *out, hb_compl_visitor visit);

/* Options that are refused are not offered. */
int hb_compl_offered(const struct hb_optdef *opt);
int hb_compl_wants_file(const struct hb_optdef *opt);
/* How many words follow; 3: two, or one that is NAME=VALUE. */
int hb_compl_n_words(const struct hb_optdef *opt);
/* A name that dialects use for several options is taken as hbrun itself takes
 * it. */
const struct hb_optdef *hb_compl_meant(const char *name);

/* The topics of --help, with blanks between them. */
void hb_compl_topics(FILE *out);

void hb_compl_fish(FILE *out); /* completion_fish.c */

#endif
