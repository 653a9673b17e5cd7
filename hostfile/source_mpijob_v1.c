/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Kubeflow MPIJob of API v1 (the first MPI Operator, Training
 * Operator v1), seen from its launcher pod.
 *
 * There is no sshd in the workers. The operator mounts /etc/mpi/kubexec.sh,
 * which runs "kubectl exec POD -- /bin/sh -c COMMAND" with the rights of the
 * launcher's service account, beside hostfile ("pi-worker-0 slots=4") and
 * discover_hosts.sh. Its kubectl has no -i, so the script carries no input,
 * and a control link needs both directions; the same command with -i added is
 * what agents are started with. A script that has -i already, or is not
 * understood, is used as it is. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/lines.h"
#include "hostfile/mpijob_v1.h"
#include "lib/base/str.h"

#define KUBEXEC_PATH "/etc/mpi/kubexec.sh"
#define HOSTFILE_PATH "/etc/mpi/hostfile"

static int is_pod_name(const char *word)
{
    return strcmp(word, "${POD_NAME}") == 0 || strcmp(word, "$POD_NAME") == 0 ||
           strcmp(word, "$1") == 0;
}

/* Words of a template are read the way a shell reads them. */
static int is_plain(const char *word)
{
    return word[strcspn(word, "'\"\\$%&|;<>()`*?~#")] == '\0';
}

/* "kubectl exec ${POD_NAME} --container c -- ..." as a template, or NULL when
 * the line is something else. */
static char *template_of(char *line)
{
    struct hb_str out = HB_STR_INIT;
    char *save = NULL, *word = strtok_r(line, " \t", &save);
    int exec = 0, pod = 0;

    for (; word != NULL && strcmp(word, "--") != 0;
         word = strtok_r(NULL, " \t", &save)) {
        if (exec && is_pod_name(word)) {
            pod = 1;
            hb_str_put(&out, "%h ");
        } else if (!is_plain(word) || strcmp(word, "-i") == 0 ||
                   strcmp(word, "--stdin") == 0) {
            word = NULL;
            break;
        } else {
            hb_str_putf(&out, "%s %s", word,
                        !exec && strcmp(word, "exec") == 0 ? "-i " : "");
            exec = exec || strcmp(word, "exec") == 0;
        }
    }
    if (word == NULL || !exec || !pod) {
        hb_str_destroy(&out);
        return NULL;
    }
    hb_str_put(&out, "-- /bin/sh -c %a");
    return hb_str_steal(&out);
}

char *hb_kubexec_template(const char *text, size_t len)
{
    char *found = NULL;
    struct hb_lines lines;

    hb_lines_begin(&lines, "", text, len);
    /* The last one counts: an early variant copies /etc/hosts before. */
    while (hb_lines_next(&lines, NULL) > 0) {
        char *one = template_of(hb_lines_trim(&lines));
        if (one != NULL) {
            free(found);
            found = one;
        }
    }
    hb_lines_end(&lines);
    return found;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    size_t len;
    char *script;
    int rc;

    if (!hb_source_exists(req, KUBEXEC_PATH)) {
        *reason_out = hb_xstrdup("there is no " KUBEXEC_PATH);
        return 0;
    }
    rc = hb_source_read(hb_source_root(req), NULL, HOSTFILE_PATH, out, err);
    if (rc < 0) {
        return hb_error_prefix(err, rc, "the launcher of an MPIJob needs its "
                               "list of hosts (or -H)");
    }
    if (out->n == 0) {
        *reason_out = hb_xstrdup(HOSTFILE_PATH " is empty: this MPIJob has no "
                                 "workers");
        hb_gang_note(out, "%s, so this host is alone", *reason_out);
        return 0;
    }
    script = hb_source_text(req, KUBEXEC_PATH, &len);
    if (script != NULL) {
        out->launch_with = hb_kubexec_template(script, len);
    }
    if (out->launch_with == NULL) {
        out->launch_with = hb_xstrdup(KUBEXEC_PATH);
    }
    out->operator_made = 1;
    out->detail = hb_xasprintf("%zu host%s in " HOSTFILE_PATH ", reached by: "
                               "%s", out->n, out->n == 1 ? "" : "s",
                               out->launch_with);
    free(script);
    return 1;
}

const struct hb_source hb_source_mpijob_v1 = {
    .name = "MPIJob v1", .own_hosts = 1, .ask = ask};
