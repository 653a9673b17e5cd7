/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Which variables stay on their host, and which are leftovers.
 *
 * Three tables, the only place where such names stand; the man page hbrun(1),
 * "ENVIRONMENT OF THE RANKS", repeats them name by name. What is in none
 * travels: PATH, LD_LIBRARY_PATH, LD_PRELOAD, LANG, OMP_*, UCX_*, NCCL_*, most
 * of OMPI_MCA_*, I_MPI_*, MV2_*, and whatever users invent.
 *
 * A denied variable is not lost: each rank gets its own host's value. A
 * scrubbed one reaches no rank, except by the user's rules (-x, --mca): with
 * it an MPI library would believe in a launcher that has not started it. */
#include "config.h"

#include "bin/proc/env_names.h"

#include <string.h>

/* First row: see hb_env_is_session. */
static const struct hb_env_row denied_rows[] = {
    /* A login or one process of it: sockets, terminals, directories. */
    {"login session",
     "_ PWD OLDPWD SHLVL SSH_* DISPLAY WAYLAND_DISPLAY XAUTHORITY WINDOWID "
     "XDG_RUNTIME_DIR XDG_SESSION_* XDG_SEAT XDG_SEAT_PATH XDG_SESSION_PATH "
     "XDG_VTNR DBUS_SESSION_BUS_ADDRESS GPG_AGENT_INFO GPG_TTY TMUX TMUX_PANE "
     "STY WINDOW TERM_SESSION_ID INVOCATION_ID JOURNAL_STREAM LISTEN_FDS "
     "LISTEN_PID LISTEN_FDNAMES NOTIFY_SOCKET WATCHDOG_PID WATCHDOG_USEC "
     "MAINPID MANAGERPID SYSTEMD_EXEC_PID SUDO_* KRB5CCNAME",
     NULL},
    /* Who this user is on that host, and where its private files lie. */
    {"account", "HOME USER LOGNAME USERNAME SHELL MAIL TMPDIR TMP TEMP TEMPDIR",
     NULL},
    /* What the host or container is. */
    {"host",
     "HOSTNAME HOST HOSTTYPE MACHTYPE container KUBERNETES_* POD_NAME POD_IP "
     "POD_IPS POD_UID POD_HOST_IP POD_IP_DUMMY HOST_IP HOST_NAME NODE_NAME "
     "NODE_IP MY_POD_NAME MY_POD_IP MY_NODE_NAME K8S_POD_NAME",
     NULL},
    /* Devices that the container runtime, or a device plugin, hands to this
     * container; the launcher pods of operators have them blanked. */
    {"devices",
     "NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES PCIDEVICE_*", NULL},
    /* This pod's place in a gang, as its operator counts pods. */
    {"place in a gang",
     "K_MPI_JOB_ROLE JOB_COMPLETION_INDEX VC_TASK_INDEX VK_TASK_INDEX RANK "
     "LOCAL_RANK GROUP_RANK NODE_RANK PET_NODE_RANK PROCESS_ID "
     "JAX_PROCESS_ID LWS_WORKER_INDEX TF_CONFIG MX_CONFIG DMLC_TASK_ID "
     "DMLC_WORKER_ID TPU_WORKER_ID CLOUD_TPU_TASK_ID RAY_CLOUD_INSTANCE_ID",
     NULL},
};

static const struct hb_env_row family_rows[] = {
    /* Options as variables, the variables of an outer job, and the cookie. */
    {"hpcboot", "HPCBOOT_*", NULL},
    {"slurm", "SLURM_* SLURMD_* SALLOC_* SBATCH_* SRUN_*",
     "SLURM_ARRAY_* SLURM_SUBMIT_DIR SLURM_SUBMIT_HOST SLURM_JOB_NAME"},
    {"pbs", "PBS_*", "PBS_O_* PBS_ARRAY_INDEX PBS_ARRAYID PBS_JOBNAME"},
    {"lsf", "LSB_* LS_JOBPID", "LSB_JOBINDEX LSB_JOBNAME"},
    {"jsm", "JSM_*", NULL},
    {"sge", "SGE_* PE_HOSTFILE", "SGE_TASK_* SGE_O_*"},
    {"flux", "FLUX_*", NULL},
    {"cobalt", "COBALT_*", NULL},
    {"loadleveler", "LOADL_* LOADLBATCH", NULL},
    {"pals", "PALS_* ALPS_*", NULL},
    {"pmi", "PMI_* PMI2_* PMI1_*", NULL},
    {"pmix", "PMIX_*", "PMIX_MCA_* PMIX_PREFIX"},
    /* Where a client looks for its server is told by the server alone. */
    {"pmix", "PMIX_MCA_ptl_*", NULL},
    {"prrte", "PRTE_*", "PRTE_ALLOW_RUN_AS_ROOT*"},
    {"ompi",
     "OMPI_COMM_WORLD_* OMPI_UNIVERSE_SIZE OMPI_WORLD_* OMPI_NUM_APP_CTX "
     "OMPI_FIRST_RANKS OMPI_APP_CTX_NUM_PROCS OMPI_COMMAND OMPI_ARGV "
     "OMPI_FILE_LOCATION",
     NULL},
    /* Parameters of Open MPI's own launcher, as operators inject them, and
     * of what only a launcher may decide for its ranks. */
    {"ompi launcher parameters",
     "OMPI_MCA_orte_* OMPI_MCA_prte_* OMPI_MCA_plm OMPI_MCA_plm_* "
     "OMPI_MCA_rmaps OMPI_MCA_rmaps_* OMPI_MCA_ras OMPI_MCA_ras_* "
     "OMPI_MCA_oob OMPI_MCA_oob_* OMPI_MCA_routed OMPI_MCA_routed_* "
     "OMPI_MCA_rml OMPI_MCA_rml_* OMPI_MCA_ess OMPI_MCA_ess_* "
     "OMPI_MCA_schizo OMPI_MCA_schizo_* OMPI_MCA_grpcomm OMPI_MCA_grpcomm_* "
     "OMPI_MCA_odls OMPI_MCA_odls_* OMPI_MCA_iof OMPI_MCA_iof_* "
     "OMPI_MCA_state OMPI_MCA_state_* OMPI_MCA_errmgr OMPI_MCA_errmgr_* "
     "OMPI_MCA_filem OMPI_MCA_filem_* OMPI_MCA_regx OMPI_MCA_regx_* "
     "OMPI_MCA_rtc OMPI_MCA_rtc_* OMPI_MCA_snapc OMPI_MCA_snapc_* "
     "OMPI_MCA_pmix OMPI_MCA_pmix_* OMPI_MCA_hwloc_base_binding_policy "
     "OMPI_MCA_hwloc_base_cpu_list OMPI_MCA_hwloc_base_cpu_set "
     "OMPI_MCA_initial_wdir OMPI_MCA_mpi_oversubscribe",
     NULL},
    {"hydra",
     "HYDRA_* HYDI_* MPI_LOCALRANKID MPI_LOCALNRANKS MPIEXEC_* "
     "MPICH_INTERFACE_HOSTNAME",
     NULL},
    /* I_MPI_PMI_LIBRARY of a Slurm shell names a library of that launcher. */
    {"intel",
     "I_MPI_HYDRA_* I_MPI_PERHOST I_MPI_PMI_LIBRARY I_MPI_MPIRUN "
     "I_MPI_JOB_TIMEOUT I_MPI_JOB_STARTUP_TIMEOUT",
     NULL},
    {"mvapich", "MV2_COMM_WORLD_* MPIRUN_* MPISPAWN_* PMGR_*", NULL},
};

/* What ranks are told by its path. */
static const struct hb_env_row path_rows[] = {
    {"open mpi", "OMPI_MCA_btl_vader_backing_directory "
     "OMPI_MCA_btl_sm_backing_directory", NULL},
    {"hwloc", "HWLOC_XMLFILE", NULL},
};

/* On a mismatch the last '*' takes one byte more: linear space, no
 * recursion, and no blow-up with many stars. */
int hb_env_match(const char *pattern, size_t pattern_len, const char *name,
                 size_t len)
{
    size_t p = 0, n = 0, star = (size_t)-1, retry = 0;

    while (n < len) {
        if (p < pattern_len && pattern[p] == '*') {
            star = p++;
            retry = n;
        } else if (p < pattern_len
                   && (pattern[p] == '?' || pattern[p] == name[n])) {
            p++;
            n++;
        } else if (star != (size_t)-1) {
            p = star + 1;
            n = ++retry;
        } else {
            return 0;
        }
    }
    while (p < pattern_len && pattern[p] == '*') {
        p++;
    }
    return p == pattern_len;
}

static int match_any(const char *patterns, const char *name, size_t len)
{
    while (patterns != NULL && *patterns != '\0') {
        size_t n = (size_t)(strchrnul(patterns, ' ') - patterns);
        int may = patterns[0] == name[0] || patterns[0] == '*'
                  || patterns[0] == '?';

        if (may && hb_env_match(patterns, n, name, len)) {
            return 1;
        }
        patterns += n + (patterns[n] == ' ');
    }
    return 0;
}

static const struct hb_env_row *find_row(const struct hb_env_row *rows,
                                         size_t n, const char *name,
                                         size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (match_any(rows[i].names, name, len)
            && !match_any(rows[i].but, name, len)) {
            return &rows[i];
        }
    }
    return NULL;
}

const struct hb_env_row *hb_env_denied_row(const char *name, size_t len)
{
    return find_row(denied_rows, sizeof(denied_rows) / sizeof(denied_rows[0]),
                    name, len);
}

const struct hb_env_row *hb_env_family_row(const char *name, size_t len)
{
    return find_row(family_rows, sizeof(family_rows) / sizeof(family_rows[0]),
                    name, len);
}

int hb_env_is_told_path(const char *name, size_t len)
{
    return find_row(path_rows, sizeof(path_rows) / sizeof(path_rows[0]), name,
                    len) != NULL;
}

int hb_env_is_session(const char *name, size_t len)
{
    return hb_env_denied_row(name, len) == &denied_rows[0];
}
