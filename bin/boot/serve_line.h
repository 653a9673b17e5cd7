/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SERVE_LINE_H
#define HB_BOOT_SERVE_LINE_H

/* What a client of `hpcbootd serve` asked to be run. Nothing of it is ever
 * given to a shell: a line is a request for an agent, or for something else,
 * which is then refused in words. */
#define HB_SERVE_TOKEN_MAX 64

/* 1: an agent, and its token: the line of hb_boot_remote_command, or
 * "hpcbootd agent --token TOKEN" with any path in front; 0: something else. */
int hb_serve_line_parse(const char *line, char token[HB_SERVE_TOKEN_MAX + 1]);

#endif
