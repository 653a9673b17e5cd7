/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_DEPOSIT_H
#define HB_PROC_DEPOSIT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Files that come in pieces and are laid down in one directory. */
struct hb_deposit {
    int dir;       /* -1: closed */
    int fd;        /* of the file under way; -1: none */
    char *name;    /* of that file */
    uint32_t mode; /* it gets when it is whole */
    uint64_t left; /* bytes of it still to come */
};
#define HB_DEPOSIT_INIT {-1, -1, NULL, 0, 0}

/* Opens the directory, which must not be a link. ERR_HOST. */
int hb_deposit_open(struct hb_deposit *d, const char *dir,
                    struct hpcboot_error *err);
/* Begins a file. name: see below. mode: of its permission bits those of user,
 * group and others count. size: bytes that will come; an empty file is whole
 * at once. ERR_PROTOCOL: the name is none, it was there before, or the file
 * before is not whole; ERR_HOST: it cannot be made. */
int hb_deposit_begin(struct hb_deposit *d, const char *name, uint32_t mode,
                     uint64_t size, struct hpcboot_error *err);
/* The next bytes of it. ERR_PROTOCOL: more than were announced; ERR_HOST: they
 * cannot be written (the text names the file and says what to do). Blocks as
 * long as the file system does. */
int hb_deposit_data(struct hb_deposit *d, const void *data, size_t len,
                    struct hpcboot_error *err);
/* Is no file half there? */
int hb_deposit_whole(const struct hb_deposit *d);
/* Closes all; a half file stays in the directory for whoever removes that. */
void hb_deposit_close(struct hb_deposit *d);

/* May a file be called so: not empty, at most 255 bytes, no '/', not "." or
 * "..". */
int hb_deposit_name_ok(const char *name);

#endif
