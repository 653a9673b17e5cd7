/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_KEYCHECK_H
#define HB_HPCBOOT_KEYCHECK_H

/* keycheck.c: looks at the key a gang has mounted here and prints what is
 * wrong, why it matters, and how to mend it. `named`: a file or directory to
 * look at alone, or NULL. 0: hbrun and `hpcbootd serve` can use it; 1: not. */
int keycheck_run(const char *named);

#endif
