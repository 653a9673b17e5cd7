/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs as the operators want them described, in YAML. What all have in
 * common: workers that run `hpcbootd serve`, so that images need no sshd and
 * no host keys; a launcher whose only command is hbrun, which waits for them;
 * the operator's own key where it makes one. Texts are written as JSON
 * strings, which YAML reads as they are. */

#include "config.h"

#include "bin/hpcboot/manifest.h"

#include <stdarg.h>

#include "lib/base/json.h"

#define ROOT_KEYS "/root/.ssh"
#define USER_KEYS "/home/mpiuser/.ssh" /* where operators' own images look */
#define RETRY_STATUS "75"              /* of hbrun: a host's fault, try again */
/* Of a pod that may be a host and no launcher: or it was killed. */
#define RETRY_STATUSES RETRY_STATUS ", 137, 143"
#define RETRIES 3

static void line(struct hb_str *out, int indent, const char *fmt, ...)
    HB_PRINTF(3, 4);
static void line(struct hb_str *out, int indent, const char *fmt, ...)
{
    va_list ap;

    hb_str_putf(out, "%*s", indent, "");
    va_start(ap, fmt);
    hb_str_vputf(out, fmt, ap);
    va_end(ap);
    hb_str_putc(out, '\n');
}

/* KEY: "value"; quoted, for a name may be "on", or 12. */
static void text(struct hb_str *out, int indent, const char *key,
                 const char *value)
{
    struct hb_str quoted = HB_STR_INIT;
    struct hb_json j;

    hb_json_begin(&j, &quoted);
    hb_json_str(&j, NULL, value);
    line(out, indent, "%s: %s", key, hb_str_text(&quoted));
    hb_str_destroy(&quoted);
}

/* Kubernetes puts variables of the container for $(NAME) in a command, and one
 * dollar for two; what stands behind a doubled one it leaves. */
static void as_typed(struct hb_json *j, const char *word)
{
    struct hb_str doubled = HB_STR_INIT;

    for (; *word != '\0'; word++) {
        if (*word == '$' && (word[1] == '$' || word[1] == '(')) {
            hb_str_putc(&doubled, '$');
        }
        hb_str_putc(&doubled, *word);
    }
    hb_json_str(j, NULL, hb_str_text(&doubled));
    hb_str_destroy(&doubled);
}

static void texts(struct hb_str *out, int indent, const char *key,
                  const char *const *first, const struct hb_strv *rest)
{
    struct hb_str quoted = HB_STR_INIT;
    struct hb_json j;

    hb_json_begin(&j, &quoted);
    hb_json_array(&j, NULL);
    for (; *first != NULL; first++) {
        hb_json_str(&j, NULL, *first);
    }
    for (size_t i = 0; rest != NULL && i < rest->n; i++) {
        as_typed(&j, rest->v[i]);
    }
    hb_json_end_array(&j);
    line(out, indent, "%s: %s", key, hb_str_text(&quoted));
    hb_str_destroy(&quoted);
}

static const char *key_dir(const struct hb_manifest *m)
{
    return m->user != NULL ? USER_KEYS : ROOT_KEYS;
}

static void put_head(const struct hb_manifest *m, struct hb_str *out,
                     const char *version, const char *kind, int is_queued)
{
    line(out, 0, "apiVersion: %s", version);
    line(out, 0, "kind: %s", kind);
    line(out, 0, "metadata:");
    text(out, 2, "name", m->name);
    if (m->namespace != NULL) {
        text(out, 2, "namespace", m->namespace);
    }
    if (is_queued && m->queue != NULL) {
        line(out, 2, "labels:");
        text(out, 4, "kueue.x-k8s.io/queue-name", m->queue);
    }
}

static void put_resources(const struct hb_manifest *m, struct hb_str *out,
                          int at)
{
    line(out, at, "resources:");
    line(out, at + 2, "limits:");
    line(out, at + 4, "cpu: \"%s\"", m->cpus);
    if (m->memory != NULL) {
        line(out, at + 4, "memory: \"%s\"", m->memory);
    }
    if (m->gpus != NULL) {
        line(out, at + 4, "nvidia.com/gpu: \"%s\"", m->gpus);
    }
    if (m->rdma != NULL) {
        line(out, at + 4, "%s: \"1\"", m->rdma);
    }
}

/* What a container that runs ranks has. No standard that restricts pods lets
 * them add the capability. */
static void put_ranks_container(const struct hb_manifest *m,
                                struct hb_str *out, int at)
{
    put_resources(m, out, at);
    if (m->rdma != NULL && !m->restricted) {
        line(out, at, "securityContext:");
        line(out, at + 2, "capabilities: {add: [\"IPC_LOCK\"]}");
    }
}

static void put_user(const struct hb_manifest *m, struct hb_str *out, int at)
{
    if (m->user != NULL) {
        line(out, at, "securityContext: {runAsUser: %s, runAsNonRoot: true, "
             "fsGroup: %s}", m->user, m->user);
    }
}

/* Of every container. */
static void put_restrictions(const struct hb_manifest *m, struct hb_str *out,
                             int at)
{
    if (m->restricted) {
        line(out, at, "securityContext:");
        line(out, at + 2, "allowPrivilegeEscalation: false");
        line(out, at + 2, "capabilities: {drop: [\"ALL\"]}");
        line(out, at + 2, "seccompProfile: {type: RuntimeDefault}");
    }
}

static void put_shm(const struct hb_manifest *m, struct hb_str *out, int at)
{
    line(out, at, "- name: shm");
    line(out, at + 2, "emptyDir: {medium: Memory, sizeLimit: \"%s\"}", m->shm);
}

/* A pod template from its "spec:" on, up to the command of its only
 * container. */
static void put_pod(const struct hb_manifest *m, struct hb_str *out, int at,
                    const char *name)
{
    line(out, at, "spec:");
    line(out, at + 2, "restartPolicy: Never");
    put_user(m, out, at + 2);
    line(out, at + 2, "containers:");
    line(out, at + 2, "- name: %s", name);
    text(out, at + 4, "image", m->image);
    put_restrictions(m, out, at + 4);
}

static void put_launcher(const struct hb_manifest *m, struct hb_str *out,
                         int at, const char *name)
{
    static const char *const hbrun[] = {"hbrun", NULL};

    put_pod(m, out, at, name);
    texts(out, at + 4, "command", hbrun, m->words);
}

/* Where the operator's list of hosts says no slots, hbrun would count CPUs. */
static void put_slots(const struct hb_manifest *m, struct hb_str *out, int at)
{
    line(out, at, "- {name: HPCBOOT_DEFAULT_SLOTS, value: \"%d\"}", m->slots);
}

static void put_worker(const struct hb_manifest *m, struct hb_str *out,
                       int at, const char *name)
{
    put_pod(m, out, at, name);
    line(out, at + 4, "command: [\"hpcbootd\", \"serve\"]");
    line(out, at + 4, "readinessProbe:");
    line(out, at + 6, "exec: {command: [\"hpcbootd\", \"health\"]}");
    line(out, at + 6, "periodSeconds: 2");
    put_ranks_container(m, out, at + 4);
    if (m->shm != NULL) {
        line(out, at + 4, "volumeMounts:");
        line(out, at + 4, "- {name: shm, mountPath: /dev/shm}");
        line(out, at + 2, "volumes:");
        put_shm(m, out, at + 2);
    }
}

/* A Volcano Job. The launcher's end is the job's; a host's fault starts all of
 * it again, up to Volcano's maxRetry. */
static void put_volcano(const struct hb_manifest *m, struct hb_str *out)
{
    put_head(m, out, "batch.volcano.sh/v1alpha1", "Job", 0);
    line(out, 0, "spec:");
    line(out, 2, "schedulerName: volcano");
    if (m->queue != NULL) {
        text(out, 2, "queue", m->queue);
    }
    line(out, 2, "minAvailable: %d", m->hosts + 1);
    line(out, 2, "maxRetry: %d", RETRIES);
    line(out, 2, "plugins:");
    line(out, 4, "svc: []");
    if (m->user != NULL) {
        line(out, 4, "ssh: [\"--ssh-key-file-path=%s\"]", USER_KEYS);
    } else {
        line(out, 4, "ssh: []");
    }
    line(out, 2, "policies:");
    line(out, 2, "- {event: PodEvicted, action: RestartJob}");
    line(out, 2, "tasks:");
    line(out, 2, "- name: launcher");
    line(out, 4, "replicas: 1");
    line(out, 4, "policies:");
    line(out, 4, "- {event: TaskCompleted, action: CompleteJob}");
    line(out, 4, "- {exitCode: %s, action: RestartJob}", RETRY_STATUS);
    line(out, 4, "- {event: PodFailed, action: TerminateJob}");
    line(out, 4, "template:");
    put_launcher(m, out, 6, "launcher");
    line(out, 10, "env:");
    put_slots(m, out, 10);
    line(out, 2, "- name: worker");
    line(out, 4, "replicas: %d", m->hosts);
    line(out, 4, "template:");
    put_worker(m, out, 6, "worker");
}

static void put_mpijob(const struct hb_manifest *m, struct hb_str *out)
{
    put_head(m, out, "kubeflow.org/v2beta1", "MPIJob", 1);
    line(out, 0, "spec:");
    line(out, 2, "slotsPerWorker: %d", m->slots);
    line(out, 2, "sshAuthMountPath: %s", key_dir(m));
    line(out, 2, "runPolicy:");
    line(out, 4, "cleanPodPolicy: Running");
    line(out, 4, "backoffLimit: %d", RETRIES);
    line(out, 2, "mpiReplicaSpecs:");
    line(out, 4, "Launcher:");
    line(out, 6, "replicas: 1");
    line(out, 6, "template:");
    put_launcher(m, out, 8, "launcher");
    line(out, 4, "Worker:");
    line(out, 6, "replicas: %d", m->hosts);
    line(out, 6, "template:");
    put_worker(m, out, 8, "worker");
}

/* Of a Job: by which statuses its pods end that are worth another try. */
static void put_retries(struct hb_str *out, int at, int limit,
                        const char *statuses)
{
    line(out, at, "backoffLimit: %d", limit);
    line(out, at, "podFailurePolicy:");
    line(out, at + 2, "rules:");
    line(out, at + 2, "- {action: Count, onPodConditions: [{type: "
         "DisruptionTarget, status: \"True\"}]}");
    line(out, at + 2, "- {action: FailJob, onExitCodes: {operator: NotIn, "
         "values: [%s]}}", statuses);
}

/* Both podsets of a runtime; the names are Trainer's. */
static void put_podset(struct hb_str *out, const char *name)
{
    int launches = hb_streq(name, "launcher");

    line(out, 6, "- name: %s", name);
    line(out, 8, "template:");
    if (launches) {
        line(out, 10, "metadata:");
        line(out, 12, "labels:");
        line(out, 14, "trainer.kubeflow.org/trainjob-ancestor-step: trainer");
    }
    line(out, 10, "spec:");
    if (launches) {
        put_retries(out, 12, RETRIES, RETRY_STATUS);
    }
    line(out, 12, "template:");
}

static void put_trainjob(const struct hb_manifest *m, struct hb_str *out)
{
    put_head(m, out, "trainer.kubeflow.org/v1alpha1", "TrainingRuntime", 0);
    line(out, 0, "spec:");
    line(out, 2, "mlPolicy:");
    line(out, 4, "numNodes: %d", m->hosts);
    line(out, 4, "mpi:");
    line(out, 6, "numProcPerNode: %d", m->slots);
    line(out, 6, "mpiImplementation: OpenMPI");
    line(out, 6, "sshAuthMountPath: %s", key_dir(m));
    line(out, 6, "runLauncherAsNode: false");
    line(out, 2, "template:");
    line(out, 4, "spec:");
    line(out, 6, "network: {publishNotReadyAddresses: true}");
    line(out, 6, "successPolicy: {operator: All, targetReplicatedJobs: "
         "[launcher]}");
    line(out, 6, "replicatedJobs:");
    put_podset(out, "launcher");
    put_launcher(m, out, 14, "node");
    put_podset(out, "node");
    put_worker(m, out, 14, "node");
    line(out, 0, "---");
    put_head(m, out, "trainer.kubeflow.org/v1alpha1", "TrainJob", 1);
    line(out, 0, "spec:");
    line(out, 2, "runtimeRef: {apiGroup: trainer.kubeflow.org, kind: "
         "TrainingRuntime, name: \"%s\"}", m->name);
    /* Without this the trainer takes a 1 of the runtime for "as many as there
     * are GPUs". */
    line(out, 2, "trainer: {numNodes: %d, numProcPerNode: %d}", m->hosts,
         m->slots);
}

/* The first pod starts the job and runs ranks as the others do, which end with
 * it. A JobSet makes no key. */
static void put_jobset_pod(const struct hb_manifest *m, struct hb_str *out,
                           int at)
{
    static const char *const command[] = {
        "sh", "-c", "if [ \"$JOB_COMPLETION_INDEX\" = 0 ]; then exec hbrun "
        "\"$@\"; fi; exec hpcbootd serve --once", "hbrun", NULL};

    put_pod(m, out, at, "node");
    texts(out, at + 4, "command", command, m->words);
    line(out, at + 4, "env:");
    line(out, at + 4, "- {name: HPCBOOT_GANG_SIZE, value: \"%d\"}", m->hosts);
    put_slots(m, out, at + 4);
    put_ranks_container(m, out, at + 4);
    line(out, at + 4, "volumeMounts:");
    line(out, at + 4, "- {name: key, mountPath: %s, readOnly: true}",
         key_dir(m));
    if (m->shm != NULL) {
        line(out, at + 4, "- {name: shm, mountPath: /dev/shm}");
    }
    line(out, at + 2, "volumes:");
    line(out, at + 2, "- name: key");
    line(out, at + 4, "secret: {secretName: %s-key, defaultMode: %s}", m->name,
         m->user != NULL ? "0440" : "0400");
    if (m->shm != NULL) {
        put_shm(m, out, at + 2);
    }
}

static void put_jobset(const struct hb_manifest *m, struct hb_str *out)
{
    line(out, 0, "# The gang's key comes first, once:");
    line(out, 0, "#   hpcboot keys --secret %s-key%s%s | kubectl apply -f -",
         m->name, m->namespace != NULL ? " -n " : "",
         m->namespace != NULL ? m->namespace : "");
    put_head(m, out, "jobset.x-k8s.io/v1alpha2", "JobSet", 1);
    line(out, 0, "spec:");
    line(out, 2, "network: {enableDNSHostnames: true, "
         "publishNotReadyAddresses: true}");
    line(out, 2, "failurePolicy:");
    line(out, 4, "maxRestarts: %d", RETRIES);
    line(out, 4, "rules:");
    line(out, 4, "- {name: programFailed, action: FailJobSet, "
         "onJobFailureReasons: [PodFailurePolicy]}");
    line(out, 2, "replicatedJobs:");
    line(out, 2, "- name: node");
    line(out, 4, "replicas: 1");
    line(out, 4, "template:");
    line(out, 6, "spec:");
    line(out, 8, "completionMode: Indexed");
    line(out, 8, "completions: %d", m->hosts);
    line(out, 8, "parallelism: %d", m->hosts);
    put_retries(out, 8, 0, RETRY_STATUSES);
    line(out, 8, "template:");
    put_jobset_pod(m, out, 10);
}

/* JobSet looks at names as they end, with what a Job adds to its pods'. */
#define JOBSET_TAIL "-abcde"

const struct hb_manifest_kind hb_manifest_kinds[] = {
    {"volcano", "-launcher-", put_volcano},
    {"mpijob", "-launcher-", put_mpijob},
    {"trainjob", "-launcher-0-" JOBSET_TAIL, put_trainjob},
    {"jobset", "-node-0-" JOBSET_TAIL, put_jobset},
    {NULL, NULL, NULL},
};
