/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot manifest: a gang for an operator, with hbrun in its launcher and
 * `hpcbootd serve` in its workers. Here its options are checked, because what
 * a Kubernetes API refuses it refuses late and in other words. */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/kubename.h"
#include "bin/hpcboot/manifest.h"
#include "bin/hpcboot/result.h"
#include "bin/job/verdict.h"
#include "lib/base/json.h"
#include "lib/base/log.h"

#define HOSTS_MAX 100000
#define SLOTS_MAX 4096
#define UID_MAX_HERE 2147483647

struct wanted {
    const char *kind, *name, *namespace, *image, *hosts, *slots, *cpus;
    const char *memory, *gpus, *rdma, *shm, *queue, *user, *output;
    int restricted;
};
#define AT(f) offsetof(struct wanted, f)

static const struct hb_arg args[] = {
    {"name", "NAME", "the job's name (default hpcboot)", AT(name), NULL},
    {"namespace n", "NS", "its namespace", AT(namespace), NULL},
    {"image", "IMAGE", "of all pods; it has hpcboot and the program",
     AT(image), NULL},
    {"hosts", "N", "pods that run ranks (default 2)", AT(hosts), NULL},
    {"slots", "N", "ranks on each (default 1)", AT(slots), NULL},
    {"cpus", "N", "CPUs of each (default: as many as ranks)", AT(cpus), NULL},
    {"memory", "SIZE", "memory of each: 8Gi", AT(memory), NULL},
    {"gpus", "N", "GPUs of each (nvidia.com/gpu)", AT(gpus), NULL},
    {"rdma", "RESOURCE", "what gives a pod its RDMA device: rdma/hca",
     AT(rdma), NULL},
    {"shm", "SIZE", "of /dev/shm (else the 64 MiB of the runtime)", AT(shm),
     NULL},
    {"queue", "NAME", "queue of Volcano, or of Kueue", AT(queue), NULL},
    {"run-as", "UID", "run all as this user, not as root", AT(user), NULL},
    {"restricted", NULL, "for a namespace that restricts pods (Pod Security)",
     AT(restricted), NULL},
    {"output o", "FILE", "write to FILE, in one step", AT(output), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "KIND: volcano, mpijob, trainjob or jobset. hbrun's own words stand "
           "behind --:\n"
           "  hpcboot manifest volcano --image IMAGE --hosts 4 --slots 8 -- "
           "./app\n";
}

/* Of Kubernetes: 8, 1.5, 500m, 16Gi. */
static int is_quantity(const char *text)
{
    static const char *const units[] = {"", "m", "k", "M", "G", "T", "P", "Ki",
                                        "Mi", "Gi", "Ti", "Pi"};
    size_t n = strspn(text, "0123456789");

    if (n > 0 && text[n] == '.') {
        n += 1 + strspn(text + n + 1, "0123456789");
    }
    for (size_t i = 0; n > 0 && i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + n, units[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static int number(const char *option, const char *value, int least, int most,
                  int *out, struct hpcboot_error *err)
{
    if (value != NULL && hb_parse_int(value, least, most, out) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--%s %s: expected a number "
                       "from %d to %d", option, value, least, most);
    }
    return 0;
}

static int quantity(const char *option, const char *value,
                    struct hpcboot_error *err)
{
    if (value != NULL && !is_quantity(value)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--%s %s: expected a quantity "
                       "of Kubernetes: 4, 500m, 16Gi", option, value);
    }
    return 0;
}

/* "rdma/hca", "nvidia.com/hostdev": a name, and a label behind its slash. */
static int resource(const char *value, struct hpcboot_error *err)
{
    const char *slash = value != NULL ? strchr(value, '/') : NULL;

    if (value != NULL &&
        (slash == NULL || !kube_is_name(value, (size_t)(slash - value), 1) ||
         !kube_is_label(slash + 1, strlen(slash + 1),
                        KUBE_LOWER KUBE_UPPER "-._"))) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--rdma %s: expected the name "
                       "of a resource, as rdma/hca", value);
    }
    return 0;
}

/* Every pod's name has to be a label, and begin with a letter. */
static int pod_names(const struct hb_manifest_kind *kind,
                     const struct hb_manifest *m, struct hpcboot_error *err)
{
    int n = snprintf(NULL, 0, "%s%s%d", m->name, kind->suffix, m->hosts - 1);

    if (n > KUBE_LABEL_MAX || m->name[0] < 'a') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--name %s: %s", m->name,
                       n > KUBE_LABEL_MAX
                           ? "too long, names of pods end after 63 characters"
                           : "expected a letter in front");
    }
    return 0;
}

static const char *kind_name(size_t i)
{
    return hb_manifest_kinds[i].name;
}

static const struct hb_manifest_kind *find_kind(const char *word,
                                                struct hpcboot_error *err)
{
    for (const struct hb_manifest_kind *k = hb_manifest_kinds;
         k->name != NULL && word != NULL; k++) {
        if (strcmp(k->name, word) == 0) {
            return k;
        }
    }
    hb_fail(err, HPCBOOT_ERR_USAGE, "%s: expected volcano, mpijob, trainjob "
            "or jobset", word != NULL ? word : "the kind is missing");
    return NULL;
}

/* YAML takes none of DEL, U+0080 to U+009F, U+2028, U+2029, U+FFFE, U+FFFF as
 * it is; `value` is UTF-8. */
static int is_plain(const char *value)
{
    for (const unsigned char *p = (const unsigned char *)value; *p != 0; p++) {
        if (*p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0) ||
            (p[0] == 0xe2 && p[1] == 0x80 && (p[2] & 0xfe) == 0xa8) ||
            (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)) {
            return 0;
        }
    }
    return 1;
}

static int text(const char *what, const char *value, struct hpcboot_error *err)
{
    if (!hb_json_holds(value)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: not UTF-8, and a manifest "
                       "holds nothing else", what);
    }
    return is_plain(value)
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: holds a character "
                             "that no manifest can (a control character, or a "
                             "line end of Unicode)", what);
}

static int texts(const struct wanted *w, const struct hb_strv *words,
                 struct hpcboot_error *err)
{
    char what[sizeof "word 18446744073709551615"];
    int rc = text("--image", w->image, err);

    for (size_t i = 0; i < words->n && rc >= 0; i++) {
        snprintf(what, sizeof what, "word %zu", i + 1);
        rc = text(what, words->v[i], err);
    }
    return rc;
}

static int check(const struct wanted *w, struct hb_manifest *m,
                 struct hpcboot_error *err)
{
    int uid, gpus;

    if (w->image == NULL || m->words->n == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, w->image == NULL
                       ? "the image is missing: --image IMAGE"
                       : "the program is missing: -- PROGRAM, as hbrun takes "
                       "it");
    }
    if (w->restricted && w->user == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--restricted: nothing may run "
                       "as root then: add --run-as UID");
    }
    if (number("hosts", w->hosts, 1, HOSTS_MAX, &m->hosts, err) < 0 ||
        number("slots", w->slots, 1, SLOTS_MAX, &m->slots, err) < 0 ||
        number("gpus", w->gpus, 1, SLOTS_MAX, &gpus, err) < 0 ||
        number("run-as", w->user, 1, UID_MAX_HERE, &uid, err) < 0 ||
        quantity("cpus", w->cpus, err) < 0 ||
        quantity("memory", w->memory, err) < 0 ||
        quantity("shm", w->shm, err) < 0 || resource(w->rdma, err) < 0 ||
        texts(w, m->words, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    return kube_check_name("name", w->name, 0, err) < 0 ||
           kube_check_name("namespace", w->namespace, 0, err) < 0 ||
           kube_check_name("queue", w->queue, 1, err) < 0 ? HPCBOOT_ERR_USAGE
                                                          : 0;
}

static int make(const struct wanted *w, const struct hb_strv *words,
                struct hpcboot_error *err)
{
    struct hb_manifest m = {
        .name = w->name != NULL ? w->name : "hpcboot",
        .namespace = w->namespace, .image = w->image, .queue = w->queue,
        .hosts = 2, .slots = 1, .memory = w->memory, .gpus = w->gpus,
        .rdma = w->rdma, .shm = w->shm, .user = w->user,
        .restricted = w->restricted, .words = words};
    const struct hb_manifest_kind *kind = find_kind(w->kind, err);
    struct hb_str out = HB_STR_INIT;
    char cpus[16];
    int rc = kind == NULL ? HPCBOOT_ERR_USAGE : check(w, &m, err);

    if (rc >= 0) {
        rc = pod_names(kind, &m, err);
    }
    if (rc >= 0) {
        snprintf(cpus, sizeof cpus, "%d", m.slots);
        m.cpus = w->cpus != NULL ? w->cpus : cpus;
        kind->put(&m, &out);
        rc = hb_result_write(w->output, hb_str_text(&out), out.len, err);
    }
    hb_str_destroy(&out);
    return rc;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_strv words = HB_STRV_INIT;
    struct hpcboot_error err = {0};
    int own = 1, rc;

    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    rc = hb_command_scan(self, &w, own, argv);
    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    for (int i = own + 1; i < argc; i++) {
        hb_strv_push(&words, argv[i]);
    }
    rc = make(&w, &words, &err);
    hb_strv_destroy(&words);
    if (rc < 0) {
        hb_log(HB_ERROR, "manifest: %s", err.text);
    }
    return rc >= 0 ? 0 : rc == HPCBOOT_ERR_SYSTEM ? HB_EXIT_OUTPUT
                                                  : HB_EXIT_USAGE;
}

const struct hb_command hb_command_manifest = {
    .name = "manifest",
    .summary = "write a gang for an operator of Kubernetes",
    .operand = "KIND",
    .operand_at = AT(kind),
    .operand_name = kind_name,
    .args = args,
    .more = more,
    .run = run,
};
