/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The SSH way from the banner on: key exchange, host key, login, command.
 * libssh does the protocol; here are its options, what its answers mean, and
 * the words for them. libssh reads neither ssh_config nor known_hosts: the
 * settings have been made, and keys are judged by ssh_trust.c. */
#include "config.h"

#include "bin/boot/ssh_way.h"

#include <libssh/server.h> /* messages of the other end */
#include <stdlib.h>
#include <string.h>

#include "bin/boot/ssh_channel.h"
#include "bin/boot/ssh_proxy.h"
#include "bin/boot/ssh_trust.h"
#include "bin/boot/ssh_words.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"

#define FD_MAX 65535 /* libssh 0.10 keeps 16 bits of a descriptor */

/* curve25519 costs a tenth of the post-quantum exchange that newer servers
 * prefer; the rest is for hosts restricted to NIST curves. */
#define KEX "curve25519-sha256,curve25519-sha256@libssh.org," \
    "ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521," \
    "diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512," \
    "diffie-hellman-group14-sha256"
#define CIPHERS "aes128-gcm@openssh.com,aes256-gcm@openssh.com," \
    "chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr"

static int set_options(struct hb_ssh_boot *b, struct hpcboot_error *err)
{
    const struct hb_boot_config *config = b->boot.config;
    const char *kex = config->kex ? config->kex : KEX;
    struct hb_ssh_gang gang = hb_ssh_auth_gang(b->auth);
    char *order = hb_ssh_host_key_order(&b->settings, &gang);
    int no = 0, rc = 0, user_failed = 0;
    /* The files are ours to read, and a directory must be named so that libssh
     * does not look for a home that is not there. */
    const struct {
        enum ssh_options_e option;
        const void *value;
    } options[] = {
        {SSH_OPTIONS_PROCESS_CONFIG, &no},
        {SSH_OPTIONS_SSH_DIR, "/etc/ssh"},
        {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_HOST, "host"},
        {SSH_OPTIONS_USER, b->settings.user},
        {SSH_OPTIONS_FD, &b->fd},
        {SSH_OPTIONS_CIPHERS_C_S, CIPHERS},
        {SSH_OPTIONS_CIPHERS_S_C, CIPHERS},
        {SSH_OPTIONS_HOSTKEYS, order},
        {SSH_OPTIONS_KEY_EXCHANGE, kex},
    };

    for (size_t i = 0; rc == 0 && i < sizeof options / sizeof options[0]; i++) {
        rc = ssh_options_set(b->session, options[i].option, options[i].value);
        user_failed = rc != 0 && options[i].option == SSH_OPTIONS_USER;
    }
    if (rc == 0 && b->settings.agent_socket) {
        rc = ssh_options_set(b->session, SSH_OPTIONS_IDENTITY_AGENT,
                             b->settings.agent_socket);
    }
    free(order);
    if (user_failed) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: \"%.80s\" is no user name "
                       "to log in as: it has characters that a shell knows",
                       b->host, b->settings.user);
    }
    if (rc != 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: libssh: %.200s%s%.100s",
                       b->host, ssh_get_error(b->session),
                       config->kex ? "; is this right: --kex " : "",
                       config->kex ? config->kex : "");
    }
    return HPCBOOT_OK;
}

/* libssh refuses what is left to it, and keeps without end what nobody has
 * said to leave to it. */
static int leave_to_libssh(ssh_session session, ssh_message message, void *arg)
{
    return 1;
}

int hb_ssh_begin(struct hb_ssh_boot *b)
{
    struct hpcboot_error err = {0};
    int rc = HPCBOOT_OK;

    if (hb_ssh_enter_stage(b, HB_STAGE_HOST_KEY, b->address)) {
        return -1;
    }
    b->session = ssh_new();
    if (!b->session) {
        rc = hb_fail(&err, HPCBOOT_ERR_NOMEM, "no memory for a session");
    } else if (b->fd > FD_MAX) {
        rc = hb_fail(&err, HPCBOOT_ERR_LIMIT, "%s: more than %d descriptors "
                     "are open", b->host, FD_MAX);
    }
    if (rc == HPCBOOT_OK) {
        rc = set_options(b, &err);
    }
    if (rc != HPCBOOT_OK) {
        hb_ssh_fail(b, &err);
        return -1;
    }
    ssh_set_message_callback(b->session, leave_to_libssh, NULL);
    hb_ssh_meter_watch(&b->meter, b->session);
    ssh_set_blocking(b->session, 0);
    return 1;
}

/* libssh has no words for a packet that it cannot make sense of. */
static const char *last_error(ssh_session session)
{
    const char *text = hb_ssh_words(session);

    return *text ? text : "it sends what is not SSH";
}

static int tell_unverified(struct hb_ssh_boot *b,
                           const struct hb_ssh_verdict *verdict)
{
    size_t len = strlen(verdict->host_key);
    unsigned char *key = hb_xmalloc(HB_BASE64_ROOM(len));
    long n = hb_base64_decode(verdict->host_key, len, key);
    struct hb_boot_unverified host = {
        .fingerprint = verdict->unverified,
        .host_key = {key, n > 0 ? (size_t)n : 0},
        .changed = verdict->changed,
    };
    int gone = hb_boot_emit_unverified(&b->boot, &host);

    free(key);
    return gone;
}

int hb_ssh_kex_step(struct hb_ssh_boot *b)
{
    struct hb_ssh_gang gang = hb_ssh_auth_gang(b->auth);
    struct hpcboot_error err = {0};
    struct hb_ssh_verdict verdict = {0};
    int rc, gone = 0;

    b->fd_owned = 0;
    rc = ssh_connect(b->session);
    if (rc == SSH_AGAIN) {
        return 0;
    }
    if (rc != SSH_OK) {
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "the key exchange with %s failed: %.300s", b->address,
                     last_error(b->session));
        return -1;
    }
    if (hb_ssh_host_key_check(b->session, b->host, &b->settings, &gang,
                              b->boot.config->host_keys, &verdict, &err) < 0) {
        hb_ssh_fail(b, &err);
        return -1;
    }
    if (verdict.unverified) {
        gone = tell_unverified(b, &verdict);
    } else if (verdict.reached) {
        gone = hb_boot_emit_reached(&b->boot, verdict.reached);
    }
    hb_ssh_verdict_destroy(&verdict);
    return gone || hb_ssh_enter_stage(b, HB_STAGE_AUTH, b->settings.user) ? -1
                                                                          : 1;
}

int hb_ssh_auth_stage(struct hb_ssh_boot *b)
{
    struct hpcboot_error err = {0};
    int rc = hb_ssh_auth_step(b->auth, b->session, b->host, &err);
    char *notice;
    int gone = 0;

    if (rc == 0) {
        return 0;
    }
    if (rc < 0) {
        hb_ssh_fail(b, &err);
        return -1;
    }
    notice = ssh_get_issue_banner(b->session);
    if (notice) {
        gone = hb_boot_emit_chatter(&b->boot, notice, strlen(notice));
        ssh_string_free_char(notice);
    }
    return gone || hb_ssh_enter_stage(b, HB_STAGE_AGENT, "") ? -1 : 1;
}

static void chatter_cb(void *arg, const char *text, size_t len)
{
    struct hb_ssh_boot *b = arg;

    hb_boot_emit_chatter(&b->boot, text, len);
}

static void channel_gone(void *arg)
{
    struct hb_ssh_boot *b = arg;

    b->open_channel = NULL;
}

static void hand_over(struct hb_ssh_boot *b)
{
    struct hb_ssh_parts parts = {b->fd, b->session, b->channel, b->exit,
                                 b->proxy};
    struct hpcboot_error err = {0};

    hb_ssh_quiet(b);
    hb_ssh_proxy_mute(b->proxy);
    b->fd = -1;
    b->session = NULL;
    b->channel = NULL;
    b->exit = NULL;
    b->proxy = NULL;
    if (hb_ssh_channel_create(&b->open_channel, b->boot.config->base, &parts,
                              &err) < 0) {
        hb_ssh_fail(b, &err);
        return;
    }
    hb_ssh_channel_set_chatter(b->open_channel, chatter_cb, channel_gone, b);
    hb_boot_emit_open(&b->boot, b->open_channel);
}

int hb_ssh_agent_step(struct hb_ssh_boot *b)
{
    int rc = SSH_OK;

    if (!b->channel) {
        b->channel = ssh_channel_new(b->session);
        b->exit = b->channel ? hb_ssh_exit_hear(b->channel) : NULL;
    }
    if (!b->exit) {
        hb_ssh_failf(b, HPCBOOT_ERR_NOMEM, "no memory for a channel");
        return -1;
    }
    if (!b->exec_asked) {
        rc = ssh_channel_open_session(b->channel);
    }
    if (rc == SSH_OK) {
        b->exec_asked = 1;
        rc = ssh_channel_request_exec(b->channel, b->command);
    }
    if (rc == SSH_AGAIN) {
        return 0;
    }
    if (rc != SSH_OK) {
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "%s does not let %s start a command: %.240s", b->address,
                     b->settings.user, hb_ssh_words(b->session));
        return -1;
    }
    hand_over(b);
    return -1;
}
