/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot hostfile: which hosts hbrun would use here, in the form of any
 * launcher. Hosts come from the same sources in the same order, and options
 * that are left out from the same configuration and variables. What a form
 * cannot carry is said on stderr; --why adds where every host and number is
 * from, and why stronger sources were passed over. Nobody is contacted. */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/result.h"
#include "bin/job/verdict.h"
#include "hostfile/dialect.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"
#include "lib/topo/gpus.h"

extern char **environ;

struct wanted {
    const char *format, *from, *output, *host_list, *hostfile;
    const char *discover, *default_hostfile, *pod_selector, *pod_group;
    int why;
};

static const char *form_name(size_t i)
{
    return hb_forms()[i] != NULL ? hb_forms()[i]->name : NULL;
}

static int is_form(const char *value)
{
    return hb_form_find(value) != NULL;
}

#define AT(field) offsetof(struct wanted, field)
static const struct hb_arg args[] = {
    {"format f", "FORM", "write this form (default openmpi)", AT(format),
     form_name, 0, is_form},
    {"output o", "FILE", "write to FILE, in one step", AT(output), NULL},
    {"why", NULL, "say where hosts are from, and what was passed over",
     AT(why), NULL},
    {"host H", "LIST", "hosts to use: a,b:4,n[01-16]", AT(host_list), NULL,
     1},
    {"hostfile machinefile", "FILE", "hosts to use, from FILE", AT(hostfile),
     NULL},
    {"discover-hosts", "FILE", "hosts to use: what the script FILE prints",
     AT(discover), NULL},
    {"default-hostfile", "FILE", "hosts to use where nothing else names any",
     AT(default_hostfile), NULL},
    {"pod-selector", "LABELS", "hosts to use: the pods with these labels",
     AT(pod_selector), NULL},
    {"pod-group", "NAME", "hosts to use: the pods of this pod group",
     AT(pod_group), NULL},
    {"from", "FORM", "the form of --hostfile (default: as it looks)", AT(from),
     form_name, 0, is_form},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *forms_text(void)
{
    static struct hb_str text = HB_STR_INIT;

    if (text.len == 0) {
        hb_str_put(&text, "Forms:\n");
        for (size_t i = 0; form_name(i) != NULL; i++) {
            hb_str_putf(&text, "  %-12s %s\n", form_name(i),
                        hb_forms()[i]->title);
        }
    }
    return text.s;
}

/* What this very host would be counted as, if it is one of the gang's and
 * nobody states its slots. *origin_out says how; 0 when it is not known. */
static int count_here(const struct hb_host *h, struct hb_str *origin_out)
{
    struct hb_allowed cores;
    struct hb_gpus gpus;

    hb_gpus_count("", environ, &gpus);
    if (h->count == HB_COUNT_GPUS ||
        (h->count == HB_COUNT_GPUS_ELSE_CORES && gpus.n > 0)) {
        hb_str_put(origin_out, gpus.origin);
        return (int)gpus.n;
    }
    if (hb_topo_allowed("", &cores, NULL) < 0) {
        return 0;
    }
    hb_str_put(origin_out, cores.origin);
    return (int)cores.slots;
}

static void say_slots(const struct hb_host *h)
{
    struct hb_str origin = HB_STR_INIT;

    if (h->slots > 0) {
        fprintf(stderr, "%d slot%s", h->slots, h->slots == 1 ? "" : "s");
    } else if (h->is_local) {
        int slots = count_here(h, &origin);
        fprintf(stderr, "%d slot%s: %s", slots, slots == 1 ? "" : "s",
                hb_str_text(&origin));
    } else {
        fprintf(stderr, "%s to be counted there",
                h->count == HB_COUNT_GPUS ? "GPUs" : "slots");
    }
    hb_str_destroy(&origin);
}

static void say_why(const struct hb_gang *gang)
{
    for (size_t i = 0; i < gang->n_passed; i++) {
        fprintf(stderr, "passed over: %s\n", gang->passed_over[i]);
    }
    if (gang->source == NULL) {
        return;
    }
    fprintf(stderr, "found: %s: %s\n", gang->source, gang->detail);
    if (gang->launch_with != NULL) {
        fprintf(stderr, "started with: %s\n", gang->launch_with);
    }
    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        fprintf(stderr, "host: %s: ", h->name);
        say_slots(h);
        fprintf(stderr, " (%s)%s\n", h->origin,
                h->is_local && !hb_streq(h->origin, HB_ORIGIN_THIS_HOST)
                    ? ", this host" : "");
    }
}

/* A form without a word for "count there" gets the number where it can be had
 * without asking anybody: for this host. */
static void fill_in(struct hb_gang *gang)
{
    for (size_t i = 0; i < gang->n; i++) {
        struct hb_str origin = HB_STR_INIT;
        struct hb_host *h = &gang->hosts[i];
        if (h->is_local && h->slots == 0) {
            h->slots = count_here(h, &origin);
        }
        hb_str_destroy(&origin);
    }
}

static int write_form(const struct wanted *w, struct hb_gang *gang,
                      struct hpcboot_error *err)
{
    const struct hb_form *form = hb_form_find(w->format != NULL ? w->format
                                                                : "openmpi");
    struct hb_str text = HB_STR_INIT;
    struct hb_strv dropped = HB_STRV_INIT;
    int rc;

    if (form->needs_slots) {
        fill_in(gang);
    }
    form->write(gang, &text, &dropped);
    for (size_t i = 0; i < dropped.n; i++) {
        hb_log(HB_WARN, "the %s cannot carry: %s", form->title, dropped.v[i]);
    }
    rc = hb_result_write(w->output, hb_str_text(&text), text.len, err);
    hb_strv_destroy(&dropped);
    hb_str_destroy(&text);
    return rc;
}

/* As hbrun would end: an API that is not to be asked now is no mistake in the
 * line. */
static int failed_as(int rc)
{
    return hb_status_damage(rc) == HB_DAMAGE_HOST ||
                   rc == HPCBOOT_ERR_TIMED_OUT ? HB_EXIT_RETRY : HB_EXIT_USAGE;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_gang gang = {0};
    struct hpcboot_error err = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status = 0;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    const struct hb_gang_request req = {
        .host_list = w.host_list, .hostfile = w.hostfile,
        .hostfile_form = w.from, .discover = w.discover,
        .default_hostfile = w.default_hostfile, .pod_selector = w.pod_selector,
        .pod_group = w.pod_group,
    };
    rc = hb_command_gang(&req, &gang, &err);
    if (w.why) {
        say_why(&gang);
    }
    for (size_t i = 0; i < gang.n_notes; i++) {
        hb_log(HB_WARN, "%s", gang.notes[i]);
    }
    if (rc < 0) {
        status = failed_as(rc);
    } else {
        rc = write_form(&w, &gang, &err);
        status = rc < 0 ? HB_EXIT_OUTPUT : 0;
    }
    if (rc < 0) {
        hb_log(HB_ERROR, "%s", err.text);
    }
    hb_gang_destroy(&gang);
    return status;
}

const struct hb_command hb_command_hostfile = {
    .name = "hostfile",
    .summary = "print the gang's hosts in the form of any launcher",
    .args = args,
    .more = forms_text,
    .run = run,
};
