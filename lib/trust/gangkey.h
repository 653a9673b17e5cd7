/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_GANGKEY_H
#define HB_TRUST_GANGKEY_H

#include "lib/base/error.h"
#include "lib/base/strv.h"
#include "lib/trust/keyfile.h"
#include "lib/trust/secret.h"

/* The key that all members of a gang share, as an operator or a person mounts
 * it into each of them; what is derived from it is in derive.h. */

/* The secret behind a private key: the decoded body of its PEM block. `pem` as
 * hb_key_read gives it. ERR_AUTH: encrypted; ERR_PARSE: not base64. */
int hb_gang_secret(const char *pem, const struct hb_key_sniff *sniff,
                   const char *path, struct hb_secret *out,
                   struct hpcboot_error *err);
int hb_gang_secret_read(const char *path, struct hb_secret *out,
                        struct hpcboot_error *err);

/* Directories where a gang's key may be mounted: .ssh below `home` (NULL:
 * there is none) and below the homes that operators mount it to; mounts of
 * Kubernetes first, since what else is there may be somebody's own. */
void hb_gang_key_dirs(const char *home, struct hb_strv *out);
/* Whether that is .ssh of `home`: elsewhere anybody's files may lie. */
int hb_gang_dir_is_home(const char *dir, const char *home);
/* The private keys found there, the gang's most likely one first. `named` (may
 * be NULL): a file or directory that was named, looked at alone. Keys of other
 * users, or in their folders, that are not in `home` are passed over with a
 * warning. */
void hb_gang_keys_find(const char *named, const char *home,
                       struct hb_strv *out);
/* Whether one of them has to be read by hb_key_read_placed: what it was found
 * as may be another file by then. */
int hb_gang_key_is_placed(const char *path, const char *named,
                          const char *home);
/* Whether Kubernetes mounted a Secret or ConfigMap there. */
int hb_is_mount_of_secret(const char *dir);
/* `path` is not there, and a Secret is mounted to its folder: it has its key by
 * another name. What no Secret is mounted to may be under somebody's hands. */
int hb_has_left_its_mount(const char *path);
/* Both files are of one folder. */
int hb_is_beside(const char *path, const char *other);

/* A host's name within derivations: the first label in lower case. 0 where
 * there is none: an address, an empty or too long name. */
#define HB_HOST_LABEL_MAX 63 /* RFC 1035 */
int hb_host_label(const char *name, char out[HB_HOST_LABEL_MAX + 1]);

#endif
