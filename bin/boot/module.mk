# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += \
    %D%/agent_keys.c %D%/agent_keys.h \
    %D%/boot.c %D%/boot.h %D%/boot_impl.h \
    %D%/child.c %D%/child.h \
    %D%/fds.c %D%/fds.h \
    %D%/fork.c \
    %D%/relay.c %D%/relay.h \
    %D%/remote.c %D%/remote.h \
    %D%/serve_limit.c %D%/serve_limit.h \
    %D%/serve_line.c %D%/serve_line.h \
    %D%/template.c %D%/template.h

EXTRA_DIST += tests/pods/boot.bats tests/pods/srun.bats \
    tests/fakes/silent_agent.pl
if HAVE_LIBSSH
pkglib_LTLIBRARIES += hb_ssh.la
hb_ssh_la_SOURCES = \
    %D%/dial.c %D%/dial.h \
    %D%/resolve.c %D%/resolve.h \
    %D%/thread.c %D%/thread.h \
    %D%/serve.c %D%/serve.h %D%/serve_impl.h \
    %D%/serve_agent.c %D%/serve_jobs.c %D%/serve_jobs.h %D%/serve_keys.c \
    %D%/serve_session.c \
    %D%/ssh_advice.c %D%/ssh_advice.h \
    %D%/ssh_agent.c %D%/ssh_agent.h \
    %D%/ssh_auth.c %D%/ssh_auth.h \
    %D%/ssh_channel.c %D%/ssh_channel.h \
    %D%/ssh_conf.c %D%/ssh_conf.h \
    %D%/ssh_connect.c \
    %D%/ssh_exit.c %D%/ssh_exit.h \
    %D%/ssh_gang.c %D%/ssh_gang.h \
    %D%/keys.h %D%/ssh_keys.c %D%/ssh_keys.h \
    %D%/ssh_known.c %D%/ssh_known.h \
    %D%/ssh_meter.c %D%/ssh_meter.h \
    %D%/ssh_proxy.c %D%/ssh_proxy.h \
    %D%/ssh_settings.c %D%/ssh_settings.h \
    %D%/ssh_steps.c \
    %D%/ssh_trust.c %D%/ssh_trust.h \
    %D%/ssh_way.c %D%/ssh_way.h \
    %D%/ssh_words.c %D%/ssh_words.h \
    lib/trust/derive.c lib/trust/derive.h \
    lib/trust/hash.c lib/trust/hash.h
hb_ssh_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBSSH_CFLAGS) $(CRYPTO_CFLAGS)
hb_ssh_la_LDFLAGS = $(MODULE_LDFLAGS)
hb_ssh_la_LIBADD = $(LIBSSH_LIBS) $(CRYPTO_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_boot_dial tests/unit/test_boot_jobs
TESTS += tests/unit/test_boot_dial tests/unit/test_boot_jobs
tests_unit_test_boot_dial_SOURCES = tests/unit/test_boot_dial.c %D%/dial.c
tests_unit_test_boot_dial_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_boot_dial_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_jobs_SOURCES = tests/unit/test_boot_jobs.c \
    %D%/serve_jobs.c lib/trust/derive.c
tests_unit_test_boot_jobs_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(CRYPTO_CFLAGS)
tests_unit_test_boot_jobs_LDADD = $(UNIT_LDADD) $(CRYPTO_LIBS)
check_PROGRAMS += tests/unit/test_boot_trust
TESTS += tests/unit/test_boot_trust
tests_unit_test_boot_trust_SOURCES = tests/unit/test_boot_trust.c \
    %D%/ssh_trust.c %D%/ssh_known.c lib/trust/hash.c
tests_unit_test_boot_trust_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(LIBSSH_CFLAGS) $(CRYPTO_CFLAGS)
tests_unit_test_boot_trust_LDADD = $(UNIT_LDADD) $(LIBSSH_LIBS) $(CRYPTO_LIBS)
endif
check_PROGRAMS += tests/pods/bootdrive
tests_pods_bootdrive_SOURCES = tests/pods/bootdrive.c
tests_pods_bootdrive_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS)
tests_pods_bootdrive_LDFLAGS = $(PROGRAM_LINK)
tests_pods_bootdrive_LDADD = $(PROGRAM_LDADD)
EXTRA_tests_pods_bootdrive_DEPENDENCIES = libhb.a libhbbin.a
TESTS += tests/pods/boot.bats tests/pods/srun.bats
endif

boot_fuzz = tests/fuzz/fuzz_agentkeys tests/fuzz/fuzz_template \
    tests/fuzz/fuzz_serveline
check_PROGRAMS += $(boot_fuzz)
TESTS += $(boot_fuzz)
tests_fuzz_fuzz_agentkeys_SOURCES = tests/fuzz/fuzz_agentkeys.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_agentkeys_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)
tests_fuzz_fuzz_serveline_SOURCES = tests/fuzz/fuzz_serveline.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_serveline_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)
tests_fuzz_fuzz_template_SOURCES = tests/fuzz/fuzz_template.c \
    tests/fuzz/replay.c
tests_fuzz_fuzz_template_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)
EXTRA_DIST += tests/fuzz/corpus/agentkeys tests/fuzz/corpus/template \
    tests/fuzz/corpus/serveline

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_boot_template tests/unit/test_boot_child \
    tests/unit/test_boot_serve
tests_unit_test_boot_serve_SOURCES = tests/unit/test_boot_serve.c
tests_unit_test_boot_serve_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_serve_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_boot_template_SOURCES = tests/unit/test_boot_template.c
tests_unit_test_boot_template_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_template_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_boot_child_SOURCES = tests/unit/test_boot_child.c
tests_unit_test_boot_child_LDADD = $(UNIT_LDADD)
tests_unit_test_boot_child_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
TESTS += tests/unit/test_boot_template tests/unit/test_boot_child \
    tests/unit/test_boot_serve
endif
