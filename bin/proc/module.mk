# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/below.c %D%/below.h \
    %D%/cgroup.c %D%/cgroup.h \
    %D%/deposit.c %D%/deposit.h \
    %D%/env.c %D%/env.h \
    %D%/env_names.c %D%/env_names.h \
    %D%/env_read.c \
    %D%/explain.c \
    %D%/filters.c %D%/filters.h \
    %D%/first.c %D%/first.h \
    %D%/former.c %D%/former.h \
    %D%/guard.c %D%/guard.h \
    %D%/known.c %D%/known.h \
    %D%/limits.c %D%/limits.h \
    %D%/lines.c %D%/lines.h \
    %D%/proc.c %D%/proc.h \
    %D%/procfs.c %D%/procfs.h \
    %D%/search.c %D%/search.h \
    %D%/segments.c %D%/segments.h \
    %D%/stage.c %D%/stage.h \
    %D%/stale.c %D%/stale.h \
    %D%/sweep.c \
    %D%/termlog.c %D%/termlog.h

proc_fuzz = \
    tests/fuzz/fuzz_cgroup \
    tests/fuzz/fuzz_env \
    tests/fuzz/fuzz_envfile \
    tests/fuzz/fuzz_limits \
    tests/fuzz/fuzz_lines \
    tests/fuzz/fuzz_owner \
    tests/fuzz/fuzz_procstat
check_PROGRAMS += $(proc_fuzz)
TESTS += $(proc_fuzz)
tests_fuzz_fuzz_cgroup_SOURCES = tests/fuzz/fuzz_cgroup.c tests/fuzz/replay.c
tests_fuzz_fuzz_cgroup_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_env_SOURCES = tests/fuzz/fuzz_env.c tests/fuzz/replay.c
tests_fuzz_fuzz_env_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_envfile_SOURCES = tests/fuzz/fuzz_envfile.c tests/fuzz/replay.c
tests_fuzz_fuzz_envfile_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_limits_SOURCES = tests/fuzz/fuzz_limits.c tests/fuzz/replay.c
tests_fuzz_fuzz_limits_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_lines_SOURCES = tests/fuzz/fuzz_lines.c tests/fuzz/replay.c
tests_fuzz_fuzz_lines_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_owner_SOURCES = tests/fuzz/fuzz_owner.c tests/fuzz/replay.c
tests_fuzz_fuzz_owner_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_procstat_SOURCES = tests/fuzz/fuzz_procstat.c tests/fuzz/replay.c
tests_fuzz_fuzz_procstat_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/data/cgroup \
    tests/fuzz/corpus/cgroup \
    tests/fuzz/corpus/env \
    tests/fuzz/corpus/envfile \
    tests/fuzz/corpus/limits \
    tests/fuzz/corpus/lines \
    tests/fuzz/corpus/owner \
    tests/fuzz/corpus/procstat

if HAVE_CMOCKA
proc_tests = \
    tests/unit/test_proc_cgroup \
    tests/unit/test_proc_deposit \
    tests/unit/test_proc_env \
    tests/unit/test_proc_explain \
    tests/unit/test_proc_former \
    tests/unit/test_proc_guard \
    tests/unit/test_proc_limits \
    tests/unit/test_proc_lines \
    tests/unit/test_proc_segments \
    tests/unit/test_proc_spawn \
    tests/unit/test_proc_stage \
    tests/unit/test_proc_sweep
check_PROGRAMS += $(proc_tests)
TESTS += $(proc_tests)
tests_unit_test_proc_cgroup_SOURCES = tests/unit/test_proc_cgroup.c
tests_unit_test_proc_cgroup_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_cgroup_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -DHB_TESTS_TOP='"$(abs_top_srcdir)"'
tests_unit_test_proc_deposit_SOURCES = tests/unit/test_proc_deposit.c
tests_unit_test_proc_deposit_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_deposit_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_env_SOURCES = tests/unit/test_proc_env.c
tests_unit_test_proc_env_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_env_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_explain_SOURCES = tests/unit/test_proc_explain.c \
    tests/unit/proc_run.c tests/unit/proc_run.h
tests_unit_test_proc_explain_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_explain_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_guard_SOURCES = tests/unit/test_proc_guard.c \
    tests/unit/proc_world.c tests/unit/proc_world.h
tests_unit_test_proc_guard_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_guard_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_limits_SOURCES = tests/unit/test_proc_limits.c
tests_unit_test_proc_limits_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_limits_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_lines_SOURCES = tests/unit/test_proc_lines.c
tests_unit_test_proc_lines_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_lines_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_former_SOURCES = tests/unit/test_proc_former.c
tests_unit_test_proc_former_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_former_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_segments_SOURCES = tests/unit/test_proc_segments.c
tests_unit_test_proc_segments_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_segments_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_spawn_SOURCES = tests/unit/test_proc_spawn.c \
    tests/unit/proc_run.c tests/unit/proc_run.h
tests_unit_test_proc_spawn_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_spawn_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_stage_SOURCES = tests/unit/test_proc_stage.c
tests_unit_test_proc_stage_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_stage_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_sweep_SOURCES = tests/unit/test_proc_sweep.c \
    tests/unit/proc_world.c tests/unit/proc_world.h
tests_unit_test_proc_sweep_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_sweep_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
