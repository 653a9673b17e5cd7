/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reading the ssh_config files: which, and how often.
 *
 * The usual files may start programs (ProxyCommand) and lead elsewhere, so one
 * that others can write is an error, as with ssh. It is not passed over: what
 * its owner wrote there may be what keeps a login safe. A file that is named on
 * the command line is the user's own choice.
 *
 * Nothing is run here: this is the launcher's loop, and hosts that it does not
 * hear meanwhile are taken for lost. */
#include "config.h"

#include "bin/boot/ssh_conf.h"

#include <ctype.h>
#include <stdlib.h>

#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SYSTEM_DIR "/etc/ssh"

char *hb_ssh_lower(const char *name)
{
    char *lower = hb_xstrdup(name);

    for (char *p = lower; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return lower;
}

/* A usual file that is not there or not readable says nothing. */
static int read_usual(struct hb_ssh_conf *conf, const char *dir,
                      const char *name, int own,
                      const struct hb_ssh_query *query,
                      struct hpcboot_error *err)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    int rc = hb_ssh_conf_file(conf, path, dir, own, query, err);

    free(path);
    return rc == HPCBOOT_ERR_NOT_FOUND || rc == HPCBOOT_ERR_SYSTEM
        ? HPCBOOT_OK : rc;
}

/* Whether a config is passed over as not this user's. ssh does not look where
 * only HOME leads to, which may be what another user or an image has set. */
static int is_strangers(const char *path)
{
    static int told;
    struct hpcboot_error why = {.text = ""};
    char *text = NULL;
    size_t len = 0;
    int rc = hb_file_read_own(path, HB_SSH_CONF_MAX_BYTES, &text, &len, &why);

    free(text);
    if (rc == HPCBOOT_ERR_AUTH && !told) {
        told = 1;
        hb_log(HB_WARN, "%s; it is passed over, as HOME is not the home that "
               "passwd has", why.text);
    }
    return rc == HPCBOOT_ERR_AUTH;
}

static int read_home(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                     const char *home, const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    char *dir = hb_xasprintf("%s/.ssh", home);
    char *path = hb_xasprintf("%s/config", dir);
    int rc = HPCBOOT_OK;

    if (hb_streq(home, files->passwd_home) || !is_strangers(path)) {
        rc = read_usual(conf, dir, "config", 1, query, err);
    }
    free(path);
    free(dir);
    return rc;
}

/* In the place of the user's own: what it includes lies beside that. */
static int read_named(struct hb_ssh_conf *conf,
                      const struct hb_ssh_files *files,
                      const struct hb_ssh_query *query,
                      struct hpcboot_error *err)
{
    char *dir = query->home ? hb_xasprintf("%s/.ssh", query->home)
                            : hb_xstrdup(SYSTEM_DIR);
    int rc = hb_ssh_conf_file(conf, files->named, dir, 0, query, err);

    free(dir);
    return rc;
}

static int read_all(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                    const struct hb_ssh_query *query,
                    struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    if (files->named) {
        return read_named(conf, files, query, err);
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < files->homes->n; i++) {
        rc = read_home(conf, files, files->homes->v[i], query, err);
    }
    if (rc == HPCBOOT_OK) {
        rc = read_usual(conf, SYSTEM_DIR, "ssh_config", 0, query, err);
    }
    return rc;
}

static int not_ours(struct hpcboot_error *err)
{
    struct hpcboot_error why = {.text = ""};

    if (err) {
        why = *err;
    }
    return hb_fail(err, HPCBOOT_ERR_AUTH, "%.360s; as with ssh nothing is done "
                   "by it: --ssh-config none leaves it out", why.text);
}

/* Names would have to be looked up before the files are read again. */
static void tell_not_canonical(const struct hb_ssh_conf *conf)
{
    static int told;

    if (conf->canonical && conf->canonical_rules && !told) {
        told = 1;
        hb_log(HB_WARN, "CanonicalizeHostname of ssh_config is not known here: "
               "hosts keep the names they have; --launch-with ssh knows it");
    }
}

int hb_ssh_conf_read(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct hb_ssh_query q = *query;
    int rc;

    if (files->named && hb_streq(files->named, "none")) {
        return HPCBOOT_OK;
    }
    rc = read_all(conf, files, &q, err);
    if (rc == HPCBOOT_OK && (conf->final_wanted || conf->canonical)) {
        /* The name is settled: a HostName comes too late now. */
        char *connected = hb_ssh_lower(conf->hostname ? conf->hostname
                                                      : q.host);

        free(conf->hostname);
        conf->hostname = connected;
        q.connected = connected;
        rc = read_all(conf, files, &q, err);
        tell_not_canonical(conf);
    }
    return rc == HPCBOOT_ERR_AUTH ? not_ours(err) : rc;
}
