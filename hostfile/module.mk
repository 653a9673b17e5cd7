# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/hostfile.h %D%/gang.c %D%/gather.c %D%/filter.c \
    %D%/build.c %D%/build.h %D%/lines.c %D%/lines.h %D%/range.c %D%/range.h \
    %D%/hostname.c %D%/hostname.h %D%/self.c \
    %D%/podname.c %D%/podname.h \
    %D%/dialect.c %D%/dialect.h %D%/dialect_openmpi.c %D%/dialect_hydra.c \
    %D%/dialect_list.c %D%/dialect_plain.c %D%/dialect_pbs.c \
    %D%/dialect_deepspeed.c %D%/dialect_slurm.c %D%/dialect_intel.c \
    %D%/dialect_mvapich.c %D%/dialect_horovod.c \
    %D%/source.c %D%/source.h %D%/source_list.c %D%/source_file.c %D%/source_script.c \
    %D%/source_volcano.c %D%/volcano.h %D%/volcano_choose.c \
    %D%/volcano_ssh.c %D%/source_mpi_operator.c %D%/source_mpijob_v1.c \
    %D%/mpijob_v1.h %D%/source_trainer.c %D%/source_trainer_torch.c \
    %D%/source_trainer_jax.c %D%/pod.c %D%/pod.h %D%/indexed.c %D%/indexed.h \
    %D%/source_jobset.c %D%/source_indexed_job.c %D%/source_lws.c \
    %D%/source_pytorchjob.c %D%/source_tfjob.c %D%/source_paddlejob.c \
    %D%/source_xgboostjob.c %D%/source_jaxjob.c %D%/source_kuberay.c \
    %D%/source_slurm.c %D%/slurm.h %D%/source_pbs.c %D%/source_lsf.c \
    %D%/source_sge.c %D%/sge.h %D%/source_flux.c %D%/flux.h \
    %D%/source_cobalt.c %D%/source_default.c %D%/source_local.c \
    %D%/source_kubernetes.c %D%/k8s.h %D%/k8s_open.c %D%/k8s_module.h \
    %D%/k8s_login.c %D%/k8s_pod.c %D%/k8s_pod.h %D%/k8s_reason.c \
    %D%/k8s_reasons.c %D%/k8s_tree.c %D%/k8s_tree.h %D%/k8s_network.c \
    %D%/k8s_gang.c %D%/k8s_gang.h %D%/k8s_search.c %D%/k8s_search.h \
    %D%/command.c %D%/command.h %D%/json_open.c %D%/json.h

if HAVE_JANSSON
pkglib_LTLIBRARIES += hb_gangjson.la
hb_gangjson_la_SOURCES = %D%/json.c %D%/json.h
hb_gangjson_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
hb_gangjson_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_gangjson_la_LIBADD = $(JANSSON_LIBS)

check_PROGRAMS += tests/fuzz/fuzz_gangjson
TESTS += tests/fuzz/fuzz_gangjson
tests_fuzz_fuzz_gangjson_SOURCES = tests/fuzz/fuzz_gangjson.c %D%/json.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_gangjson_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_gangjson_LDADD = libhbbin.a libhb.a $(JANSSON_LIBS)
FUZZ_EXTRA_gangjson = $(top_srcdir)/%D%/json.c $(JANSSON_CFLAGS) $(JANSSON_LIBS)
endif

if HAVE_KUBERNETES
pkglib_LTLIBRARIES += hb_k8s.la
hb_k8s_la_SOURCES = %D%/k8s_api.c %D%/k8s_http.c %D%/k8s_http.h \
    %D%/k8s_cut.c %D%/k8s_cut.h %D%/k8s_json.c %D%/k8s_json.h \
    %D%/k8s_thing.c \
    %D%/k8s_module.h
hb_k8s_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS)
hb_k8s_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_k8s_la_LIBADD = $(CURL_LIBS) $(JANSSON_LIBS)

check_PROGRAMS += tests/fuzz/fuzz_k8s
TESTS += tests/fuzz/fuzz_k8s tests/cli/kubernetes.bats
tests_fuzz_fuzz_k8s_SOURCES = tests/fuzz/fuzz_k8s.c tests/fuzz/replay.c \
    %D%/k8s_cut.c %D%/k8s_json.c %D%/k8s_thing.c
tests_fuzz_fuzz_k8s_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_k8s_LDADD = libhbbin.a libhb.a $(JANSSON_LIBS)
endif

hostfile_fuzzers = tests/fuzz/fuzz_hostfile tests/fuzz/fuzz_hostlist \
    tests/fuzz/fuzz_gang
check_PROGRAMS += $(hostfile_fuzzers)
TESTS += $(hostfile_fuzzers)
tests_fuzz_fuzz_hostfile_SOURCES = tests/fuzz/fuzz_hostfile.c tests/fuzz/replay.c
tests_fuzz_fuzz_hostfile_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_hostlist_SOURCES = tests/fuzz/fuzz_hostlist.c tests/fuzz/replay.c
tests_fuzz_fuzz_hostlist_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_gang_SOURCES = tests/fuzz/fuzz_gang.c tests/fuzz/replay.c
tests_fuzz_fuzz_gang_LDADD = libhbbin.a libhb.a -ldl
EXTRA_DIST += tests/fuzz/corpus/hostfile tests/fuzz/corpus/hostlist \
    tests/fuzz/corpus/gang tests/fuzz/corpus/gangjson \
    tests/data/gang tests/fakes/kubeapi.py tests/fuzz/corpus/k8s \
    tests/cli/kubernetes.bats
FUZZ_EXTRA_k8s = $(top_srcdir)/%D%/k8s_cut.c $(top_srcdir)/%D%/k8s_json.c \
    $(top_srcdir)/%D%/k8s_thing.c \
    $(JANSSON_CFLAGS) $(JANSSON_LIBS)

if HAVE_CMOCKA
hostfile_tests = tests/unit/test_hostfile tests/unit/test_hostfile_forms \
    tests/unit/test_range \
    tests/unit/test_gang tests/unit/test_gang_pods tests/unit/test_gang_alone \
    tests/unit/test_gang_batch tests/unit/test_gang_node \
    tests/unit/test_gang_select tests/unit/test_gang_volcano
check_PROGRAMS += $(hostfile_tests)
TESTS += $(hostfile_tests)
tests_unit_test_hostfile_SOURCES = tests/unit/test_hostfile.c
tests_unit_test_hostfile_LDADD = $(UNIT_LDADD)
tests_unit_test_hostfile_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_hostfile_forms_SOURCES = tests/unit/test_hostfile_forms.c
tests_unit_test_hostfile_forms_LDADD = $(UNIT_LDADD)
tests_unit_test_hostfile_forms_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_range_SOURCES = tests/unit/test_range.c
tests_unit_test_range_LDADD = $(UNIT_LDADD)
tests_unit_test_range_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_SOURCES = tests/unit/test_gang.c tests/unit/tree.h
tests_unit_test_gang_LDADD = $(UNIT_LDADD)
tests_unit_test_gang_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_pods_SOURCES = tests/unit/test_gang_pods.c \
    tests/unit/gang_pod.h
tests_unit_test_gang_pods_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_pods_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_pods_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_pods_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_gang_volcano_SOURCES = \
    tests/unit/test_gang_volcano.c tests/unit/tree.h \
    tests/unit/gang_pod.h
tests_unit_test_gang_volcano_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_volcano_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_volcano_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_volcano_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_gang_alone_SOURCES = tests/unit/test_gang_alone.c tests/unit/gang_pod.h
tests_unit_test_gang_alone_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_alone_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_alone_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_alone_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_gang_node_SOURCES = tests/unit/test_gang_node.c tests/unit/tree.h \
    tests/unit/gang_pod.h tests/unit/podtoken.h
tests_unit_test_gang_node_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_node_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_node_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_node_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_gang_select_SOURCES = tests/unit/test_gang_select.c \
    tests/unit/tree.h tests/unit/gang_pod.h
tests_unit_test_gang_select_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_select_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_select_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_select_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_gang_batch_SOURCES = tests/unit/test_gang_batch.c tests/unit/tree.h \
    tests/unit/gang_pod.h
tests_unit_test_gang_batch_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_batch_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_gang_batch_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_gang_batch_DEPENDENCIES = libhb.a libhbbin.a
if HAVE_KUBERNETES
kubernetes_tests = tests/unit/test_k8s_api tests/unit/test_k8s_gang \
    tests/unit/test_k8s_follow tests/unit/test_k8s_reason \
    tests/unit/test_k8s_pause tests/unit/test_k8s_lives
check_PROGRAMS += $(kubernetes_tests)
TESTS += $(kubernetes_tests)
# They answer as an API server does.
k8s_lab = tests/unit/tree.h tests/unit/gang_pod.h tests/unit/kubeapi.h
tests_unit_test_k8s_api_SOURCES = tests/unit/test_k8s_api.c $(k8s_lab)
tests_unit_test_k8s_api_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_k8s_api_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_k8s_api_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_k8s_api_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_k8s_gang_SOURCES = tests/unit/test_k8s_gang.c tests/unit/podtoken.h \
    tests/unit/kubepods.h $(k8s_lab)
tests_unit_test_k8s_gang_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_k8s_gang_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_k8s_gang_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_k8s_gang_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_k8s_follow_SOURCES = tests/unit/test_k8s_follow.c \
    tests/unit/kubepods.h $(k8s_lab)
tests_unit_test_k8s_follow_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_k8s_follow_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_k8s_follow_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_k8s_follow_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_k8s_lives_SOURCES = tests/unit/test_k8s_lives.c \
    tests/unit/kubepods.h $(k8s_lab)
tests_unit_test_k8s_lives_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_k8s_lives_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_k8s_lives_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_k8s_lives_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_k8s_reason_SOURCES = tests/unit/test_k8s_reason.c \
    tests/unit/kubepods.h $(k8s_lab)
tests_unit_test_k8s_reason_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_k8s_reason_LDFLAGS = $(PROGRAM_LINK)
tests_unit_test_k8s_reason_LDADD = $(PROGRAM_LDADD) $(CMOCKA_LIBS)
EXTRA_tests_unit_test_k8s_reason_DEPENDENCIES = libhb.a libhbbin.a
tests_unit_test_k8s_pause_SOURCES = tests/unit/test_k8s_pause.c \
    %D%/k8s_cut.c %D%/k8s_json.c %D%/k8s_thing.c
tests_unit_test_k8s_pause_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(JANSSON_CFLAGS)
tests_unit_test_k8s_pause_LDADD = libhbbin.a libhb.a $(CMOCKA_LIBS) \
    $(JANSSON_LIBS)
endif
endif
