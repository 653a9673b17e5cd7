# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/hostfile.h %D%/gang.c %D%/gather.c %D%/filter.c \
    %D%/build.c %D%/build.h %D%/lines.c %D%/lines.h %D%/range.c %D%/range.h \
    %D%/hostname.c %D%/hostname.h %D%/self.c \
    %D%/dialect.c %D%/dialect.h %D%/dialect_openmpi.c %D%/dialect_hydra.c \
    %D%/dialect_list.c %D%/dialect_plain.c %D%/dialect_pbs.c \
    %D%/dialect_deepspeed.c %D%/dialect_slurm.c \
    %D%/source.c %D%/source.h %D%/source_list.c %D%/source_file.c \
    %D%/source_mpi_operator.c %D%/source_trainer.c %D%/source_default.c \
    %D%/source_local.c

hostfile_fuzzers = tests/fuzz/fuzz_hostfile tests/fuzz/fuzz_hostlist
check_PROGRAMS += $(hostfile_fuzzers)
TESTS += $(hostfile_fuzzers)
tests_fuzz_fuzz_hostfile_SOURCES = tests/fuzz/fuzz_hostfile.c tests/fuzz/replay.c
tests_fuzz_fuzz_hostfile_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_hostlist_SOURCES = tests/fuzz/fuzz_hostlist.c tests/fuzz/replay.c
tests_fuzz_fuzz_hostlist_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/hostfile tests/fuzz/corpus/hostlist \
    tests/data/gang

if HAVE_CMOCKA
hostfile_tests = tests/unit/test_hostfile tests/unit/test_range \
    tests/unit/test_gang
check_PROGRAMS += $(hostfile_tests)
TESTS += $(hostfile_tests)
tests_unit_test_hostfile_SOURCES = tests/unit/test_hostfile.c
tests_unit_test_hostfile_LDADD = $(UNIT_LDADD)
tests_unit_test_hostfile_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_range_SOURCES = tests/unit/test_range.c
tests_unit_test_range_LDADD = $(UNIT_LDADD)
tests_unit_test_range_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gang_SOURCES = tests/unit/test_gang.c tests/unit/tree.h
tests_unit_test_gang_LDADD = $(UNIT_LDADD)
tests_unit_test_gang_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
