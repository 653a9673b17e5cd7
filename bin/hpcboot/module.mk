# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += hpcboot
hpcboot_SOURCES = %D%/main.c %D%/command.h %D%/args.c %D%/args.h \
    %D%/completion.c %D%/result.c %D%/result.h %D%/settings.c \
    %D%/hostfile.c %D%/keycheck.c %D%/keycheck.h %D%/keys.c %D%/topo.c %D%/topo_view.c %D%/topo_view.h \
    %D%/perf.c %D%/perf.h %D%/perf_loop.c %D%/perf_loop.h %D%/perf_plan.c \
    %D%/manifest.c %D%/manifest.h %D%/manifest_kinds.c \
    %D%/kubename.c %D%/kubename.h \
    %D%/clean.c %D%/clean.h \
    %D%/everywhere.c %D%/everywhere.h %D%/ranks_here.c %D%/ranks_here.h \
    %D%/ps.c %D%/ps.h %D%/ps_host.c %D%/ps_list.c \
    %D%/perf_rank.c %D%/perf_view.c %D%/stuck.c %D%/stuck.h %D%/stuck_host.c %D%/stuck_list.c \
    %D%/run_hbrun.c %D%/run_hbrun.h %D%/wait.c %D%/doctor.c %D%/heatmap.c %D%/heatmap.h %D%/explain.c %D%/explain.h %D%/explain_net.c %D%/gang_args.c %D%/gang_args.h
hpcboot_LDFLAGS = $(PROGRAM_LINK)
hpcboot_LDADD = libhbapi.a $(PROGRAM_LDADD) -lpthread -lm
EXTRA_hpcboot_DEPENDENCIES = libhb.a libhbbin.a

check_PROGRAMS += tests/fuzz/fuzz_ranks
TESTS += tests/fuzz/fuzz_ranks
tests_fuzz_fuzz_ranks_SOURCES = tests/fuzz/fuzz_ranks.c %D%/ps_list.c \
    %D%/stuck_list.c %D%/clean.c tests/fuzz/replay.c
tests_fuzz_fuzz_ranks_LDADD = libhbbin.a libhb.a
FUZZ_EXTRA_ranks = $(top_srcdir)/%D%/ps_list.c $(top_srcdir)/%D%/stuck_list.c \
    $(top_srcdir)/%D%/clean.c
EXTRA_DIST += tests/fuzz/corpus/ranks

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_perf_loop
tests_unit_test_perf_loop_SOURCES = tests/unit/test_perf_loop.c %D%/perf_loop.c
tests_unit_test_perf_loop_LDADD = $(CMOCKA_LIBS)
tests_unit_test_perf_loop_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_perf_loop
check_PROGRAMS += tests/unit/test_perf_view
tests_unit_test_perf_view_SOURCES = tests/unit/test_perf_view.c \
    %D%/perf_view.c %D%/perf_loop.c %D%/result.c
tests_unit_test_perf_view_LDADD = $(UNIT_LDADD)
tests_unit_test_perf_view_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_perf_view
check_PROGRAMS += tests/unit/test_ps_list
tests_unit_test_ps_list_SOURCES = tests/unit/test_ps_list.c %D%/ps_list.c \
    %D%/clean.c
tests_unit_test_ps_list_LDADD = $(UNIT_LDADD)
tests_unit_test_ps_list_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_ps_list
endif
