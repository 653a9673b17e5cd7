/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* An SSH server on standard input and output that lets everybody in, and asks
 * for channels in its turn once it has been given a command:
 *
 *   ssh_opens HOST_KEY COUNT BYTES [deaf]
 *
 * BYTES go with each of them. Then it says "done" and ends the command. With
 * `deaf` nothing of what comes after the command is read. */
#include <libssh/callbacks.h>
#include <libssh/server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2]; /* libssh's, and that of the two threads */
static atomic_int deaf, has_command;

static void copy(int from, int to, atomic_int *stop)
{
    char piece[65536];
    ssize_t n;

    while ((n = read(from, piece, sizeof piece)) > 0) {
        while (stop && atomic_load(stop)) {
            pause();
        }
        for (ssize_t done = 0, w; done < n; done += w) {
            w = write(to, piece + done, (size_t)(n - done));
            if (w <= 0) {
                exit(0);
            }
        }
    }
    exit(0);
}

static void *copy_in(void *arg)
{
    copy(0, ends[1], &deaf);
    return NULL;
}

static void *copy_out(void *arg)
{
    copy(ends[1], 1, NULL);
    return NULL;
}

static int on_key(ssh_session session, const char *user, ssh_key key,
                  char state, void *arg)
{
    return SSH_AUTH_SUCCESS;
}

static int on_exec(ssh_session session, ssh_channel channel,
                   const char *command, void *arg)
{
    atomic_store(&has_command, 1);
    return 0;
}

static ssh_channel on_open(ssh_session session, void *arg)
{
    static struct ssh_channel_callbacks_struct callbacks = {
        .channel_exec_request_function = on_exec,
    };
    ssh_channel *channel = arg;

    *channel = ssh_channel_new(session);
    ssh_callbacks_init(&callbacks);
    ssh_set_channel_callbacks(*channel, &callbacks);
    return *channel;
}

static void ask_for_channels(ssh_session session, long count, size_t bytes)
{
    char *origin = calloc(bytes + 1, 1);

    memset(origin, 'x', bytes);
    ssh_set_blocking(session, 0);
    for (long i = 0; i < count; i++) {
        ssh_channel_open_reverse_forward(ssh_channel_new(session), "here", 1,
                                         origin, 1);
        ssh_blocking_flush(session, -1);
    }
}

int main(int argc, char **argv)
{
    ssh_bind bind = ssh_bind_new();
    ssh_session session = ssh_new();
    ssh_event event = ssh_event_new();
    ssh_channel channel = NULL;
    struct ssh_server_callbacks_struct callbacks = {
        .userdata = &channel,
        .auth_pubkey_function = on_key,
        .channel_open_request_session_function = on_open,
    };
    pthread_t thread;

    if (argc < 4 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0
        || ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HOSTKEY, argv[1]) != 0
        || ssh_bind_accept_fd(bind, session, ends[0]) != SSH_OK
        || pthread_create(&thread, NULL, copy_in, NULL) != 0
        || pthread_create(&thread, NULL, copy_out, NULL) != 0) {
        return 2;
    }
    ssh_callbacks_init(&callbacks);
    ssh_set_server_callbacks(session, &callbacks);
    ssh_set_auth_methods(session, SSH_AUTH_METHOD_PUBLICKEY);
    if (ssh_handle_key_exchange(session) != SSH_OK
        || ssh_event_add_session(event, session) != SSH_OK) {
        return 3;
    }
    while (!atomic_load(&has_command)) {
        if (ssh_event_dopoll(event, -1) == SSH_ERROR) {
            return 4;
        }
    }
    ssh_blocking_flush(session, -1);
    atomic_store(&deaf, argc > 4);
    ask_for_channels(session, atol(argv[2]), (size_t)atol(argv[3]));
    ssh_channel_write(channel, "done\n", 5);
    ssh_channel_send_eof(channel);
    ssh_channel_close(channel);
    while (ssh_event_dopoll(event, -1) != SSH_ERROR) {
    }
    return 0;
}
