/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Recipes by name: NAME.conf in the first directory that has it, so that the
 * user's stand before the installation's. A recipe says what is executed, and
 * HOME may lead to a place where others write. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bin/recipe/recipe_impl.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SUFFIX ".conf"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void hb_recipe_names(char *const *dirs, struct hb_strv *out)
{
    for (; *dirs != NULL; dirs++) {
        DIR *dir = opendir(*dirs);
        const struct dirent *e;

        while (dir != NULL && (e = readdir(dir)) != NULL) {
            size_t n = strlen(e->d_name);

            if (hb_ends_with(e->d_name, SUFFIX) && n > strlen(SUFFIX)) {
                hb_strv_take(out, hb_xstrndup(e->d_name, n - strlen(SUFFIX)));
            }
        }
        if (dir != NULL) {
            closedir(dir);
        }
    }
    if (out->n > 0) {
        qsort(out->v, out->n, sizeof *out->v, by_text);
    }
    for (size_t i = 1; i < out->n;) {
        if (hb_streq(out->v[i], out->v[i - 1])) {
            hb_strv_remove(out, i);
        } else {
            i++;
        }
    }
}

int hb_recipe_add_own(const char *config, const char *home,
                      struct hb_strv *out)
{
    if (config != NULL && config[0] == '/') {
        hb_strv_pushf(out, "%s/hpcboot/recipes", config);
    } else if (home != NULL) {
        hb_strv_pushf(out, "%s/.config/hpcboot/recipes", home);
    } else {
        return 0;
    }
    return 1;
}

static int not_found(char *const *dirs, const char *name,
                     struct hpcboot_error *err)
{
    struct hb_strv names = HB_STRV_INIT;
    struct hb_str text = HB_STR_INIT;
    const char *near;
    int rc;

    hb_recipe_names(dirs, &names);
    near = hb_nearest(name, (const char *const *)hb_strv_view(&names),
                      names.n);
    for (size_t i = 0; i < names.n; i++) {
        hb_str_putf(&text, "%s%s", i > 0 ? ", " : "", names.v[i]);
    }
    rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "there is no framework %s%s%s%s "
                 "(%s%s)", name, near != NULL ? "; did you mean " : "",
                 near != NULL ? near : "", near != NULL ? "?" : "",
                 names.n > 0 ? "there are: " : "there are no recipes",
                 hb_str_text(&text));
    hb_str_destroy(&text);
    hb_strv_destroy(&names);
    return rc;
}

static void tell_not_used(const char *what, const char *why)
{
    static int told;

    if (!told) {
        told = 1;
        hb_log(HB_WARN, "%s%s; it is not used", what, why);
    }
}

/* 0: the next directory may have it. What is said to be the user's own may be
 * another's, as where a container's image says HOME=/root, and its pod another
 * uid. */
static int passes_over(int rc, int is_own, const struct hpcboot_error *why,
                       struct hpcboot_error *err)
{
    if (why->sys_errno == ENOENT || why->sys_errno == ENOTDIR) {
        return 0;
    }
    if (!is_own || (rc != HPCBOOT_ERR_AUTH && why->sys_errno != EACCES)) {
        return hb_fail(err, rc, "%s", why->text);
    }
    tell_not_used(rc == HPCBOOT_ERR_AUTH ? "the recipe " : "", why->text);
    return 0;
}

int hb_recipe_find(const struct hb_recipe_dirs *dirs, const char *name,
                   char **path_out, char **text_out, size_t *len_out,
                   struct hpcboot_error *err)
{
    if (strchr(name, '/') != NULL || *name == '\0') {
        return not_found(dirs->v, name, err);
    }
    for (char *const *d = dirs->v; *d != NULL; d++) {
        char *path = hb_xasprintf("%s/%s" SUFFIX, *d, name);
        struct hpcboot_error why = {0};
        int is_own = hb_streq(*d, dirs->own);
        int rc = (is_own ? hb_file_read_own : hb_file_read)(
            path, HB_RECIPE_BYTES_MAX, text_out, len_out, &why);

        if (rc >= 0) {
            *path_out = path;
            return 0;
        }
        free(path);
        rc = passes_over(rc, is_own, &why, err);
        if (rc < 0) {
            return rc;
        }
    }
    return not_found(dirs->v, name, err);
}
