/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OPTDEF_H
#define HB_CLI_OPTDEF_H

#include "bin/cli/options.h"

/* The rows of opts.def, and what the scanner and the setters share. Private
 * to bin/cli. */
#define HB_O_CMD 0x1u   /* command line only: no key, no variable */
#define HB_O_HYDRA 0x2u /* using it means Hydra's dialect */
#define HB_O_MANY 0x4u  /* values add up */
#define HB_O_PAIR 0x8u  /* NAME=VALUE may stand for NAME VALUE */
#define HB_O_JOINS 0x10u /* a value may go on an earlier one: the field, a
                          * text, is what is told */
#define HB_O_LINES 0x20u /* of how ranks' lines are shown, or whether there
                          * are any: not set for who reads them */
#define HB_O_JOB 0x40u   /* of the ranks of the user's own job: not set where
                          * there is one on each host, which looks at it */
#define HB_O_PROGRAM 0x80u /* of the one program that it stands before */

enum hb_opt_section {
    HB_SEC_PROGRAMS, HB_SEC_HOSTS, HB_SEC_START, HB_SEC_PLACEMENT,
    HB_SEC_ENVIRONMENT, HB_SEC_OUTPUT, HB_SEC_LIFE, HB_SEC_LOOKING,
    HB_SEC_OPENMPI, HB_SEC_HYDRA, HB_SEC_SRUN, HB_SECTIONS
};
#define HB_SEC_NATIVE HB_SEC_OPENMPI /* sections before it are hbrun's own */

enum hb_opt_kind { HB_OPT_SET, HB_OPT_AS, HB_OPT_SKIP, HB_OPT_NO };

#define HB_OPT_ARGS 2 /* the most arguments an option has */

struct hb_scan;
struct hb_optdef;
typedef int (*hb_opt_setter)(struct hb_scan *s, const struct hb_optdef *opt,
                             const char *const *values,
                             struct hpcboot_error *err);

struct hb_optdef {
    enum hb_opt_kind kind;
    enum hb_opt_section section;
    const char *names;
    const char *args;
    const char *text; /* help; for AS what it stands for; else why */
    hb_opt_setter set;
    size_t field; /* offset in struct hb_options or hb_app_options */
    unsigned flags;
};

extern const struct hb_optdef hb_opts[];
extern const size_t hb_opts_n;

#define HB_OPT_NAME_MAX 40 /* bytes, the NUL included; a test checks it */

/* Walks the names of a row: start with *pos = opt->names; 0 at the end.
 * *dialects_out is the set of dialects the name is for (1 << dialect). */
int hb_opt_next_name(const char **pos, char name[HB_OPT_NAME_MAX],
                     unsigned *dialects_out);
void hb_opt_key(const struct hb_optdef *opt, char name[HB_OPT_NAME_MAX]);
/* Number of words that follow; 0 for a switch and for "[N]". */
int hb_opt_n_args(const struct hb_optdef *opt);
int hb_opt_is_switch(const struct hb_optdef *opt); /* takes =yes, =no */
int hb_opt_has_optional(const struct hb_optdef *opt); /* "[N]" */
/* Is `args` a plain list of words, "a|b|c"? Such values are checked. */
int hb_opt_is_choice(const char *args);
/* Is it neither passed over nor refused? */
int hb_opt_has_effect(const struct hb_optdef *opt);
/* A name of the option that this dialect knows; 0: it has none. */
int hb_opt_name_in(const struct hb_optdef *opt, enum hb_dialect dialect,
                   char name[HB_OPT_NAME_MAX]);
/* By a name without dashes as this dialect has it; NULL. */
const struct hb_optdef *hb_opt_find(const char *name, size_t len,
                                    enum hb_dialect dialect);
/* In any dialect: the first row that has it. */
const struct hb_optdef *hb_opt_find_any(const char *name, size_t len);
/* By its key, as configuration and variables name it; NULL. */
const struct hb_optdef *hb_opt_find_key(const char *key, size_t len);
/* Nearest name of this dialect (or, with keys set, nearest key) copied to
 * `near_out`; 0 when none is near. */
int hb_opt_nearest(const char *name, enum hb_dialect dialect, int keys,
                   char near_out[HB_OPT_NAME_MAX]);
const char *hb_section_topic(enum hb_opt_section section); /* "hosts" */
const char *hb_section_title(enum hb_opt_section section); /* "Hosts" */
const char *hb_dialect_name(enum hb_dialect dialect);
int hb_opt_dialect_parse(const char *name, enum hb_dialect *out); /* 0, -1 */

struct hb_setting { /* one value that was given */
    const struct hb_optdef *opt;
    char *value, *origin;
    int program; /* that it is for, from 0; HB_ALL_PROGRAMS */
};
#define HB_ALL_PROGRAMS (-1)

#define HB_COMMAND_LINE "command line" /* as an origin */

struct hb_parsed { /* what is behind a struct hb_options */
    struct hb_options o; /* first: the public part */
    struct hb_setting *settings;
    size_t n_settings;
};

#define HB_DIALECT_HINTED 1 /* by an option only Hydra has */
#define HB_DIALECT_SAID 2   /* by --dialect or the program's name */

struct hb_scan {
    struct hb_parsed *p;
    struct hb_options *o; /* &p->o */
    struct hb_app_options *app; /* what per-program options set */
    struct hb_app_options common; /* from files and variables */
    const struct hb_options_source *src;
    const char *origin;   /* of the value being set */
    const char *spelling; /* of the option being set, for messages */
    char *profile;        /* --profile or its variable */
    char *map_by_as;      /* the option that --map-by was typed as; NULL */
    char *ranks_as;       /* what --np of the segment was typed as; NULL */
    int hostfile_typed;   /* the hostfile is of the command line */
    int nocopy_of_dir;    /* not --output-copy, but DIR:nocopy has said it */
    int in_segment;       /* `app` is a segment of the command line */
    int in_file;          /* words come from a file: no further files */
    int dialect_given;    /* HB_DIALECT_HINTED, HB_DIALECT_SAID, or 0 */
    int app_file_used;
    unsigned left_out; /* flags of options that are set by no file, and by no
                        * variable */
    int asking; /* --help, --version or --completion is among the words */
};

/* Sets an option: follows AS rows, checks choices, records the origin.
 * values[HB_OPT_ARGS]; values[0] NULL for a switch without =VALUE. */
int hb_opt_apply(struct hb_scan *s, const struct hb_optdef *opt,
                 const char *const *values, struct hpcboot_error *err);
/* The same by key and one text: "key", "value words". */
int hb_opt_apply_text(struct hb_scan *s, const struct hb_optdef *opt,
                      const char *text, struct hpcboot_error *err);
int hb_opt_apply_key(struct hb_scan *s, const char *key, const char *text,
                     struct hpcboot_error *err);

/* The value was given, by s->origin. */
void hb_setting_note(struct hb_scan *s, const struct hb_optdef *opt,
                     const char *const *values);
/* What was typed for one program is for all: those of a file. */
void hb_settings_to_all(struct hb_parsed *p);
/* Settings of `opt` are forgotten: all, or those that were not typed. */
void hb_settings_drop(struct hb_parsed *p, const struct hb_optdef *opt,
                      int typed_too);
/* What was said of another option has no effect any more: it is no setting. */
void hb_opt_withdraw(struct hb_scan *s, const char *key);

/* "SPELLING: text", ERR_USAGE. */
int hb_opt_bad(struct hb_scan *s, struct hpcboot_error *err, const char *fmt,
               ...) HB_PRINTF(3, 4);
/* Adds a warning once. */
void hb_opt_warn(struct hb_scan *s, const char *fmt, ...) HB_PRINTF(2, 3);
/* A number from 1 to max, or ERR_USAGE. */
int hb_opt_count(struct hb_scan *s, const char *text, uint64_t max,
                 uint32_t *out, struct hpcboot_error *err);
/* Replaces an owned text. */
void hb_opt_replace(char **field, const char *text);
/* Sets --keep-going, which takes the place of --on-failure. */
void hb_opt_keep_going(struct hb_scan *s, int on);
/* "yes", "true", "1", "on"; "no", ...: 1, 0; -1 for anything else. */
int hb_opt_bool(const char *text);
/* Rules of what is being set: a segment's, or all segments'. */
struct hb_strv *hb_opt_rules(struct hb_scan *s);
const char *hb_scan_getenv(const struct hb_scan *s, const char *name);
/* variables.c: options as HPCBOOT_*; then, once all is scanned, those that
 * were set and have no effect. */
int hb_variables_read(struct hb_scan *s, struct hpcboot_error *err);
void hb_variables_warn(struct hb_scan *s);

/* The setters, hb_set_<name>, one for each that opts.def mentions. */
#define HB_SETTER(name)                                             \
    int hb_set_##name(struct hb_scan *s, const struct hb_optdef *opt, \
                      const char *const *values, struct hpcboot_error *err)
#define HB_OPT(section, names, args, setter, field, flags, help) \
    HB_SETTER(setter);
#define HB_APP(section, names, args, setter, field, flags, help) \
    HB_SETTER(setter);
#define HB_FN(section, names, args, setter, flags, help) HB_SETTER(setter);
#define HB_AS(section, names, args, text, flags)
#define HB_SKIP(section, names, args, why)
#define HB_NO(section, names, args, why)
#include "bin/cli/opts.def"
#undef HB_OPT
#undef HB_APP
#undef HB_FN
#undef HB_AS
#undef HB_SKIP
#undef HB_NO

/* A parameter of Open MPI's launcher (mca.c). Where it has a meaning here it
 * is set and 1 is returned; 0: it is for the ranks. */
int hb_mca_launcher(struct hb_scan *s, const char *name, const char *value,
                    struct hpcboot_error *err);
/* Variables that operators and other launchers set: OMPI_MCA_*, HYDRA_*,
 * I_MPI_*, MPIEXEC_TIMEOUT. What cannot be understood becomes a warning. */
void hb_foreign_variables(struct hb_scan *s);

/* Options of a list of words, programs, ':' (scan.c). */
int hb_scan_words(struct hb_scan *s, size_t n, char *const *words,
                  struct hpcboot_error *err);
/* One segment without ':' (a line of an app file). */
int hb_scan_segment(struct hb_scan *s, size_t n, char *const *words,
                    struct hpcboot_error *err);
/* What must be known before files are read: the dialect, --profile. */
void hb_scan_ahead(struct hb_scan *s, const char *program, size_t n,
                   char *const *words);

void hb_options_drop_apps(struct hb_options *o);

/* Files of words (files.c). */
#define HB_CLI_FILE_MAX (1u << 20) /* bytes of any file read here */
/* Cuts a line into words as a shell would ('', "", \); #: a comment. On
 * failure *column_out says where. */
int hb_cli_split(const char *line, size_t len, struct hb_strv *words_out,
                   size_t *column_out, struct hpcboot_error *err);
int hb_app_text(struct hb_scan *s, const char *path, const char *text,
                size_t len, struct hpcboot_error *err);
int hb_tune_text(struct hb_scan *s, const char *path, const char *text,
                 size_t len, struct hpcboot_error *err);

#endif
