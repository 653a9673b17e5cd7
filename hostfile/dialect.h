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
    const char *aliases; /* other names, parted by blanks, or NULL */
    const char *title; /* "Open MPI hostfile" */
    enum hb_tally tally;
    int needs_slots; /* has a number for each host, and no word for "count" */
    /* Adds every mention of the text. */
    int (*read)(struct hb_build *b, struct hb_lines *lines,
                struct hpcboot_error *err);
    /* Writes the gang; what the form cannot carry is named in `dropped`. */
    void (*write)(const struct hb_gang *gang, struct hb_str *out,
                  struct hb_strv *dropped);
};

const struct hb_form *hb_form_find(const char *name); /* NULL: none */
/* All of them, ended by one without a name. */
const struct hb_form *const *hb_forms(void);
/* What a file looks like: the Open MPI form, unless it begins with HOST:N. */
const struct hb_form *hb_form_guess(const char *text, size_t len);
/* 1 when any entry of the text is HOST:N. */
int hb_form_any_count(const char *text, size_t len);

int hb_form_parse(const struct hb_form *d, const char *path,
                     const char *text, size_t len, struct hb_gang *out,
                     struct hpcboot_error *err);

/* A value of one line, "a,b:2,n[1-4]", that stands in `what`. */
int hb_form_parse_value(const char *what, const char *text, enum hb_tally tally,
                        struct hb_gang *out, struct hpcboot_error *err);

extern const struct hb_form hb_form_openmpi, hb_form_hydra, hb_form_list,
    hb_form_plain, hb_form_pbs, hb_form_deepspeed, hb_form_slurm,
    hb_form_intel, hb_form_mvapich, hb_form_horovod;

/* For forms without a place for them: names what the gang has of these. */
enum { HB_DROP_USER = 1, HB_DROP_PORT = 2, HB_DROP_SLOTS = 4,
       HB_DROP_MAX_SLOTS = 8, HB_DROP_COUNTED = 16,
       HB_DROP_GPUS = 32 /* slots=gpu; COUNTED covers it */ };
void hb_form_dropped(const struct hb_gang *gang, int what,
                     struct hb_strv *dropped);
/* Writes HOST:N, one for slots that are not stated, an IPv6 address in
 * brackets (and named as something the form's own reader does not take). A
 * separator of "\n" ends each host, another stands between two. */
void hb_form_write_counts(const struct hb_gang *gang, const char *separator,
                          struct hb_str *out, struct hb_strv *dropped);
/* Hands every line that is not blank, without the blanks around it, to a
 * reader that adds what it mentions; ends with the first error. */
typedef int (*hb_form_line)(struct hb_build *b, const struct hb_lines *lines,
                            char *line, struct hpcboot_error *err);
int hb_form_each_line(struct hb_build *b, struct hb_lines *lines,
                      hb_form_line read_line, struct hpcboot_error *err);
/* Reads one [USER@]HOST[:SLOTS]. */
int hb_form_read_word(struct hb_build *b, const struct hb_lines *lines,
                      char *word, struct hpcboot_error *err);
/* Reads a text of one [USER@]HOST[:SLOTS] per line. */
int hb_form_read_words(struct hb_build *b, struct hb_lines *lines,
                       struct hpcboot_error *err);

#endif
