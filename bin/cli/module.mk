# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/apply.c \
    %D%/completion.c %D%/completion.h %D%/completion_fish.c \
    %D%/conf.c %D%/conf.h \
    %D%/drawing.c %D%/drawing.h \
    %D%/files.c \
    %D%/fold.c %D%/fold.h \
    %D%/help.c \
    %D%/hydra.c \
    %D%/logsink.c %D%/logsink.h \
    %D%/mca.c %D%/mca.def \
    %D%/optdef.h \
    %D%/options.c %D%/options.h \
    %D%/opts.c %D%/opts.def \
    %D%/output.c %D%/output.h \
    %D%/own_output.c %D%/own_output.h \
    %D%/progress.c %D%/progress.h \
    %D%/rankfiles.c %D%/rankfiles.h \
    %D%/scan.c \
    %D%/settings.c \
    %D%/setters.c \
    %D%/setters_env.c \
    %D%/setters_io.c \
    %D%/setters_start.c \
    %D%/sink.c %D%/sink.h \
    %D%/srun.c \
    %D%/retype.c %D%/table.c %D%/table.h \
    %D%/variables.c

if HAVE_CAIRO
pkglib_LTLIBRARIES += hb_cairo.la
hb_cairo_la_SOURCES = %D%/cairo.c %D%/drawing.h
hb_cairo_la_CPPFLAGS = $(AM_CPPFLAGS) $(CAIRO_CFLAGS)
hb_cairo_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_cairo_la_LIBADD = $(CAIRO_LIBS)
endif

check_PROGRAMS += %D%/optdump
bin_cli_optdump_SOURCES = %D%/optdump.c
bin_cli_optdump_LDADD = libhbbin.a libhb.a

TESTS += tests/lint/options.sh tests/lint/protocol.sh
EXTRA_DIST += tests/lint/options.sh tests/lint/protocol.sh

cli_fuzz = tests/fuzz/fuzz_cli tests/fuzz/fuzz_conf tests/fuzz/fuzz_fold \
    tests/fuzz/fuzz_tune
check_PROGRAMS += $(cli_fuzz)
TESTS += $(cli_fuzz)
EXTRA_DIST += tests/fuzz/corpus/cli tests/fuzz/corpus/conf \
    tests/fuzz/corpus/fold tests/fuzz/corpus/tune
tests_fuzz_fuzz_cli_SOURCES = tests/fuzz/fuzz_cli.c tests/fuzz/replay.c
tests_fuzz_fuzz_cli_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c tests/fuzz/replay.c
tests_fuzz_fuzz_conf_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_fold_SOURCES = tests/fuzz/fuzz_fold.c tests/fuzz/replay.c
tests_fuzz_fuzz_fold_LDADD = libhbbin.a libhb.a
tests_fuzz_fuzz_tune_SOURCES = tests/fuzz/fuzz_tune.c tests/fuzz/replay.c
tests_fuzz_fuzz_tune_LDADD = libhbbin.a libhb.a

if HAVE_CMOCKA
cli_tests = tests/unit/test_cli_options tests/unit/test_cli_sources \
    tests/unit/test_cli_dialects tests/unit/test_cli_output \
    tests/unit/test_cli_screen
check_PROGRAMS += $(cli_tests)
TESTS += $(cli_tests)
tests_unit_test_cli_options_SOURCES = tests/unit/test_cli_options.c \
    tests/unit/cli_parse.h
tests_unit_test_cli_options_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_options_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cli_sources_SOURCES = tests/unit/test_cli_sources.c \
    tests/unit/cli_parse.h
tests_unit_test_cli_sources_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_sources_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cli_dialects_SOURCES = tests/unit/test_cli_dialects.c \
    tests/unit/cli_parse.h
tests_unit_test_cli_dialects_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_dialects_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cli_output_SOURCES = tests/unit/test_cli_output.c
tests_unit_test_cli_output_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_output_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cli_screen_SOURCES = tests/unit/test_cli_screen.c
tests_unit_test_cli_screen_LDADD = $(UNIT_LDADD)
tests_unit_test_cli_screen_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
endif
