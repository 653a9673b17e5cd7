/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_DIALECT_H
#define HB_HOSTFILE_DIALECT_H

#include "hostfile/build.h"
#include "hostfile/hostfile.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

/* A form in which some launcher writes a list of hosts; each has a file of
 * its own, dialect_NAME.c. */
struct hb_form {
    const char *name;  /* "openmpi" */
    const char *title; /* "Open MPI hostfile" */
    enum hb_tally tally;
    /* Adds every mention of the text. */
    int (*read)(struct hb_build *b, struct hb_lines *lines,
                struct hpcboot_error *err);
    /* Writes the gang; what the form cannot carry is named in `dropped`. NULL
     * where it is only read. */
    void (*write)(const struct hb_gang *gang, struct hb_str *out,
                  struct hb_strv *dropped);
};

const struct hb_form *hb_form_find(const char *name); /* NULL: none */
/* All of them, ended by one without a name. */
const struct hb_form *const *hb_forms(void);
/* What a file looks like: the Open MPI form, unless it begins with HOST:N. */
const struct hb_form *hb_form_guess(const char *text, size_t len);

int hb_form_parse(const struct hb_form *d, const char *path,
                     const char *text, size_t len, struct hb_gang *out,
                     struct hpcboot_error *err);

extern const struct hb_form hb_form_openmpi, hb_form_hydra,
    hb_form_list;

#endif
