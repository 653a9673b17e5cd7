/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* ELF reader: header, program headers, dynamic section, and of the string
 * table the few strings that the dynamic section names. Section headers are
 * not looked at, since strip may have taken them.
 *
 * Everything is read by offset through a callback, so that a fuzzer can give
 * bytes and a file of 100 MB costs a few reads. Each count and length of the
 * file is held against a limit before it is used; numbers that point outside
 * the file make a short read, and that an error. */
#include "config.h"

#include "bin/pm/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define SEGMENTS_MAX 256u
#define DYNAMIC_MAX 65536u /* entries are 16 bytes; a big program has 40 */
#define NEEDED_MAX 1024u
#define STRING_MAX 4096u /* a path list */
#define SCAN_WINDOW (1u << 20)
#define HEAD_BYTES 4096u /* header and program headers are 1 KiB or less */

struct reader {
    hb_elf_read read;
    void *arg;
    int bits;
    int big_endian;
    const char *reason; /* of the first failure */
};

struct segment {
    uint32_t type;
    uint64_t offset, address, size;
};

/* Where the dynamic section points to. */
struct dynamic {
    uint64_t strings; /* file offset */
    uint64_t strings_size;
    unsigned char *entries; /* owned */
    size_t n_bytes;
};

static int bad(struct reader *r, const char *reason)
{
    r->reason = r->reason != NULL ? r->reason : reason;
    return -1;
}

static int get(struct reader *r, uint64_t offset, void *out, size_t len)
{
    ssize_t n = r->read(r->arg, offset, out, len);

    return n == (ssize_t)len ? 0 : bad(r, "it ends before what it points to");
}

/* A number of `size` bytes in the file's byte order. */
static uint64_t number(const struct reader *r, const unsigned char *at,
                       size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        value = value << 8 | at[r->big_endian ? i : size - 1 - i];
    }
    return value;
}

/* A field that stands at different places in the two classes. */
#define FIELD(r, at, Type, field)                                           \
    ((r)->bits == 64                                                        \
         ? number((r), (at) + offsetof(Elf64_##Type, field),                \
                  sizeof(((Elf64_##Type *)0)->field))                       \
         : number((r), (at) + offsetof(Elf32_##Type, field),                \
                  sizeof(((Elf32_##Type *)0)->field)))

static int read_header(struct reader *r, unsigned char *header)
{
    static const char magic[] = {0x7f, 'E', 'L', 'F'};

    if (r->read(r->arg, 0, header, EI_NIDENT) != EI_NIDENT ||
        memcmp(header, magic, sizeof(magic)) != 0) {
        return bad(r, "it does not begin like an ELF file");
    }
    if (header[EI_CLASS] != ELFCLASS32 && header[EI_CLASS] != ELFCLASS64) {
        return bad(r, "its class is neither 32 nor 64 bits");
    }
    if (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB) {
        return bad(r, "its byte order is unknown");
    }
    r->bits = header[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    r->big_endian = header[EI_DATA] == ELFDATA2MSB;
    return get(r, 0, header, r->bits == 64 ? sizeof(Elf64_Ehdr)
                                           : sizeof(Elf32_Ehdr));
}

static int read_segments(struct reader *r, const unsigned char *header,
                         struct segment *out, uint32_t *n_out)
{
    uint64_t at = FIELD(r, header, Ehdr, e_phoff);
    uint64_t n = FIELD(r, header, Ehdr, e_phnum);
    uint64_t size = FIELD(r, header, Ehdr, e_phentsize);
    size_t want = r->bits == 64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    unsigned char entry[sizeof(Elf64_Phdr)];

    if (n > SEGMENTS_MAX || (n > 0 && size != want)) {
        return bad(r, "its program headers are out of range");
    }
    for (uint64_t i = 0; i < n; i++) {
        if (get(r, at + i * size, entry, want) < 0) {
            return -1;
        }
        out[i].type = (uint32_t)FIELD(r, entry, Phdr, p_type);
        out[i].offset = FIELD(r, entry, Phdr, p_offset);
        out[i].address = FIELD(r, entry, Phdr, p_vaddr);
        out[i].size = FIELD(r, entry, Phdr, p_filesz);
    }
    *n_out = (uint32_t)n;
    return 0;
}

/* Addresses of the dynamic section are those in memory. */
static int offset_of(struct reader *r, const struct segment *segments,
                     uint32_t n, uint64_t address, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct segment *s = &segments[i];

        if (s->type == PT_LOAD && address >= s->address &&
            address - s->address < s->size) {
            *out = s->offset + (address - s->address);
            return 0;
        }
    }
    return bad(r, "its string table lies in no segment");
}

static size_t entry_size(const struct reader *r)
{
    return r->bits == 64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
}

static int read_dynamic(struct reader *r, const struct segment *segments,
                        uint32_t n, const struct segment *where,
                        struct dynamic *out)
{
    uint64_t address = 0;
    size_t size = entry_size(r);

    if (where->size > DYNAMIC_MAX * size) {
        return bad(r, "its dynamic section is too large");
    }
    out->n_bytes = where->size / size * size;
    out->entries = hb_xmalloc(out->n_bytes + 1);
    if (get(r, where->offset, out->entries, out->n_bytes) < 0) {
        return -1;
    }
    for (size_t at = 0; at < out->n_bytes; at += size) {
        uint64_t tag = FIELD(r, out->entries + at, Dyn, d_tag);
        uint64_t value = FIELD(r, out->entries + at, Dyn, d_un);

        if (tag == DT_NULL) {
            out->n_bytes = at;
        } else if (tag == DT_STRTAB) {
            address = value;
        } else if (tag == DT_STRSZ) {
            out->strings_size = value;
        }
    }
    if (out->n_bytes == 0) {
        return 0;
    }
    return offset_of(r, segments, n, address, &out->strings);
}

/* A string of the table, or NULL. free() it. */
static char *read_string(struct reader *r, const struct dynamic *d,
                         uint64_t at)
{
    char text[STRING_MAX];
    size_t want = sizeof(text);
    ssize_t n;

    if (at >= d->strings_size) {
        bad(r, "a name lies outside its string table");
        return NULL;
    }
    if (want > d->strings_size - at) {
        want = d->strings_size - at;
    }
    n = r->read(r->arg, d->strings + at, text, want);
    if (n <= 0 || memchr(text, '\0', (size_t)n) == NULL) {
        bad(r, "a name in its string table does not end");
        return NULL;
    }
    return hb_xstrdup(text);
}

static int take_string(struct reader *r, const struct dynamic *d,
                       uint64_t tag, uint64_t value, struct hb_elf *out)
{
    char **place = tag == DT_SONAME    ? &out->soname
                   : tag == DT_RPATH   ? &out->rpath
                   : tag == DT_RUNPATH ? &out->runpath
                                       : NULL;
    char *text;

    if (place == NULL && tag != DT_NEEDED) {
        return 0;
    }
    if (tag == DT_NEEDED && out->needed.n >= NEEDED_MAX) {
        return bad(r, "it needs too many libraries");
    }
    text = read_string(r, d, value);
    if (text == NULL) {
        return -1;
    }
    if (place == NULL) {
        hb_strv_take(&out->needed, text);
    } else {
        free(*place);
        *place = text;
    }
    return 0;
}

static int read_names(struct reader *r, const struct dynamic *d,
                      struct hb_elf *out)
{
    size_t size = entry_size(r);
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < d->n_bytes; at += size) {
        rc = take_string(r, d, FIELD(r, d->entries + at, Dyn, d_tag),
                         FIELD(r, d->entries + at, Dyn, d_un), out);
    }
    return rc;
}

static int parse(struct reader *r, struct hb_elf *out)
{
    unsigned char header[sizeof(Elf64_Ehdr)];
    struct segment *segments = NULL;
    struct dynamic d = {0};
    uint32_t n = 0;
    int rc = read_header(r, header);

    if (rc == 0) {
        out->bits = r->bits;
        out->machine = (uint16_t)FIELD(r, header, Ehdr, e_machine);
        segments = hb_xcalloc(SEGMENTS_MAX, sizeof(*segments));
        rc = read_segments(r, header, segments, &n);
    }
    for (uint32_t i = 0; rc == 0 && i < n && !out->is_dynamic; i++) {
        if (segments[i].type == PT_DYNAMIC) {
            out->is_dynamic = 1;
            rc = read_dynamic(r, segments, n, &segments[i], &d);
        }
    }
    if (rc == 0) {
        rc = read_names(r, &d, out);
    }
    free(d.entries);
    free(segments);
    return rc;
}

int hb_elf_parse(struct hb_elf *out, hb_elf_read read, void *arg,
                 struct hpcboot_error *err)
{
    struct reader r = {.read = read, .arg = arg};
    struct hb_elf elf;

    memset(&elf, 0, sizeof(elf));
    if (parse(&r, &elf) < 0) {
        hb_elf_destroy(&elf);
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s", r.reason);
    }
    *out = elf;
    return HPCBOOT_OK;
}

void hb_elf_destroy(struct hb_elf *elf)
{
    hb_strv_destroy(&elf->needed);
    free(elf->soname);
    free(elf->rpath);
    free(elf->runpath);
    memset(elf, 0, sizeof(*elf));
}

static ssize_t read_fd(void *arg, uint64_t offset, void *out, size_t len)
{
    size_t got = 0;

    if (offset > INT64_MAX - len) {
        return 0;
    }
    while (got < len) {
        ssize_t n = pread(*(int *)arg, (char *)out + got, len - got,
                          (off_t)(offset + got));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -1 : (ssize_t)got;
        }
        got += (size_t)n;
    }
    return (ssize_t)got;
}

/* A file whose beginning, with all headers, is read at once. */
struct headed {
    int fd;
    size_t n;
    unsigned char head[HEAD_BYTES];
};

static ssize_t read_headed(void *arg, uint64_t offset, void *out, size_t len)
{
    struct headed *h = arg;

    if (offset <= h->n && len <= h->n - offset) {
        memcpy(out, h->head + offset, len);
        return (ssize_t)len;
    }
    return read_fd(&h->fd, offset, out, len);
}

int hb_elf_open(struct hb_elf *out, const char *path,
                struct hpcboot_error *err)
{
    struct headed h = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    ssize_t n;
    int rc;

    if (h.fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot open %s", path);
    }
    n = read_fd(&h.fd, 0, h.head, sizeof(h.head));
    h.n = n > 0 ? (size_t)n : 0;
    rc = hb_elf_parse(out, read_headed, &h, err);
    hb_fd_close(&h.fd);
    return rc < 0 ? hb_error_prefix(err, rc, "%s", path) : rc;
}

static int first_of(const char *data, size_t len, const char *const *texts)
{
    for (int i = 0; texts[i] != NULL; i++) {
        if (memmem(data, len, texts[i], strlen(texts[i])) != NULL) {
            return i;
        }
    }
    return -1;
}

int hb_file_scan(const char *path, const char *const *texts)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *window = hb_xmalloc(SCAN_WINDOW);
    size_t overlap = 0;
    int found = -1;

    for (int i = 0; texts[i] != NULL; i++) {
        size_t len = strlen(texts[i]);

        overlap = len > overlap ? len : overlap;
    }
    for (uint64_t at = 0; fd >= 0 && found < 0 && at < HB_ELF_SCAN_MAX;
         at += SCAN_WINDOW - overlap) {
        ssize_t n = read_fd(&fd, at, window, SCAN_WINDOW);

        found = n > 0 ? first_of(window, (size_t)n, texts) : -1;
        if (n < (ssize_t)SCAN_WINDOW) {
            break;
        }
    }
    hb_fd_close(&fd);
    free(window);
    return found;
}
