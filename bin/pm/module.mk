# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/elf.c %D%/elf.h \
    %D%/family.c %D%/family.h \
    %D%/spawn.c %D%/spawn.h %D%/pmi_spawn.c \
    %D%/libpath.c %D%/libpath.h \
    %D%/mpi4py.c %D%/mpi4py.h \
    %D%/mpi_lib.c %D%/mpi_lib.h \
    %D%/personality.c \
    %D%/rankset.c %D%/rankset.h \
    %D%/shelltext.c %D%/shelltext.h \
    %D%/wrapper.c %D%/wrapper.h \
    %D%/pm.c %D%/pm.h %D%/servers.h \
    %D%/pmi.c %D%/pmi.h \
    %D%/pmi1.c \
    %D%/pmi2.c \
    %D%/pmi_barrier.c \
    %D%/pmi_store.c %D%/pmi_store.h \
    %D%/pmi_wire.c %D%/pmi_wire.h

if HAVE_PMIX
pkglib_LTLIBRARIES += hb_pmix.la
hb_pmix_la_SOURCES = %D%/pmix.c %D%/pmix_impl.h %D%/pmix_event.c %D%/pmix_fence.c \
    %D%/pmix_answer.c %D%/pmix_gate.c %D%/pmix_group.c \
    %D%/pmix_job.c %D%/pmix_join.c %D%/pmix_log.c %D%/pmix_name.c %D%/pmix_spawn.c \
    %D%/pmix_start.c %D%/pmix_upcall.c
hb_pmix_la_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
hb_pmix_la_LDFLAGS = $(MODULE_LDFLAGS) -export-symbols-regex '^hb_pmix_ops$$'
hb_pmix_la_LIBADD = $(PMIX_LIBS)
endif

pmi_lab = tests/unit/pmi_lab.c tests/unit/pmi_lab.h
check_PROGRAMS += tests/fuzz/fuzz_pmi1 tests/fuzz/fuzz_pmi2
TESTS += tests/fuzz/fuzz_pmi1 tests/fuzz/fuzz_pmi2
tests_fuzz_fuzz_pmi1_SOURCES = tests/fuzz/fuzz_pmi1.c tests/fuzz/replay.c
tests_fuzz_fuzz_pmi1_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_pmi2_SOURCES = tests/fuzz/fuzz_pmi2.c tests/fuzz/replay.c
tests_fuzz_fuzz_pmi2_LDADD = libhbbin.a libhb.a
check_PROGRAMS += tests/fuzz/fuzz_elf
TESTS += tests/fuzz/fuzz_elf
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c tests/fuzz/replay.c
tests_fuzz_fuzz_elf_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/elf
check_PROGRAMS += tests/fuzz/fuzz_shelltext
TESTS += tests/fuzz/fuzz_shelltext
tests_fuzz_fuzz_shelltext_SOURCES = tests/fuzz/fuzz_shelltext.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_shelltext_LDADD = libhbbin.a libhb.a
EXTRA_DIST += tests/fuzz/corpus/shelltext
EXTRA_DIST += tests/fuzz/corpus/pmi1 tests/fuzz/corpus/pmi2

if HAVE_CMOCKA
pm_tests = tests/unit/test_family tests/unit/test_family_wraps \
    tests/unit/test_personality \
    tests/unit/test_pmi1 tests/unit/test_pmi2 tests/unit/test_pmi_spawn
check_PROGRAMS += $(pm_tests)
TESTS += $(pm_tests)
tests_unit_test_family_SOURCES = tests/unit/test_family.c \
    tests/unit/family_lab.c tests/unit/family_lab.h
tests_unit_test_family_LDADD = $(UNIT_LDADD)
tests_unit_test_family_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_family_wraps_SOURCES = tests/unit/test_family_wraps.c \
    tests/unit/family_lab.c tests/unit/family_lab.h
tests_unit_test_family_wraps_LDADD = $(UNIT_LDADD)
tests_unit_test_family_wraps_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_personality_SOURCES = tests/unit/test_personality.c
tests_unit_test_personality_LDADD = $(UNIT_LDADD)
tests_unit_test_personality_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pmi1_SOURCES = tests/unit/test_pmi1.c $(pmi_lab)
tests_unit_test_pmi1_LDADD = $(UNIT_LDADD)
tests_unit_test_pmi1_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pmi2_SOURCES = tests/unit/test_pmi2.c $(pmi_lab)
tests_unit_test_pmi2_LDADD = $(UNIT_LDADD)
tests_unit_test_pmi2_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pmi_spawn_SOURCES = tests/unit/test_pmi_spawn.c $(pmi_lab)
tests_unit_test_pmi_spawn_LDADD = $(UNIT_LDADD)
tests_unit_test_pmi_spawn_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
if HAVE_PMIX
check_PROGRAMS += tests/unit/test_pmix_start
TESTS += tests/unit/test_pmix_start
tests_unit_test_pmix_start_SOURCES = tests/unit/test_pmix_start.c \
    %D%/pmix_start.c
tests_unit_test_pmix_start_LDADD = $(UNIT_LDADD)
tests_unit_test_pmix_start_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(PMIX_CFLAGS)
endif
endif

check_PROGRAMS += tests/peers/pmdrive
tests_peers_pmdrive_SOURCES = tests/peers/pmdrive.c tests/peers/pmdrive.h \
    tests/peers/pmdrive_node.c
tests_peers_pmdrive_LDFLAGS = $(PROGRAM_LINK)
tests_peers_pmdrive_LDADD = $(PROGRAM_LDADD)
EXTRA_tests_peers_pmdrive_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/peers/servers.bats
EXTRA_DIST += tests/peers/servers.bats tests/peers/mpihello.c \
    tests/peers/mpiabort.c tests/peers/pmi2probe.c

if HAVE_PMIX
check_PROGRAMS += tests/peers/pmixprobe
tests_peers_pmixprobe_SOURCES = tests/peers/pmixprobe.c
tests_peers_pmixprobe_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
tests_peers_pmixprobe_LDADD = $(PMIX_LIBS)
endif
