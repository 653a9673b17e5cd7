/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Loadable modules. The first file that exists in the search order is the one
 * that must load: a module of another build that happens to lie further down
 * would hide what is wrong with the first. */
#include "config.h"

#include "lib/base/module_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

#ifdef __SANITIZE_ADDRESS__
/* Thread-local memory of a loaded module (libssh has some) that happens to lie
 * 16 bytes behind the begin of a page is taken for that of an old libc, and a
 * garbled range is then looked through for pointers: the leak check crashes. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}
#endif

/* `base` is a directory, or NULL where it is not known. */
static void add_place(struct hb_strv *places, const char *base,
                      const char *below, const char *module)
{
    if (base && *base) {
        hb_strv_pushf(places, "%s%s/%s.so", base, below, module);
    }
}

/* The directory of the library this code is in; NULL: of no library. */
static char *own_dir(void)
{
    Dl_info info;
    char *path, *slash;

    if (dladdr((const void *)(uintptr_t)&hb_module_open, &info) == 0 ||
        info.dli_fname == NULL || strstr(info.dli_fname, ".so") == NULL) {
        return NULL;
    }
    path = hb_xstrdup(info.dli_fname);
    slash = strrchr(path, '/');
    if (slash) {
        *slash = '\0';
    }
    return path;
}

static void list_places(const char *module, struct hb_strv *places)
{
    char *exe = hb_self_exe(), *library = own_dir();
    char *slash = exe ? strrchr(exe, '/') : NULL;

    if (slash) {
        *slash = '\0';
    }
    add_place(places, secure_getenv("HPCBOOT_MODULE_DIR"), "", module);
    add_place(places, library, "", module); /* a build tree's .libs */
    add_place(places, library, "/hpcboot", module);
    add_place(places, slash ? exe : NULL, "/.libs", module);
    add_place(places, slash ? exe : NULL, "/../lib/hpcboot", module);
    add_place(places, slash ? exe : NULL, "/../lib64/hpcboot", module);
#ifdef HB_MULTIARCH
    add_place(places, slash ? exe : NULL,
              "/../lib/" HB_MULTIARCH "/hpcboot", module);
#endif
    add_place(places, HB_PKGLIBDIR, "", module);
    free(exe);
    free(library);
}

/* The loader gives no errno, and says less where a mapping is refused. Where
 * programs are forbidden that is for ever. */
static int has_no_memory(const char *path, const char *why)
{
    struct statvfs fs;

    if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC)) {
        return 0;
    }
    return hb_ends_with(why, "failed to map segment from shared object")
           || strstr(why, "Cannot allocate memory") != NULL
           || strstr(why, "out of memory") != NULL;
}

static int not_loaded(const char *path, struct hpcboot_error *err)
{
    const char *why = dlerror();

    if (has_no_memory(path, why)) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "cannot load %s%s", why,
                       hb_errno_remedy(ENOMEM));
    }
    return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "cannot load %s", why);
}

int hb_module_open(const char *module, const char *symbol,
                   const void **symbol_out, struct hpcboot_error *err)
{
    struct hb_strv places = HB_STRV_INIT;
    const char *path = NULL;
    void *handle, *found;
    int rc = HPCBOOT_OK;

    list_places(module, &places);
    for (size_t i = 0; !path && i < places.n; i++) {
        path = access(places.v[i], R_OK) == 0 ? places.v[i] : NULL;
    }
    if (!path) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "%s.so is not in %s (was hpcboot built without it?)",
                     module, HB_PKGLIBDIR);
        goto out;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    found = handle ? dlsym(handle, symbol) : NULL;
    if (!found) {
        rc = not_loaded(path, err);
        goto out;
    }
    *symbol_out = found;
out:
    hb_strv_destroy(&places);
    return rc;
}
