/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reads and writes binding policies.
 *
 *   bind-to := [object] { ":" modifier }
 *   object  := "none" | "hwthread" | "core" | ... | "package"
 *   modifier:= "overload-allowed" | "if-supported" | NAME "=" VALUE
 *
 * The NAME=VALUE modifiers carry what the mapping decided from the launcher
 * to the agents, in the one text that travels anyway; they are numbers, and
 * both ends are of one version. */

#include "config.h"

#include "lib/topo/bind.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

/* The objects in the order of their numbers, then other launchers' names for
 * the same. */
static const struct {
    const char *name;
    enum hb_bind_to to;
} words[] = {
    {"none", HB_BIND_NONE},         {"hwthread", HB_BIND_HWTHREAD},
    {"core", HB_BIND_CORE},         {"l1cache", HB_BIND_L1CACHE},
    {"l2cache", HB_BIND_L2CACHE},   {"l3cache", HB_BIND_L3CACHE},
    {"numa", HB_BIND_NUMA},         {"package", HB_BIND_PACKAGE},
    {"socket", HB_BIND_PACKAGE},    {"hwthreads", HB_BIND_HWTHREAD},
    {"board", HB_BIND_NONE}, /* a whole host, as far as anyone can tell */
};

static int begins(const char *name, const char *word)
{
    return strncasecmp(name, word, strlen(word)) == 0;
}

/* As in Open MPI 5 a word may be cut short where one object alone begins so. */
static int find_object(const char *word, enum hb_bind_to *out)
{
    enum hb_bind_to found = HB_BIND_DEFAULT;

    for (size_t i = 0; i < N_OF(words); i++) {
        if (!begins(words[i].name, word)) {
            continue;
        }
        if (found != HB_BIND_DEFAULT && found != words[i].to) {
            return 0;
        }
        found = words[i].to;
    }
    *out = found != HB_BIND_DEFAULT ? found : *out;
    return found != HB_BIND_DEFAULT;
}

static int refuse(const char *word, struct hpcboot_error *err)
{
    const char *names[N_OF(words)], *near;
    char *several;
    int rc;

    for (size_t i = 0; i < N_OF(words); i++) {
        names[i] = words[i].name;
    }
    several = hb_all_beginning(word, names, N_OF(words));
    if (several != NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--bind-to: \"%.40s\" may be %s",
                     word, several);
        free(several);
        return rc;
    }
    near = hb_nearest(word, names, N_OF(words));
    if (strcasecmp(word, "cpu-list") == 0 || strcasecmp(word, "cpulist") == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "--bind-to %s: use --map-by pe-list=CORES, or for a "
                       "core of the list to each rank pe-list=CORES:ORDERED",
                       word);
    }
    return near != NULL
               ? hb_fail(err, HPCBOOT_ERR_USAGE,
                         "--bind-to: \"%.40s\" is not known; did you mean "
                         "\"%s\"?", word, near)
               : hb_fail(err, HPCBOOT_ERR_USAGE,
                         "--bind-to: \"%.40s\" is not known; expected none, "
                         "hwthread, core, l1cache, l2cache, l3cache, numa or "
                         "package", word);
}

static int refuse_modifier(const char *word, struct hpcboot_error *err)
{
    if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--bind-to OBJECT:%.40s, as "
                       "Hydra has it: --cpus-per-rank %.40s says how many CPUs "
                       "a rank has, and --dialect hydra that all words are "
                       "Hydra's", word, word);
    }
    if (strncasecmp(word, "PE=", 3) == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--bind-to %.40s: how many CPUs "
                       "a rank has is said by --map-by POLICY:%.40s", word,
                       word);
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "--bind-to: \"%.40s\" is not known; expected "
                   "overload-allowed or if-supported", word);
}

/* What the mapping adds, and the largest value of each. */
struct carried {
    const char *name;
    uint64_t max;
    size_t offset; /* of a 32-bit field */
};
#define FIELD(f) offsetof(struct hb_bind_policy, f)
static const struct carried carried[] = {
    {"by=", HB_MAP_PE_LIST, FIELD(by)},
    {"ppr-object=", HB_MAP_PE_LIST, FIELD(ppr_object)},
    {"ppr=", HB_MAX_RANKS, FIELD(ppr)},
    {"rank-by=", HB_RANK_TURN, FIELD(rank_by)},
    {"pe=", HB_MAX_CPUS, FIELD(pe)},
    {"hwtcpus=", 1, FIELD(hwtcpus)},
    {"ordered=", 1, FIELD(ordered)},
    {"memory=", HB_MEM_BIND, FIELD(memory)},
    {"gpus=", HB_MAX_GPUS, FIELD(gpus)},
};

/* In the text a list's commas are '+', because commas part words. */
#define LIST_IS "list="

static int parse_list(const char *value, struct hb_bind_policy *p,
                      struct hpcboot_error *err)
{
    if (strlen(value) >= sizeof(p->list) ||
        value[strspn(value, "0123456789+-")] != '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--bind-to: %.40s is no list of cores", value);
    }
    snprintf(p->list, sizeof(p->list), "%s", value);
    for (char *c = p->list; *c != '\0'; c++) {
        *c = *c == '+' ? ',' : *c;
    }
    return HPCBOOT_OK;
}

_Static_assert(sizeof(enum hb_map_by) == 4 && sizeof(enum hb_rank_by) == 4 &&
                   sizeof(int) == 4, "carried fields are 32 bits wide");

static int parse_carried(const char *word, struct hb_bind_policy *p,
                         struct hpcboot_error *err)
{
    for (size_t i = 0; i < N_OF(carried); i++) {
        const struct carried *c = &carried[i];
        uint64_t n;
        uint32_t v;
        if (strncasecmp(word, c->name, strlen(c->name)) != 0) {
            continue;
        }
        if (hb_parse_u64(word + strlen(c->name), 0, c->max, &n) < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "--bind-to: %.40s: expected a number up to %llu",
                           word, (unsigned long long)c->max);
        }
        v = (uint32_t)n;
        memcpy((char *)p + c->offset, &v, sizeof(v));
        return HPCBOOT_OK;
    }
    return refuse_modifier(word, err);
}

/* `travels`: the text comes from hb_bind_policy_text, not from a person. */
static int parse_modifier(const char *word, int travels,
                          struct hb_bind_policy *p, struct hpcboot_error *err)
{
    if (begins("overload-allowed", word)) {
        p->overload_allowed = 1;
        return HPCBOOT_OK;
    }
    if (begins("if-supported", word)) {
        p->if_supported = 1;
        return HPCBOOT_OK;
    }
    if (!travels) {
        return refuse_modifier(word, err);
    }
    if (hb_starts_with(word, LIST_IS)) {
        return parse_list(word + strlen(LIST_IS), p, err);
    }
    return parse_carried(word, p, err);
}

static int parse(const char *text, int travels, struct hb_bind_policy *io,
                 struct hpcboot_error *err)
{
    struct hb_bind_policy p = *io;
    char *copy, *save = NULL, *word;
    int rc = HPCBOOT_OK;

    if (text == NULL || text[0] == '\0') {
        return HPCBOOT_OK;
    }
    copy = hb_xstrdup(text);
    word = strtok_r(copy, ":,", &save);
    if (word == NULL) {
        rc = refuse(text, err);
    } else if (text[0] != ':' && !find_object(word, &p.to)) {
        rc = refuse(word, err);
    } else if (text[0] == ':') {
        rc = parse_modifier(word, travels, &p, err);
    }
    while (rc >= 0 && (word = strtok_r(NULL, ":,", &save)) != NULL) {
        rc = parse_modifier(word, travels, &p, err);
    }
    if (rc >= 0) {
        *io = p;
    }
    free(copy);
    return rc;
}

int hb_bind_to_parse(const char *text, struct hb_bind_policy *io,
                     struct hpcboot_error *err)
{
    return parse(text, 0, io, err);
}

int hb_bind_policy_parse(const char *text, struct hb_bind_policy *io,
                         struct hpcboot_error *err)
{
    return parse(text, 1, io, err);
}

void hb_bind_policy_map(struct hb_bind_policy *io,
                        const struct hb_map_policy *map)
{
    io->by = map->by;
    io->ppr_object = map->ppr_object;
    io->ppr = map->by == HB_MAP_PPR_OBJECT ? map->ppr : 0;
    io->rank_by = map->rank_by == HB_RANK_DEFAULT && hb_map_spans(map)
                      ? HB_RANK_SPAN : map->rank_by;
    io->pe = map->pe;
    io->hwtcpus = map->cpu_kind > 0;
    io->ordered = map->ordered;
    snprintf(io->list, sizeof(io->list), "%s", map->list);
}

char *hb_bind_policy_text(const struct hb_bind_policy *policy)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_put(&o, policy->to == HB_BIND_DEFAULT
                       ? "" : words[policy->to - HB_BIND_NONE].name);
    if (policy->overload_allowed) {
        hb_str_put(&o, ":overload-allowed");
    }
    if (policy->if_supported) {
        hb_str_put(&o, ":if-supported");
    }
    for (size_t i = 0; i < N_OF(carried); i++) {
        uint32_t v;
        memcpy(&v, (const char *)policy + carried[i].offset, sizeof(v));
        if (v != 0) {
            hb_str_putf(&o, ":%s%u", carried[i].name, v);
        }
    }
    if (policy->list[0] != '\0') {
        hb_str_put(&o, ":" LIST_IS);
        for (const char *c = policy->list; *c != '\0'; c++) {
            hb_str_putc(&o, *c == ',' ? '+' : *c);
        }
    }
    return hb_str_steal(&o);
}
