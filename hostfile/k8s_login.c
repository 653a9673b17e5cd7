/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a pod may talk to the API. The kubelet sets KUBERNETES_SERVICE_HOST and
 * _PORT and mounts the service account: token, ca.crt and namespace. The
 * files are named here and read when they are used, since the token is
 * renewed every hour.
 *
 * A login through sshd has the files but not the variables; the name that the
 * Service has in every cluster stands in for them. */

#include "config.h"

#include "hostfile/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/hostname.h"
#include "hostfile/source.h"

#define DIR_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
#define DEFAULT_HOST "kubernetes.default.svc"
#define DEFAULT_PORT 443
/* A name of a namespace is a DNS label. */
#define MAX_SPACE_BYTES 63u

void hb_k8s_login_destroy(struct hb_k8s_login *login)
{
    free(login->server);
    free(login->ca);
    free(login->token);
    free(login->space);
    memset(login, 0, sizeof(*login));
}

static char *server_of(const struct hb_gang_request *req, char **reason_out)
{
    static const char *const ports[] = {"KUBERNETES_SERVICE_PORT_HTTPS",
                                        "KUBERNETES_SERVICE_PORT", NULL};
    const char *host = hb_source_env(req, "KUBERNETES_SERVICE_HOST");
    const char *port_text = hb_source_env_of(req, ports);
    uint64_t port = DEFAULT_PORT;
    size_t at;

    if (host == NULL || host[0] == '\0') {
        host = DEFAULT_HOST;
    } else if (port_text != NULL &&
               hb_parse_u64(port_text, 1, UINT16_MAX, &port) < 0) {
        *reason_out = hb_xstrdup("KUBERNETES_SERVICE_PORT is not a port");
        return NULL;
    }
    if (hb_hostname_wrong(host, &at) != NULL) {
        *reason_out = hb_xstrdup("KUBERNETES_SERVICE_HOST is not a host");
        return NULL;
    }
    return hb_xasprintf(strchr(host, ':') != NULL ? "https://[%s]:%u"
                                                  : "https://%s:%u", host,
                        (unsigned)port);
}

/* The namespace of this pod, or NULL. */
static char *space_of(const struct hb_gang_request *req)
{
    size_t len, n;
    char *text = hb_source_text(req, DIR_PATH "/namespace", &len);

    if (text == NULL) {
        return NULL;
    }
    text[strcspn(text, " \t\r\n")] = '\0';
    n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (n == 0 || n > MAX_SPACE_BYTES || text[n] != '\0') {
        free(text);
        return NULL;
    }
    return text;
}

int hb_k8s_login_read(const struct hb_gang_request *req,
                      struct hb_k8s_login *out, char **reason_out)
{
    static const char *const files[] = {DIR_PATH "/token", DIR_PATH "/ca.crt"};

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (hb_source_exists(req, files[i])) {
            continue;
        }
        *reason_out = hb_source_env(req, "KUBERNETES_SERVICE_HOST") != NULL
            ? hb_xasprintf("there is no %s (automountServiceAccountToken may "
                           "be false)", files[i])
            : hb_xstrdup("this is no pod of Kubernetes");
        return 0;
    }
    out->space = space_of(req);
    if (out->space == NULL) {
        *reason_out = hb_xstrdup(DIR_PATH "/namespace holds no namespace");
        return 0;
    }
    out->server = server_of(req, reason_out);
    if (out->server == NULL) {
        hb_k8s_login_destroy(out);
        return 0;
    }
    out->token = hb_xasprintf("%s%s", hb_source_root(req), files[0]);
    out->ca = hb_xasprintf("%s%s", hb_source_root(req), files[1]);
    return 1;
}
