# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/cgroup.c %D%/cgroup.h \
    %D%/env.c %D%/env.h \
    %D%/env_names.c %D%/env_names.h \
    %D%/env_read.c \
    %D%/explain.c \
    %D%/guard.c %D%/guard.h \
    %D%/limits.c %D%/limits.h \
    %D%/lines.c %D%/lines.h \
    %D%/proc.c %D%/proc.h \
    %D%/procfs.c %D%/procfs.h \
    %D%/search.c %D%/search.h \
    %D%/stage.c %D%/stage.h \
    %D%/sweep.c

if HAVE_CMOCKA
proc_tests = \
    tests/unit/test_proc_env \
    tests/unit/test_proc_guard \
    tests/unit/test_proc_lines \
    tests/unit/test_proc_spawn
check_PROGRAMS += $(proc_tests)
TESTS += $(proc_tests)
tests_unit_test_proc_env_SOURCES = tests/unit/test_proc_env.c
tests_unit_test_proc_env_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_env_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_guard_SOURCES = tests/unit/test_proc_guard.c
tests_unit_test_proc_guard_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_guard_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_lines_SOURCES = tests/unit/test_proc_lines.c
tests_unit_test_proc_lines_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_lines_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proc_spawn_SOURCES = tests/unit/test_proc_spawn.c
tests_unit_test_proc_spawn_LDADD = $(UNIT_LDADD)
tests_unit_test_proc_spawn_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
