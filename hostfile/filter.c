/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Cuts a gang down to the hosts that a list names (-H beside a hostfile), or
 * finds that a list names hosts of a gang alone.
 *
 * A list selects by name or by first labels ("worker-0" and "worker-0.job" mean
 * the gang's "worker-0.job.ns.svc"), as long as that is one host; and where the
 * gang's own names are short ("worker-0.job"), by the long name that its host
 * has in the domain of this pod. It can lower the
 * slots of a host but not raise them, because the gang says what there is.
 * Where the gang says nothing, what the list says holds: a number, or what is
 * to be counted; and, where nobody wrote a hostfile for it (`each`), a slot
 * for each mention, as if the list stood alone: mpirun knows nothing of the
 * gang. The order becomes that of the list.
 *
 * Names are looked up in two sorted tables, so that two lists of 10,000
 * hosts cost no more than their sorting. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/hostfile.h"
#include "hostfile/hostname.h"
#include "hostfile/source.h"
#include "lib/base/str.h"

struct entry {
    const char *key; /* borrowed */
    size_t len;
    uint32_t host;
};

/* Entries sorted by their first `len` characters, without regard to case. */
struct names {
    struct hb_self *self; /* whose domain is that of the gang's pods */
    struct entry *full, *labels;
    size_t n;
};

static int compare(const void *va, const void *vb)
{
    const struct entry *a = va, *b = vb;
    size_t n = a->len < b->len ? a->len : b->len;
    int order = strncasecmp(a->key, b->key, n);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static void names_create(struct names *s, const struct hb_gang *gang,
                         const char *root)
{
    s->self = hb_self_create(root);
    s->n = gang->n;
    s->full = hb_xcalloc(gang->n, sizeof(*s->full));
    s->labels = hb_xcalloc(gang->n, sizeof(*s->labels));
    for (size_t i = 0; i < gang->n; i++) {
        const char *name = gang->hosts[i].name;
        s->full[i] = (struct entry){name, hb_hostname_len(name), (uint32_t)i};
        s->labels[i] = (struct entry){name, strcspn(name, "."), (uint32_t)i};
    }
    qsort(s->full, s->n, sizeof(*s->full), compare);
    qsort(s->labels, s->n, sizeof(*s->labels), compare);
}

static void names_destroy(struct names *s)
{
    hb_self_destroy(s->self);
    free(s->full);
    free(s->labels);
}

/* 1: the first n characters are all of `whole`, or its first labels. */
static int leads(const char *part, size_t n, const char *whole)
{
    return strncasecmp(part, whole, n) == 0 &&
           (whole[n] == '\0' || whole[n] == '.');
}

/* Two names with one first label, `n` characters of `name` at hand. */
static int means(const struct names *s, const char *name, size_t n,
                 const char *known)
{
    const char *domain = hb_self_domain(s->self);
    size_t label = strcspn(name, "."), rest = label + 1;

    if (leads(name, n, known)) {
        return 1;
    }
    return domain != NULL && n > rest && known[label] == '.' &&
           leads(known + rest, hb_hostname_len(known) - rest, domain) &&
           leads(name + rest, n - rest, domain);
}

/* The host that `name` means, or -1 (none), or -2 (more than one). */
static long find_host(const struct names *s, const char *name)
{
    struct entry key = {name, hb_hostname_len(name), 0};
    const struct entry *e = bsearch(&key, s->full, s->n, sizeof(key), compare);
    size_t len = key.len;
    long found = -1;

    if (e != NULL) {
        return e->host;
    }
    key.len = strcspn(name, ".");
    e = bsearch(&key, s->labels, s->n, sizeof(key), compare);
    if (e == NULL || strspn(name, "0123456789.") == len) {
        return -1; /* an address has no labels */
    }
    while (e > s->labels && compare(e - 1, &key) == 0) {
        e--;
    }
    for (; e < s->labels + s->n && compare(e, &key) == 0; e++) {
        if (means(s, name, len, e->key)) {
            found = found == -1 ? (long)e->host : -2;
        }
    }
    return found;
}

static int match_all(const struct hb_gang *from, const struct names *names,
                     const struct hb_gang *list, uint32_t *pick,
                     struct hpcboot_error *err)
{
    const char *source = from->source != NULL ? from->source : "the gang";

    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->hosts[i].name;
        long at = find_host(names, name);
        if (at == -1) {
            return hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                           "-H: host %s is not in %s", name, source);
        }
        if (at == -2) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "-H: %s means more than one host of %s; write its "
                           "full name", name, source);
        }
        pick[i] = (uint32_t)at;
    }
    return HPCBOOT_OK;
}

int hb_gang_has_some(const struct hb_gang *gang, const struct hb_gang *list,
                     const char *root)
{
    struct names names;
    int some = 0;

    names_create(&names, gang, root);
    for (size_t i = 0; !some && i < list->n; i++) {
        some = find_host(&names, list->hosts[i].name) != -1;
    }
    names_destroy(&names);
    return some;
}

/* For each host of the list, whether a mention of it stated a count, so that
 * its slots are more than a number of mentions; free() it. */
static unsigned char *stated_hosts(const struct hb_gang *list)
{
    unsigned char *stated = hb_xcalloc(list->n, sizeof(*stated));

    for (size_t i = 0; i < list->n_mentions; i++) {
        if (list->mentions[i].stated) {
            stated[list->mentions[i].host] = 1;
        }
    }
    return stated;
}

/* What a host of the list says of its slots; `counts`: a number. */
static void take_slots(struct hb_host *h, const struct hb_host *said,
                       int counts)
{
    int lower = counts && (h->slots == 0 || said->slots < h->slots);
    int word = h->slots == 0 && !counts && said->count != HB_COUNT_UNSAID;

    if (lower || word) {
        h->slots = lower ? said->slots : 0;
        h->count = said->count;
        free(h->origin);
        h->origin = hb_xstrdup(said->origin);
    }
}

/* Moves the picked hosts, each once, to the front, and follows the list's
 * mentions. */
static void keep(struct hb_gang *from, const struct hb_gang *list,
                 const uint32_t *pick, int each)
{
    struct hb_host *kept = hb_xcalloc(list->n, sizeof(*kept));
    uint32_t *place = hb_xcalloc(list->n, sizeof(*place));
    uint32_t *done = hb_xcalloc(from->n, sizeof(*done)); /* place + 1 */
    unsigned char *stated = stated_hosts(list);
    uint32_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct hb_host *h = &from->hosts[pick[i]];
        if (done[pick[i]] == 0) {
            kept[n] = *h;
            memset(h, 0, sizeof(*h));
            done[pick[i]] = ++n;
        }
        place[i] = done[pick[i]] - 1;
        take_slots(&kept[place[i]], &list->hosts[i],
                   stated[i] || (each && kept[place[i]].slots == 0 &&
                                 list->hosts[i].slots > 0));
        if (list->hosts[i].user != NULL) {
            free(kept[place[i]].user);
            kept[place[i]].user = hb_xstrdup(list->hosts[i].user);
        }
    }
    for (size_t i = 0; i < from->n; i++) {
        free(from->hosts[i].name);
        free(from->hosts[i].user);
        free(from->hosts[i].origin);
    }
    free(from->hosts);
    free(from->mentions);
    from->hosts = kept;
    from->n = n;
    from->n_mentions = list->n_mentions;
    from->mentions = hb_xcalloc(list->n_mentions, sizeof(*from->mentions));
    for (size_t i = 0; i < list->n_mentions; i++) {
        from->mentions[i] = list->mentions[i];
        from->mentions[i].host = place[list->mentions[i].host];
        if (!list->mentions[i].stated) {
            from->mentions[i].slots = 0;
        }
    }
    free(stated);
    free(place);
    free(done);
}

int hb_gang_filter(struct hb_gang *from, const struct hb_gang *list,
                   const char *root, int each, struct hpcboot_error *err)
{
    uint32_t *pick = hb_xcalloc(list->n, sizeof(*pick));
    struct names names;
    int rc;

    names_create(&names, from, root);
    rc = match_all(from, &names, list, pick, err);
    names_destroy(&names);
    if (rc >= 0) {
        keep(from, list, pick, each);
    }
    free(pick);
    return rc;
}

/* 1: all are hosts of the gang `of`, or this very one, which nobody has to log
 * in to. */
static int are_of(const struct hb_gang *gang, const struct names *of,
                  long *pick)
{
    size_t known = 0;

    for (size_t i = 0; i < gang->n; i++) {
        pick[i] = find_host(of, gang->hosts[i].name);
        if (pick[i] < 0 && !gang->hosts[i].is_local) {
            return 0;
        }
        known += pick[i] >= 0;
    }
    return known > 0;
}

static char *taken(char **text)
{
    char *was = *text;

    *text = NULL;
    return was;
}

int hb_gang_join(struct hb_gang *gang, struct hb_gang *of, const char *root)
{
    long *pick = hb_xcalloc(gang->n + 1, sizeof(*pick));
    struct names names;
    int joined;

    names_create(&names, of, root);
    joined = are_of(gang, &names, pick);
    for (size_t i = 0; joined && i < gang->n; i++) {
        struct hb_host *h = &gang->hosts[i];
        const struct hb_host *known = pick[i] >= 0 ? &of->hosts[pick[i]] : h;

        h->is_local |= known->is_local;
        h->port = h->port > 0 ? h->port : known->port;
        if (h->slots == 0 && h->count == HB_COUNT_UNSAID) {
            h->slots = known->slots;
            h->count = known->count;
        }
    }
    if (joined) {
        gang->operator_made = of->operator_made;
        gang->gang_key = taken(&of->gang_key);
        gang->launch_with = taken(&of->launch_with);
    }
    names_destroy(&names);
    free(pick);
    return joined;
}
