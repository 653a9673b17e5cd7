/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The option table as data, and looking things up in it.
 *
 * opts.def is read once into hb_opts[]. A row's names are one text, walked
 * when a name is looked for: the table has about two hundred rows and a
 * command line a few dozen options, so nothing is indexed. A name without a
 * dialect belongs to all three; a test checks that no dialect has a name
 * twice. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <string.h>

#include "lib/base/str.h"

#define ALL_DIALECTS 0x7u

#define OFF(field) offsetof(struct hb_options, field)
#define APP_OFF(field) offsetof(struct hb_app_options, field)

#define HB_OPT(section, names, args, setter, field, flags, help)          \
    {HB_OPT_SET, HB_SEC_##section, names, args, help, hb_set_##setter,    \
     OFF(field), flags},
#define HB_APP(section, names, args, setter, field, flags, help)          \
    {HB_OPT_SET, HB_SEC_##section, names, args, help, hb_set_##setter,    \
     APP_OFF(field), (flags) | HB_O_PROGRAM},
#define HB_FN(section, names, args, setter, flags, help)                  \
    {HB_OPT_SET, HB_SEC_##section, names, args, help, hb_set_##setter, 0, \
     flags},
#define HB_AS(section, names, args, text, flags) \
    {HB_OPT_AS, HB_SEC_##section, names, args, text, NULL, 0, flags},
#define HB_SKIP(section, names, args, why) \
    {HB_OPT_SKIP, HB_SEC_##section, names, args, why, NULL, 0, HB_O_CMD},
#define HB_NO(section, names, args, why) \
    {HB_OPT_NO, HB_SEC_##section, names, args, why, NULL, 0, HB_O_CMD},

const struct hb_optdef hb_opts[] = {
#include "bin/cli/opts.def"
};
const size_t hb_opts_n = sizeof hb_opts / sizeof hb_opts[0];

static const struct {
    const char *topic, *title;
} sections[HB_SECTIONS] = {
    [HB_SEC_PROGRAMS] = {"programs", "Programs"},
    [HB_SEC_HOSTS] = {"hosts", "Hosts"},
    [HB_SEC_START] = {"start", "Starting agents"},
    [HB_SEC_PLACEMENT] = {"placement", "Placement"},
    [HB_SEC_ENVIRONMENT] = {"environment", "Environment"},
    [HB_SEC_OUTPUT] = {"output", "Input and output"},
    [HB_SEC_LIFE] = {"life", "Life and end of the job"},
    [HB_SEC_LOOKING] = {"looking", "Looking and configuring"},
    [HB_SEC_OPENMPI] = {"openmpi", "More that Open MPI's mpirun knows"},
    [HB_SEC_HYDRA] = {"hydra", "More that Hydra's mpiexec knows"},
    [HB_SEC_SRUN] = {"srun", "srun's own (--dialect=srun)"},
};

static const char *const dialects[] = {
    [HB_DIALECT_OPENMPI] = "openmpi",
    [HB_DIALECT_HYDRA] = "hydra",
    [HB_DIALECT_SRUN] = "srun",
};

const char *hb_section_topic(enum hb_opt_section section)
{
    return sections[section].topic;
}

const char *hb_section_title(enum hb_opt_section section)
{
    return sections[section].title;
}

const char *hb_dialect_name(enum hb_dialect dialect)
{
    return dialects[dialect];
}

int hb_opt_dialect_parse(const char *name, enum hb_dialect *out)
{
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        if (!strcmp(name, dialects[i])) {
            *out = (enum hb_dialect)i;
            return 0;
        }
    }
    return -1;
}

static unsigned dialect_of_letter(char c)
{
    switch (c) {
    case 'o': return 1u << HB_DIALECT_OPENMPI;
    case 'h': return 1u << HB_DIALECT_HYDRA;
    case 's': return 1u << HB_DIALECT_SRUN;
    default: return 0;
    }
}

int hb_opt_next_name(const char **pos, char name[HB_OPT_NAME_MAX],
                     unsigned *dialects_out)
{
    const char *p = *pos + strspn(*pos, " ");
    size_t len = strcspn(p, " /");
    unsigned set = 0;

    if (len == 0) {
        return 0;
    }
    snprintf(name, HB_OPT_NAME_MAX, "%.*s", (int)len, p);
    p += len;
    if (*p == '/') {
        for (p++; *p && *p != ' '; p++) {
            set |= dialect_of_letter(*p);
        }
    }
    *dialects_out = set ? set : ALL_DIALECTS;
    *pos = p;
    return 1;
}

int hb_opt_has_effect(const struct hb_optdef *opt)
{
    return opt->kind != HB_OPT_SKIP && opt->kind != HB_OPT_NO;
}

int hb_opt_name_in(const struct hb_optdef *opt, enum hb_dialect dialect,
                   char name[HB_OPT_NAME_MAX])
{
    const char *pos = opt->names;
    unsigned set;

    while (hb_opt_next_name(&pos, name, &set)) {
        if (set & (1u << dialect)) {
            return 1;
        }
    }
    return 0;
}

void hb_opt_key(const struct hb_optdef *opt, char name[HB_OPT_NAME_MAX])
{
    const char *pos = opt->names;
    unsigned set;

    hb_opt_next_name(&pos, name, &set);
}

int hb_opt_has_optional(const struct hb_optdef *opt)
{
    return opt->args[0] == '[';
}

int hb_opt_is_switch(const struct hb_optdef *opt)
{
    return opt->args[0] == '\0';
}

int hb_opt_n_args(const struct hb_optdef *opt)
{
    if (hb_opt_is_switch(opt) || hb_opt_has_optional(opt)) {
        return 0;
    }
    return strchr(opt->args, ' ') ? 2 : 1;
}

int hb_opt_is_choice(const char *args)
{
    if (!strchr(args, '|')) {
        return 0;
    }
    return strspn(args, "abcdefghijklmnopqrstuvwxyz0123456789-|")
           == strlen(args);
}

static int name_matches(const char *name, const char *word, size_t len)
{
    return strlen(name) == len && !memcmp(name, word, len);
}

static const struct hb_optdef *find(const char *word, size_t len,
                                    unsigned wanted)
{
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        unsigned set;

        while (hb_opt_next_name(&pos, name, &set)) {
            if ((set & wanted) && name_matches(name, word, len)) {
                return &hb_opts[i];
            }
        }
    }
    return NULL;
}

const struct hb_optdef *hb_opt_find(const char *name, size_t len,
                                    enum hb_dialect dialect)
{
    return find(name, len, 1u << dialect);
}

const struct hb_optdef *hb_opt_find_any(const char *name, size_t len)
{
    return find(name, len, ALL_DIALECTS);
}

const struct hb_optdef *hb_opt_find_key(const char *key, size_t len)
{
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        hb_opt_key(&hb_opts[i], name);
        if (!(hb_opts[i].flags & HB_O_CMD) && name_matches(name, key, len)) {
            return &hb_opts[i];
        }
    }
    return NULL;
}

static void collect(struct hb_strv *names, unsigned wanted, int keys)
{
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        unsigned set;

        if (keys && (hb_opts[i].flags & HB_O_CMD)) {
            continue;
        }
        while (hb_opt_next_name(&pos, name, &set)) {
            if (set & wanted) {
                hb_strv_push(names, name);
            }
            if (keys) {
                break;
            }
        }
    }
}

/* The shortest name that goes on as this one does, which may be its beginning:
 * the one with the fewest letters to add. */
static const char *begun(const struct hb_strv *names, const char *name)
{
    const size_t enough = 4; /* letters, for a guess */
    const char *best = NULL;

    for (size_t i = 0; i < names->n && strlen(name) >= enough; i++) {
        if (hb_starts_with(names->v[i], name) &&
            (best == NULL || strlen(names->v[i]) < strlen(best))) {
            best = names->v[i];
        }
    }
    return best;
}

int hb_opt_nearest(const char *name, enum hb_dialect dialect, int keys,
                   char near_out[HB_OPT_NAME_MAX])
{
    struct hb_strv names = HB_STRV_INIT;
    const char *near;

    collect(&names, keys ? ALL_DIALECTS : 1u << dialect, keys);
    near = begun(&names, name);
    if (near == NULL) {
        near = hb_nearest(name, (const char *const *)hb_strv_view(&names),
                          names.n);
    }
    if (near) {
        snprintf(near_out, HB_OPT_NAME_MAX, "%s", near);
    }
    hb_strv_destroy(&names);
    return near != NULL;
}

void hb_options_names(FILE *out)
{
    static const char *const kinds[] = {
        [HB_OPT_SET] = "option", [HB_OPT_AS] = "alias",
        [HB_OPT_SKIP] = "ignored", [HB_OPT_NO] = "refused",
    };
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        unsigned set;

        while (hb_opt_next_name(&pos, name, &set)) {
            fprintf(out, "%s%s %s\n", name[1] ? "--" : "-", name,
                    kinds[hb_opts[i].kind]);
        }
    }
}
