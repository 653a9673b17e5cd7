/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Packets that were lost are seldom seen in times of short messages, and
 * always in what the kernel had to send again. */
#include "config.h"

#include "bin/probe/counters.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fd.h"

#define SNMP "/proc/net/snmp"
#define SNMP_BYTES_MAX 65536u
#define RDMA "/sys/class/infiniband"
#define NUMBER_BYTES_MAX 64u

/* "Tcp: NAME NAME..." and below it "Tcp: NUMBER NUMBER...". */
static uint64_t tcp_value(const char *text, const char *name)
{
    const char *names = strstr(text, "Tcp: ");
    const char *values = names != NULL ? strstr(names + 1, "Tcp: ") : NULL;
    const char *at = names != NULL ? strstr(names, name) : NULL;

    if (values == NULL || at == NULL || at > values) {
        return 0;
    }
    for (const char *p = names; p < at && values != NULL; p++) {
        if (*p == ' ') {
            values = strchr(values, ' ');
            values = values != NULL ? values + 1 : NULL;
        }
    }
    return values != NULL ? strtoull(values, NULL, 10) : 0;
}

static uint64_t number_in(const char *device, const char *port,
                          const char *name)
{
    char *path = hb_xasprintf(RDMA "/%s/ports/%s/%s", device, port, name);
    char *text = NULL;
    uint64_t value = 0;
    size_t len;

    if (hb_file_read(path, NUMBER_BYTES_MAX, &text, &len, NULL) >= 0) {
        value = strtoull(text, NULL, 10);
    }
    free(text);
    free(path);
    return value;
}

/* Names of rdma_rxe and of mlx5; a device has the ones it has. */
static void read_port(const char *device, const char *port,
                      struct counters *out)
{
    static const char *const packets[] = {"hw_counters/sent_pkts",
                                          "counters/port_xmit_packets"};
    static const char *const lost[] = {
        "hw_counters/out_of_sequence", "hw_counters/packet_seq_err",
        "hw_counters/local_ack_timeout_err",
        "hw_counters/completer_retry_err", "hw_counters/rcvd_seq_err",
        "hw_counters/out_of_seq_request", "hw_counters/duplicate_request",
        "hw_counters/retry_exceeded_err"};

    for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
        out->packets += number_in(device, port, packets[i]);
    }
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        out->lost += number_in(device, port, lost[i]);
    }
}

static void read_device(const char *device, struct counters *out)
{
    char *path = hb_xasprintf(RDMA "/%s/ports", device);
    DIR *dir = opendir(path);
    const struct dirent *e;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (e->d_name[0] != '.') {
            read_port(device, e->d_name, out);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    free(path);
}

void counters_read(struct counters *out)
{
    const struct dirent *e;
    char *text = NULL;
    size_t len;
    DIR *dir;

    memset(out, 0, sizeof *out);
    if (hb_file_read(SNMP, SNMP_BYTES_MAX, &text, &len, NULL) >= 0) {
        out->segments = tcp_value(text, "OutSegs");
        out->repeated = tcp_value(text, "RetransSegs");
    }
    free(text);
    dir = opendir(RDMA);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (e->d_name[0] != '.') {
            read_device(e->d_name, out);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void put(struct hb_str *report, const char *name, uint64_t before,
                uint64_t after)
{
    hb_str_putf(report, "count %s %llu\n", name,
                (unsigned long long)(after > before ? after - before : 0));
}

void counters_report(const struct counters *before, struct hb_str *report)
{
    struct counters now;

    counters_read(&now);
    put(report, "segments", before->segments, now.segments);
    put(report, "repeated", before->repeated, now.repeated);
    put(report, "packets", before->packets, now.packets);
    put(report, "lost", before->lost, now.lost);
}
