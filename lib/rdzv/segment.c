/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One memory file per job and node. From the beginning: the head with the
 * page of the collectives, the slots of the local ranks, the records of the
 * dead and of lost connections, the table of the job (node and local rank of
 * each rank, names of nodes, addresses), two regions for the teams that
 * always exist, a ring for the messages of each pair of ranks, and the heap
 * behind the map of its pages (segment_heap.c).
 *
 * What the head says of the layout comes from another process: attach takes a
 * copy, checks it against the size of the file, and nobody looks there again,
 * so that a program that writes to the memory by mistake ends itself and not
 * its agent. Otherwise all ranks of the node trust each other, as they share
 * one job and one user. */
#include "config.h"

#include "lib/rdzv/segment_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

/* Of a pair of ranks, and of all that send to one: where many ranks share a
 * node, the memory that their messages touch stays bounded. */
#define RING_MOST 32768u
#define RING_LEAST 2048u
#define RINGS_OF_ONE (512u << 10)
#define ADDRESS_SHARE 4 /* 1/4 of RLIMIT_AS: the program has a use for more */
#define LOCK_SPINS 64 /* looks at the lock between two at its owner */

/* Takes the next piece of the layout. */
static uint64_t place(uint64_t *end, uint64_t bytes)
{
    uint64_t begin = *end;

    *end += up_to_page(bytes);
    return begin;
}

static uint64_t ring_bytes(uint32_t n_local)
{
    uint64_t bytes = RINGS_OF_ONE / n_local / RING_LEAST * RING_LEAST;

    return bytes > RING_MOST    ? RING_MOST
           : bytes < RING_LEAST ? RING_LEAST
                                : bytes;
}

static void lay_out(const struct hb_segment_spec *spec,
                    struct hb_segment_layout *l)
{
    uint64_t end = up_to_page(sizeof(struct hb_segment_head)), names = 0;

    for (uint32_t i = 0; i < spec->n_nodes; i++) {
        names += strlen(spec->names[i]) + 1;
    }
    memset(l, 0, sizeof *l);
    l->n_ranks = spec->n_ranks;
    l->n_nodes = spec->n_nodes;
    l->node = spec->node;
    l->n_local = spec->n_local;
    l->agent = spec->agent;
    l->slots = place(&end, spec->n_local * sizeof(struct hb_segment_slot));
    l->deaths = place(&end, spec->n_ranks * sizeof(struct hb_death));
    l->death_of = place(&end, spec->n_ranks * sizeof(uint32_t));
    l->news = place(&end, NEWS_MAX * sizeof(struct hb_news));
    l->lost = place(&end, spec->n_ranks * sizeof(struct hb_death));
    l->node_of = place(&end, spec->n_ranks * sizeof(uint32_t));
    l->local_rank = place(&end, spec->n_ranks * sizeof(uint32_t));
    l->name_at = place(&end, spec->n_nodes * sizeof(uint32_t));
    l->names_bytes = names;
    l->names = place(&end, names);
    l->addresses = place(&end, (uint64_t)spec->n_ranks *
                                   HB_SEGMENT_ADDRESS_MAX);
    l->region_bytes = up_to_page(spec->region_bytes);
    l->regions = place(&end, HB_SEGMENT_REGIONS * l->region_bytes);
    l->ring_bytes = ring_bytes(spec->n_local);
    l->rings = place(&end, (uint64_t)spec->n_local * spec->n_local *
                               l->ring_bytes);
    l->heap_pages = up_to_page(spec->heap_bytes) / PAGE;
    l->map = place(&end, l->heap_pages * sizeof(uint32_t));
    l->heap = place(&end, l->heap_pages * PAGE);
    l->size = end;
}

static uint64_t room_of_addresses(const struct hb_segment_spec *spec)
{
    uint64_t most = spec->addresses > 0 ? spec->addresses : RLIM_INFINITY;
    struct rlimit own;

    if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur < most) {
        most = own.rlim_cur;
    }
    return most == RLIM_INFINITY ? UINT64_MAX : most / ADDRESS_SHARE;
}

static void lay_out_heap(uint64_t room, const struct hb_segment_spec *spec,
                         struct hb_segment_layout *l)
{
    struct hb_segment_spec less = *spec;
    uint64_t others;

    lay_out(spec, l);
    if (l->size > room && spec->heap_least > 0) {
        others = l->size - l->heap_pages * PAGE;
        less.heap_bytes = room > others + spec->heap_least
                              ? (room - others) / PAGE * PAGE
                              : spec->heap_least;
        lay_out(&less, l);
    }
}

/* The heap is what gives way, and then the regions are. */
static void lay_out_within(uint64_t room, const struct hb_segment_spec *spec,
                           struct hb_segment_layout *l)
{
    struct hb_segment_spec less = *spec;

    lay_out_heap(room, spec, l);
    if (l->size > room && spec->region_small > 0) {
        less.region_bytes = spec->region_small;
        lay_out_heap(room, &less, l);
    }
}

static void fill_in(struct hb_segment *s, const struct hb_segment_spec *spec)
{
    const struct hb_segment_layout *l = &s->layout;
    uint32_t *name_at = at(s, l->name_at), pos = 0;
    char *names = at(s, l->names);

    memcpy(at(s, l->node_of), spec->node_of, spec->n_ranks * sizeof(uint32_t));
    memcpy(at(s, l->local_rank), spec->local_rank,
           spec->n_ranks * sizeof(uint32_t));
    for (uint32_t i = 0; i < spec->n_nodes; i++) {
        size_t len = strlen(spec->names[i]) + 1;

        name_at[i] = pos;
        memcpy(names + pos, spec->names[i], len);
        pos += (uint32_t)len;
    }
}

/* A file without a name, so that nobody else can open it. Its memory is
 * reserved: no rank dies later because there is none. */
static int open_file(uint64_t size, struct hpcboot_error *err)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    int fd = -1, rc = ENOENT;

    for (size_t i = 0; i < sizeof places / sizeof *places && rc != 0; i++) {
        hb_fd_close(&fd);
        fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRWXU);
        rc = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)size);
    }
    if (rc != 0) {
        hb_fd_close(&fd);
        errno = rc;
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no memory of %llu MiB "
                             "that ranks can share, neither by memfd_create "
                             "nor in /dev/shm or /tmp (HPCBOOT_HEAP_MB makes "
                             "it smaller)", (unsigned long long)(size >> 20));
    }
    return fd;
}

/* Takes fd, and gives it back. */
static int give_size(int fd, uint64_t size, struct hpcboot_error *err)
{
    if (ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "shared memory of %llu MiB "
                      "(HPCBOOT_HEAP_MB makes it smaller)",
                      (unsigned long long)(size >> 20));
        hb_fd_close(&fd);
        return HPCBOOT_ERR_SYSTEM;
    }
    return fd;
}

/* A file takes its bytes at once, and memory that is none only those that are
 * used: without memfd_create the heap is a small one. */
static int open_memory(const struct hb_segment_spec *spec,
                       struct hb_segment_layout *l, struct hpcboot_error *err)
{
    int fd = memfd_create("hpcboot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint64_t file = hb_fd_file_most(), room = room_of_addresses(spec);

    lay_out_within(fd < 0 ? 0 : file < room ? file : room, spec, l);
    if (l->size > file) {
        hb_fd_close(&fd);
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "shared memory of %llu KiB is "
                       "a file, and files may have %llu KiB here (ulimit -f)",
                       (unsigned long long)(l->size >> 10),
                       (unsigned long long)(file >> 10));
    }
    return fd < 0 ? open_file(l->size, err) : give_size(fd, l->size, err);
}

static int cannot_map(size_t size, struct hpcboot_error *err)
{
    return errno == EAGAIN
               ? hb_fail(err, HPCBOOT_ERR_SYSTEM, "shared memory of %zu MiB "
                         "cannot be mapped: the program locks all that it maps "
                         "(mlockall), and may not lock so much; raise ulimit "
                         "-l, lock later, or set a smaller HPCBOOT_HEAP_MB",
                         size >> 20)
               : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "shared memory of %zu "
                               "MiB cannot be mapped (HPCBOOT_HEAP_MB makes it "
                               "smaller)", size >> 20);
}

/* In a program that locks whatever it maps (mlockall with MCL_FUTURE) the
 * kernel takes all pages of a mapping at once, but for one that nobody may
 * reach: it is unlocked first, and pages are taken when they are used. */
static int map_in(struct hb_segment *s, int fd, size_t size,
                  struct hpcboot_error *err)
{
    void *base = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd,
                      0);
    struct stat st;

    if (base == MAP_FAILED) {
        return cannot_map(size, err);
    }
    (void)munlock(base, size);
    if (mprotect(base, size, PROT_READ | PROT_WRITE) < 0) {
        cannot_map(size, err);
        munmap(base, size);
        return HPCBOOT_ERR_SYSTEM;
    }
    (void)madvise(base, size, MADV_DONTDUMP);
    *s = (struct hb_segment){.base = base, .size = size, .fd = fd};
    if (fstat(fd, &st) == 0) {
        s->device = st.st_dev;
        s->inode = st.st_ino;
    }
    return 0;
}

int hb_segment_create(struct hb_segment *out,
                      const struct hb_segment_spec *spec,
                      struct hpcboot_error *err)
{
    struct hb_segment_layout l;
    int fd = open_memory(spec, &l, err), rc;

    if (fd < 0) {
        return fd;
    }
    rc = map_in(out, fd, l.size, err);
    if (rc < 0) {
        hb_fd_close(&fd);
        return rc;
    }
    l.magic = MAGIC;
    out->layout = l;
    fill_in(out, spec);
    head_of(out)->layout = l;
    return 0;
}

int hb_segment_attach(struct hb_segment *out, int fd,
                      struct hpcboot_error *err)
{
    struct hb_segment s = HB_SEGMENT_INIT;
    struct stat st;
    int rc;

    if (fstat(fd, &st) < 0 ||
        st.st_size < (off_t)sizeof(struct hb_segment_head)) {
        hb_fd_close(&fd);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "what the agent handed over "
                       "is no memory of a job");
    }
    rc = map_in(&s, fd, (size_t)st.st_size, err);
    if (rc < 0) {
        hb_fd_close(&fd);
        return rc;
    }
    memcpy(&s.layout, s.base, sizeof s.layout); /* the head begins with it */
    if (!hb_segment_sound(&s.layout, s.size)) {
        hb_segment_close(&s);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the memory of the job is of "
                       "another version of hpcboot");
    }
    *out = s;
    return 0;
}

/* The number may be another file's by now. */
static int has_own_file(const struct hb_segment *s)
{
    struct stat st;

    return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_dev == s->device &&
           st.st_ino == s->inode;
}

void hb_segment_close(struct hb_segment *s)
{
    if (s != NULL) {
        if (s->base != NULL) {
            munmap(s->base, s->size);
        }
        if (has_own_file(s)) {
            hb_fd_close(&s->fd);
        }
        s->fd = -1;
        s->base = NULL;
        s->size = 0;
    }
}

uint32_t hb_segment_ranks(const struct hb_segment *s)
{
    return s->layout.n_ranks;
}

uint32_t hb_segment_nodes(const struct hb_segment *s)
{
    return s->layout.n_nodes;
}

uint32_t hb_segment_node(const struct hb_segment *s)
{
    return s->layout.node;
}

uint32_t hb_segment_locals(const struct hb_segment *s)
{
    return s->layout.n_local;
}

int hb_segment_has_agent(const struct hb_segment *s)
{
    return s->layout.agent != 0;
}

const uint32_t *hb_segment_node_of(const struct hb_segment *s)
{
    return at(s, s->layout.node_of);
}

const uint32_t *hb_segment_local_rank(const struct hb_segment *s)
{
    return at(s, s->layout.local_rank);
}

const char *hb_segment_name(const struct hb_segment *s, uint32_t node)
{
    const struct hb_segment_layout *l = &s->layout;
    const uint32_t *name_at = at(s, l->name_at);

    return (const char *)at(s, l->names) + name_at[node];
}

struct hb_segment_slot *hb_segment_slot(const struct hb_segment *s,
                                        uint32_t local)
{
    return (struct hb_segment_slot *)at(s, s->layout.slots) + local;
}

struct hb_segment_meeting *hb_segment_meeting(const struct hb_segment *s)
{
    return &head_of(s)->meeting;
}

uint64_t hb_segment_pid_space(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

void *hb_segment_page(const struct hb_segment *s)
{
    return head_of(s)->page;
}

void *hb_segment_region(const struct hb_segment *s, unsigned which,
                        size_t *size_out)
{
    const struct hb_segment_layout *l = &s->layout;

    *size_out = l->region_bytes;
    return at(s, l->regions + which * l->region_bytes);
}

void *hb_segment_ring(const struct hb_segment *s, uint32_t to, uint32_t from,
                      size_t *size_out)
{
    const struct hb_segment_layout *l = &s->layout;

    *size_out = l->ring_bytes;
    return at(s, l->rings + ((uint64_t)to * l->n_local + from) *
                                l->ring_bytes);
}

void *hb_segment_heap(const struct hb_segment *s, size_t *size_out)
{
    const struct hb_segment_layout *l = &s->layout;

    *size_out = l->heap_pages * PAGE;
    return at(s, l->heap);
}

int hb_segment_set_address(struct hb_segment *s, uint32_t rank,
                           const void *data, size_t len,
                           struct hpcboot_error *err)
{
    const struct hb_segment_layout *l = &s->layout;
    char *to = at(s, l->addresses + (uint64_t)rank * HB_SEGMENT_ADDRESS_MAX);

    if (rank >= l->n_ranks || len + 1 > HB_SEGMENT_ADDRESS_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "an address of %zu bytes for "
                       "rank %u", len, rank);
    }
    if (len > 0) { /* an empty one would cost a page */
        to[0] = (char)len;
        memcpy(to + 1, data, len);
    }
    return 0;
}

const void *hb_segment_address(const struct hb_segment *s, uint32_t rank,
                               size_t *len_out)
{
    const unsigned char *from =
        at(s, s->layout.addresses + (uint64_t)rank * HB_SEGMENT_ADDRESS_MAX);

    *len_out = from[0];
    return from + 1;
}

/* Whether a process of this PID namespace has ended, be it reaped or not. */
static int has_ended(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ended = fd < 0 ? errno == ESRCH : poll(&p, 1, 0) > 0;

    hb_fd_close(&fd);
    return ended;
}

/* Whether the rank that holds the lock is gone for good. That nobody has said
 * so yet means little: the agent does, and may be the one who waits here. */
static int is_stale(const struct hb_segment *s, uint32_t owner)
{
    const struct hb_segment_slot *slot;
    uint64_t space;
    pid_t pid;

    if (owner == 0 || owner > s->layout.n_local) {
        return 0;
    }
    slot = hb_segment_slot(s, owner - 1);
    if (atomic_load(&slot->state) == HB_RANK_DEAD) {
        return 1;
    }
    pid = atomic_load(&slot->pid);
    space = pid > 0 ? hb_segment_pid_space() : 0;
    return space != 0 && atomic_load(&slot->pid_space) == space &&
           has_ended(pid);
}

int hb_segment_lock_within(struct hb_segment *s, uint32_t self, unsigned looks)
{
    _Atomic uint32_t *word = &head_of(s)->lock;

    for (unsigned n = 1; looks == 0 || n <= looks; n++) {
        uint32_t owner = 0;

        if (atomic_compare_exchange_strong(word, &owner, self)) {
            return 0;
        }
        if (n % LOCK_SPINS == 0) {
            if (is_stale(s, owner) &&
                atomic_compare_exchange_strong(word, &owner, self)) {
                return 0;
            }
            sched_yield();
        }
    }
    return HPCBOOT_ERR_AGAIN;
}

void hb_segment_lock(struct hb_segment *s, uint32_t self)
{
    (void)hb_segment_lock_within(s, self, 0);
}

void hb_segment_unlock(struct hb_segment *s)
{
    atomic_store(&head_of(s)->lock, 0);
}
