/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* `apilost held`: three ranks on three hosts. Rank 1 dies while the agent of
 * rank 0, which would know why, is stopped; rank 0 has lost the connection, and
 * starts and tests what needs rank 1. Nothing of that may be over, or wait,
 * before the agent goes on; all then says why. Rank 2 tells rank 0 when it is
 * known elsewhere.
 * `apilost follow`: three ranks, of which the last two share a host. Rank 1 is
 * killed, rank 2 exits as soon as it hears of that, and rank 0 says what it
 * hears first.
 * `apilost null`: two ranks on two hosts, of which nobody tells the library.
 * Rank 0 goes, and rank 1 finds that out and goes on alone, without a place for
 * the reasons.
 * `apilost expire`: two ranks on two hosts. Rank 0 waits in vain for rank 1 in
 * calls of teams that both then destroy, and has not more memory for that.
 * `apilost ended`, `apilost threads` (of which several may call): rank 1 is in
 * hpcboot_finalize, and the others wait for it.
 * `apilost left`: rank 1 has destroyed a team and goes on, and the others make
 * one call more there. `apilost shrinks`: they shrink the world, which rank 1
 * has left for hpcboot_finalize. `apilost late`: all do, rank 1 a second later.
 * `apilost any`: all have a receive of any tag in the world while they shrink
 * it, which only what a user has sent may meet.
 * `apilost closed`: standard descriptors that are closed stay so, and nothing
 * of the library is behind their numbers.
 * `apilost brief`: two ranks on a host. Rank 1 is killed; rank 0, whose calls
 * have less time than others to complete, hears of that and not of the time.
 * `apilost half`: three ranks on a host. Rank 2 is killed when a part of its
 * message has come, and rank 0 receives from any: that is nobody's any more,
 * and what rank 1 has sent arrives.
 * `apilost asked`: two ranks on two hosts. The agent of rank 1 is stopped, and
 * rank 0 asks it for what rank 1 has put.
 * `apilost heirs`: three ranks on a host make teams until its heap is full, and
 * rank 2 is killed. What it shared with the others is theirs again.
 * `apilost unheard`: three ranks, of which the last two share a host. Rank 1 is
 * killed while the agent of rank 0 is stopped, which so waits for a message of
 * rank 2 when that shrinks the world: no deadlock, as it hears of it later.
 * `apilost unmade`: rank 1 of two hosts has no memory left for a team that rank
 * 0 then has.
 * `apilost where`: each rank says on which host each is, as it knows. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TURNS 100
#define EVENT_MS 60000
#define EXPIRED 20 /* calls */
#define LONG (4 << 20)

static int byte;
static int is_hungry;

/* In the place of the C library's. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *p = NULL;

    return is_hungry || posix_memalign(&p, alignment, size) != 0 ? NULL : p;
}

static struct hpcboot_team *pair_of(int a, int b)
{
    struct hpcboot_team *t = NULL;

    MUST(hpcboot_team_create(hpcboot_world(), (const int[]){a, b}, 2, &t,
                             &err));
    return t;
}

/* Both ways, so that the two are connected. */
static void meet(struct hpcboot_team *t)
{
    int other = !hpcboot_team_rank(t);
    struct hpcboot_request *sent;

    MUST(hpcboot_isend(t, other, 1, &byte, 1, &sent, &err));
    MUST(hpcboot_recv(t, other, 1, &byte, 1, NULL, &err));
    MUST(hpcboot_wait(&sent, 0, &err));
}

static void is_under_way(struct hpcboot_request **r)
{
    int done = 1;

    MUST(hpcboot_test(r, &done, &err));
    HOLDS(!done);
}

static void says_why(struct hpcboot_request **r, const char *what)
{
    HOLDS(hpcboot_wait(r, 0, &err) == HPCBOOT_ERR_PEER_DEAD);
    printf("%s: %s\n", what, err.text);
}

/* Until the transport has no connection to speak of. */
static void lose(int rank)
{
    struct hpcboot_transport t = HPCBOOT_TRANSPORT_INIT;

    do {
        MUST(hpcboot_progress(&err));
        MUST(hpcboot_transport_of(rank, &t, &err));
    } while (t.detail[0] != '\0');
    for (int i = 0; i < TURNS; i++) {
        MUST(hpcboot_progress(&err));
    }
}

static void know_late(struct hpcboot_team *one, struct hpcboot_team *two)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    struct hpcboot_request *r[3];
    pid_t agent = getppid();

    MUST(hpcboot_irecv(one, 1, 2, &byte, 1, NULL, &r[0], &err));
    MUST(kill(agent, SIGSTOP));
    MUST(hpcboot_send(one, 1, 3, &byte, 1, &err));
    MUST(hpcboot_recv(two, 1, 4, &byte, 1, NULL, &err));
    lose(1);
    is_under_way(&r[0]);
    MUST(hpcboot_isend(one, 1, 2, &byte, 1, &r[1], &err));
    is_under_way(&r[1]);
    MUST(hpcboot_ibarrier(one, &r[2], &err));
    is_under_way(&r[2]);
    MUST(kill(agent, SIGCONT));
    HOLDS(hpcboot_next_event(&event, EVENT_MS, &err) == 1);
    says_why(&r[0], "receive");
    says_why(&r[1], "send");
    says_why(&r[2], "barrier");
}

static void held(void)
{
    struct hpcboot_team *t[3] = {pair_of(0, 1), pair_of(0, 2), pair_of(1, 2)};
    int me = hpcboot_rank();

    for (int i = 0; i < 3; i++) {
        if (t[i] != NULL) {
            meet(t[i]);
        }
    }
    if (me == 0) {
        know_late(t[0], t[1]);
    } else if (me == 1) {
        MUST(hpcboot_recv(t[0], 0, 3, &byte, 1, NULL, &err));
        raise(SIGKILL);
    } else {
        HOLDS(hpcboot_recv(t[2], 0, 5, &byte, 1, NULL, &err) ==
              HPCBOOT_ERR_PEER_DEAD);
        MUST(hpcboot_send(t[1], 0, 4, &byte, 1, &err));
    }
}

static void follow(void)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    int me = hpcboot_rank(), rc;

    MUST(hpcboot_barrier(hpcboot_world(), &err));
    if (me == 1) {
        raise(SIGKILL);
    }
    rc = hpcboot_barrier(hpcboot_world(), &err);
    HOLDS(rc == HPCBOOT_ERR_PEER_DEAD);
    if (me == 2) {
        _exit(1);
    }
    printf("rank 0 hears: %s\n", err.text);
    for (int i = 0; i < 2; i++) {
        HOLDS(hpcboot_next_event(&event, EVENT_MS, &err) == 1);
        printf("rank 0 event: rank %d\n", event.rank);
    }
}

static void null(void)
{
    struct hpcboot_team *w = hpcboot_world(), *rest = NULL;

    meet(w);
    if (hpcboot_rank() == 0) {
        _exit(0);
    }
    HOLDS(hpcboot_recv(w, 0, 2, &byte, 1, NULL, NULL) ==
          HPCBOOT_ERR_PEER_DEAD);
    HOLDS(hpcboot_team_shrink(w, &rest, NULL) == 0);
    HOLDS(hpcboot_team_size(rest) == 1);
    printf("rank 1 goes on alone\n");
    fflush(stdout);
    _exit(0);
}

static long resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long pages = 0;

    HOLDS(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void expire_once(const char *in, char *out)
{
    struct hpcboot_team *t = pair_of(0, 1);

    MUST(hpcboot_team_set(t, HPCBOOT_TEAM_TIMEOUT_MS, 5, &err));
    if (hpcboot_rank() == 0) {
        HOLDS(hpcboot_allreduce(in, out, LONG / 4, HPCBOOT_INT32, HPCBOOT_SUM,
                                t, &err) == HPCBOOT_ERR_TIMED_OUT);
    }
    MUST(hpcboot_team_destroy(t, &err));
    MUST(hpcboot_barrier(hpcboot_world(), &err));
}

static void expire(void)
{
    char *in = calloc(LONG, 1), *out = calloc(LONG, 1);
    long before = 0;

    HOLDS(in != NULL && out != NULL);
    for (int i = 0; i < 2 * EXPIRED; i++) {
        expire_once(in, out);
        before = i == EXPIRED ? resident_kb() : before;
    }
    HOLDS(resident_kb() - before < EXPIRED * LONG / 1024 / 16);
    printf("rank %d has no more memory\n", hpcboot_rank());
    free(in);
    free(out);
}

static void brief(void)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    struct hpcboot_team *w = hpcboot_world();

    MUST(hpcboot_barrier(w, &err));
    if (hpcboot_rank() == 1) {
        raise(SIGKILL);
    }
    HOLDS(hpcboot_next_event(&event, EVENT_MS, &err) == 1);
    MUST(hpcboot_team_set(w, HPCBOOT_TEAM_TIMEOUT_MS, 5, &err));
    HOLDS(hpcboot_recv(w, 1, 2, &byte, 1, NULL, &err) ==
          HPCBOOT_ERR_PEER_DEAD);
    printf("receive: %s\n", err.text);
    HOLDS(hpcboot_barrier(w, &err) == HPCBOOT_ERR_PEER_DEAD);
    printf("barrier: %s\n", err.text);
    fflush(stdout);
    _exit(0);
}

static void ended(void)
{
    struct hpcboot_team *w = hpcboot_world();
    int in = 1, out;

    if (hpcboot_rank() != 1) {
        HOLDS(hpcboot_allreduce(&in, &out, 1, HPCBOOT_INT32, HPCBOOT_SUM, w,
                                &err) == HPCBOOT_ERR_USAGE);
        printf("rank %d: %s\n", hpcboot_rank(), err.text);
    }
}

static void unmade(void)
{
    int rank = hpcboot_rank();
    struct hpcboot_team *t = NULL;
    int rc;

    is_hungry = rank == 1;
    rc = hpcboot_team_split(hpcboot_world(), 0, 0, &t, &err);
    is_hungry = 0;
    if (rc == 0) {
        rc = hpcboot_barrier(t, &err);
    }
    printf("rank %d hears: %s\n", rank, rc < 0 ? err.text : "nothing");
}

static void left(void)
{
    struct hpcboot_team *t = NULL;

    MUST(hpcboot_team_split(hpcboot_world(), 0, 0, &t, &err));
    MUST(hpcboot_barrier(t, &err));
    if (hpcboot_rank() != 1) {
        HOLDS(hpcboot_barrier(t, &err) == HPCBOOT_ERR_USAGE);
        printf("rank %d: %s\n", hpcboot_rank(), err.text);
    }
    MUST(hpcboot_team_destroy(t, &err));
    MUST(hpcboot_barrier(hpcboot_world(), &err));
}

static void shrinks(void)
{
    struct hpcboot_team *t = NULL;

    if (hpcboot_rank() != 1) {
        HOLDS(hpcboot_team_shrink(hpcboot_world(), &t, &err) ==
              HPCBOOT_ERR_USAGE);
        HOLDS(t == NULL);
        printf("rank %d: %s\n", hpcboot_rank(), err.text);
    }
}

static void late(void)
{
    struct hpcboot_team *t = NULL;

    for (int i = 0; i < 2; i++) {
        if (hpcboot_rank() == 1) {
            sleep(1);
        }
        MUST(hpcboot_team_shrink(hpcboot_world(), &t, &err));
        HOLDS(hpcboot_team_size(t) == hpcboot_size());
        MUST(hpcboot_barrier(t, &err));
        MUST(hpcboot_team_destroy(t, &err));
    }
}

static void any(void)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;
    struct hpcboot_message got = {.source = -1};
    struct hpcboot_request *r;
    int n = hpcboot_size(), me = hpcboot_rank(), word = -1;

    MUST(hpcboot_irecv(w, HPCBOOT_ANY_SOURCE, HPCBOOT_ANY_TAG, &word,
                       sizeof word, &got, &r, &err));
    MUST(hpcboot_barrier(w, &err));
    MUST(hpcboot_team_shrink(w, &t, &err));
    MUST(hpcboot_send(w, (me + 1) % n, HPCBOOT_TAG_MAX, &me, sizeof me, &err));
    MUST(hpcboot_wait(&r, 0, &err));
    HOLDS(word == (me + n - 1) % n && got.source == word);
    HOLDS(got.tag == HPCBOOT_TAG_MAX && got.size == sizeof word);
    MUST(hpcboot_barrier(t, &err));
    MUST(hpcboot_team_destroy(t, &err));
}

/* Time for the two to ask each other what they wait for. */
static void stop_agent_for_a_while(void)
{
    pid_t agent = getppid(), child;

    MUST(kill(agent, SIGSTOP));
    MUST(child = fork());
    if (child == 0) {
        sleep(2);
        kill(agent, SIGCONT);
        _exit(0);
    }
}

static void unheard(void)
{
    struct hpcboot_team *w = hpcboot_world(), *t = NULL;
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    int me = hpcboot_rank();

    if (me == 0) {
        stop_agent_for_a_while();
        MUST(hpcboot_send(w, 2, 1, &byte, 1, &err));
        HOLDS(hpcboot_recv(w, 2, 1, &byte, 1, NULL, &err) ==
              HPCBOOT_ERR_PEER_DEAD);
    } else if (me == 1) {
        MUST(hpcboot_recv(w, 2, 1, &byte, 1, NULL, &err));
        kill(getpid(), SIGKILL);
    } else {
        MUST(hpcboot_recv(w, 0, 1, &byte, 1, NULL, &err));
        MUST(hpcboot_send(w, 1, 1, &byte, 1, &err));
        HOLDS(hpcboot_next_event(&event, EVENT_MS, &err) == 1);
    }
    MUST(hpcboot_team_shrink(w, &t, &err));
    HOLDS(hpcboot_team_size(t) == 2);
    MUST(hpcboot_team_destroy(t, &err));
    printf("rank %d goes on\n", me);
}

static int was_open[3];

static void look_at_standard(void)
{
    for (int fd = 0; fd < 3; fd++) {
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    }
}

static void closed(void)
{
    for (int fd = 0; fd < 3; fd++) {
        char c = 'x';

        if (!was_open[fd]) {
            errno = 0;
            HOLDS((fd == 0 ? read(fd, &c, 1) : write(fd, &c, 1)) < 0);
            HOLDS(errno == EBADF);
        }
    }
    MUST(hpcboot_barrier(hpcboot_world(), &err));
}

static void are_as_they_were(void)
{
    for (int fd = 0; fd < 3; fd++) {
        HOLDS((fcntl(fd, F_GETFD) >= 0) == was_open[fd]);
    }
}

static void where(void)
{
    for (int r = 0, me = hpcboot_rank(); r < hpcboot_size(); r++) {
        printf("rank %d: %d is on %s\n", me, r, hpcboot_host_of(r));
    }
}

#define HALF ((size_t)16 << 20)
#define PAUSE_MS 10

static void half(void)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_message got = {.source = -1};
    struct hpcboot_request *sent;
    int word = 7, me = hpcboot_rank(), rc = HPCBOOT_ERR_PEER_DEAD;
    void *room = calloc(1, HALF);

    MUST(hpcboot_barrier(w, &err));
    if (me == 2) {
        MUST(hpcboot_isend(w, 0, 1, room, HALF, &sent, &err));
        raise(SIGKILL);
    } else if (me == 1) {
        HOLDS(hpcboot_next_event(&event, EVENT_MS, &err) == 1);
        MUST(hpcboot_isend(w, 0, 1, &word, sizeof word, &sent, &err));
        free(room);
        return;
    }
    /* Rank 2 may not run for so long that all of its message comes, and rank 1
     * has its time to hear of that. */
    for (int i = 0; i < EVENT_MS / PAUSE_MS &&
                    (rc == HPCBOOT_ERR_PEER_DEAD ||
                     (rc == HPCBOOT_OK && got.source == 2)); i++) {
        rc = hpcboot_recv(w, HPCBOOT_ANY_SOURCE, 1, room, HALF, &got, &err);
        usleep(PAUSE_MS * 1000);
    }
    memcpy(&word, room, sizeof word);
    free(room);
    printf("rank 0 receives %d of rank %d\n", word, got.source);
}

/* An agent that goes on finds its launcher gone, and ends its rank. */
static void asked(void)
{
    struct hpcboot_team *w = hpcboot_world();
    pid_t agent = getppid();
    void *value;
    int rc;

    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "key", "value", 5, &err));
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err));
    if (hpcboot_rank() == 1) {
        kill(agent, SIGSTOP);
        MUST(hpcboot_send(w, 0, 1, &agent, sizeof agent, &err));
        pause();
    }
    MUST(hpcboot_recv(w, 1, 1, &agent, sizeof agent, NULL, &err));
    rc = hpcboot_get(1, "key", &value, NULL, &err);
    kill(agent, SIGCONT);
    printf("rank 0 gets: %s\n", rc < 0 ? err.text : (char *)value);
}

#define TEAMS_MOST 4096

/* Teams of all, until the heap has no room for another. */
static int fill_heap(struct hpcboot_team *of, struct hpcboot_team **teams)
{
    int n = 0, rc = 0;

    while (rc == 0) {
        HOLDS(n < TEAMS_MOST);
        rc = hpcboot_team_split(of, 0, 0, &teams[n], &err);
        n += rc == 0;
    }
    HOLDS(rc == HPCBOOT_ERR_NOMEM);
    return n;
}

static void heirs(void)
{
    static struct hpcboot_team *teams[TEAMS_MOST];
    struct hpcboot_team *w = hpcboot_world(), *pair = pair_of(0, 1), *rest;
    int n = fill_heap(w, teams), again;

    if (hpcboot_rank() == 2) {
        MUST(hpcboot_barrier(w, &err));
        raise(SIGKILL);
    }
    while (hpcboot_barrier(w, &err) == 0) {
    }
    for (int i = 0; i < n; i++) {
        MUST(hpcboot_team_destroy(teams[i], &err));
    }
    MUST(hpcboot_barrier(pair, &err)); /* so has the other */
    MUST(hpcboot_team_shrink(w, &rest, &err));
    again = fill_heap(rest, teams) + 1; /* with the one that they are in */
    printf("rank %d has room for %s\n", hpcboot_rank(),
           again >= n ? "as many" : "fewer");
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"held", held}, {"follow", follow}, {"null", null}, {"expire", expire},
    {"brief", brief}, {"ended", ended}, {"threads", ended}, {"left", left},
    {"unmade", unmade}, {"shrinks", shrinks}, {"late", late}, {"any", any},
    {"closed", closed}, {"where", where}, {"half", half},
    {"asked", asked}, {"heirs", heirs}, {"unheard", unheard},
};

int main(int argc, char **argv)
{
    struct hpcboot_init_options options = HPCBOOT_INIT_OPTIONS_INIT;
    size_t i = 0, n = sizeof ways / sizeof *ways;

    HOLDS(argc == 2);
    while (i < n && strcmp(ways[i].name, argv[1]) != 0) {
        i++;
    }
    HOLDS(i < n);
    if (strcmp(argv[1], "threads") == 0) {
        options.threads = HPCBOOT_THREADS_MULTIPLE;
    }
    look_at_standard();
    MUST(hpcboot_init(&options, &err));
    ways[i].run();
    MUST(hpcboot_finalize(&err));
    are_as_they_were();
    return 0;
}
