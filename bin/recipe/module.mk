# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/check.c \
    %D%/elastic.c %D%/elastic.h \
    %D%/expand.c %D%/expand_impl.h %D%/values.c \
    %D%/find.c \
    %D%/kvhttp.c %D%/kvhttp.h \
    %D%/launch.c %D%/launch.h \
    %D%/launch_impl.h %D%/launch_tools.c \
    %D%/lex.c \
    %D%/parse.c %D%/parse_impl.h %D%/parse_when.c \
    %D%/recipe.h %D%/recipe_impl.h \
    %D%/worker.c %D%/worker.h

recipe_fuzz = tests/fuzz/fuzz_recipe tests/fuzz/fuzz_kvhttp \
    tests/fuzz/fuzz_worker
check_PROGRAMS += $(recipe_fuzz)
TESTS += $(recipe_fuzz)
tests_fuzz_fuzz_worker_SOURCES = tests/fuzz/fuzz_worker.c tests/fuzz/replay.c
tests_fuzz_fuzz_worker_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_kvhttp_SOURCES = tests/fuzz/fuzz_kvhttp.c tests/fuzz/replay.c
tests_fuzz_fuzz_kvhttp_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_recipe_SOURCES = tests/fuzz/fuzz_recipe.c tests/fuzz/replay.c
tests_fuzz_fuzz_recipe_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/recipe tests/fuzz/corpus/kvhttp \
    tests/fuzz/corpus/worker

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_recipe
TESTS += tests/unit/test_recipe
tests_unit_test_recipe_SOURCES = tests/unit/test_recipe.c \
    tests/unit/recipe_job.c tests/unit/recipe_job.h
tests_unit_test_recipe_LDADD = $(UNIT_LDADD)
tests_unit_test_recipe_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
check_PROGRAMS += tests/unit/test_recipe_shipped
TESTS += tests/unit/test_recipe_shipped
tests_unit_test_recipe_shipped_SOURCES = tests/unit/test_recipe_shipped.c \
    tests/unit/recipe_job.c tests/unit/recipe_job.h
tests_unit_test_recipe_shipped_LDADD = $(UNIT_LDADD)
tests_unit_test_recipe_shipped_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -DHB_TESTS_TOP='"$(abs_top_srcdir)"'
check_PROGRAMS += tests/unit/test_recipe_launch
TESTS += tests/unit/test_recipe_launch
tests_unit_test_recipe_launch_SOURCES = tests/unit/test_recipe_launch.c
tests_unit_test_recipe_launch_LDADD = $(UNIT_LDADD)
tests_unit_test_recipe_launch_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
check_PROGRAMS += tests/unit/test_recipe_elastic
TESTS += tests/unit/test_recipe_elastic
tests_unit_test_recipe_elastic_SOURCES = tests/unit/test_recipe_elastic.c
tests_unit_test_recipe_elastic_LDADD = $(UNIT_LDADD)
tests_unit_test_recipe_elastic_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
check_PROGRAMS += tests/unit/test_recipe_worker
TESTS += tests/unit/test_recipe_worker
tests_unit_test_recipe_worker_SOURCES = tests/unit/test_recipe_worker.c
tests_unit_test_recipe_worker_LDADD = $(UNIT_LDADD)
tests_unit_test_recipe_worker_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
check_PROGRAMS += tests/unit/test_cli_fold
TESTS += tests/unit/test_cli_fold
tests_unit_test_cli_fold_SOURCES = tests/unit/test_cli_fold.c
tests_unit_test_cli_fold_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_fold_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
