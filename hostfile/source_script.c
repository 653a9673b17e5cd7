/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The script of --discover-hosts, as elastic launchers know it: it prints the
 * hosts that are there now, a line each, "host" or "host:slots", each line as
 * it likes. It was named, so whatever is wrong with it is an error. That there
 * are none is not wrong where the caller knows how many it needs: it may ask
 * again. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostfile/command.h"
#include "hostfile/dialect.h"
#include "hostfile/source.h"
#include "lib/base/str.h"

#define TEXT_MAX (16u << 20)

/* Found as a program of the ranks is: a bare name that PATH does not have is
 * a file of the working directory, if that has it. */
static int output_of(const struct hb_gang_request *req, char **text_out,
                     size_t *len_out, struct hpcboot_error *err)
{
    char *here = hb_xasprintf("./%s", req->discover);
    char *argv[] = {(char *)req->discover, NULL};
    int rc = hb_command_output(argv, req->env, TEXT_MAX, text_out, len_out,
                               err);

    if (rc == HPCBOOT_ERR_NOT_FOUND && strchr(req->discover, '/') == NULL &&
        access(here, F_OK) == 0) {
        argv[0] = here;
        rc = hb_command_output(argv, req->env, TEXT_MAX, text_out, len_out,
                               err);
    }
    free(here);
    return rc;
}

/* A host without a count is one whose slots are asked for elsewhere, whatever
 * stands in the other lines; in a file of Hydra's it would have one. */
static int parse(const char *name, const char *text, size_t len,
                 struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_form counts = hb_form_hydra;

    counts.tally = HB_TALLY_REPEATED;
    return hb_form_any_count(text, len)
               ? hb_form_parse(&counts, name, text, len, out, err)
               : hb_hostfile_parse(NULL, name, text, len, out, err);
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc;

    if (req->discover == NULL) {
        *reason_out = hb_xstrdup("not given");
        return 0;
    }
    rc = output_of(req, &text, &len, err);
    if (rc == HPCBOOT_ERR_SYSTEM && req->before != NULL) {
        return rc; /* it has failed this once */
    }
    if (rc < 0) { /* the user's own script is the user's to mend */
        hb_error_prefix(err, rc, "--discover-hosts");
        if (err != NULL) {
            err->code = HPCBOOT_ERR_USAGE;
        }
        return HPCBOOT_ERR_USAGE;
    }
    if (strspn(text, " \t\r\n") == len) {
        free(text);
        return hb_fail(err, req->enough_hosts > 0 ? HPCBOOT_ERR_AGAIN
                                                  : HPCBOOT_ERR_PARSE,
                       "--discover-hosts: %s has printed no host, as HOST or "
                       "HOST:SLOTS", req->discover);
    }
    rc = parse(req->discover, text, len, out, err);
    free(text);
    if (rc < 0) {
        return rc;
    }
    out->detail = hb_xasprintf("%zu host%s printed by %s", out->n,
                               out->n == 1 ? "" : "s", req->discover);
    return 1;
}

const struct hb_source hb_source_script = {
    .name = "--discover-hosts", .own_hosts = 1, .ask = ask};
