/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_TERMLOG_H
#define HB_PROC_TERMLOG_H

/* The file out of which the kubelet takes why a container has ended, and shows
 * it with the pod. */

/* Takes the place of what is in it. Where there is no such file, as outside of
 * pods, nothing is done; nor is it an error that it cannot be written. */
void hb_termlog_write(const char *text);

#endif
