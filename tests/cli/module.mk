# SPDX-License-Identifier: BSD-3-Clause
CLI_BATS = %D%/exit.bats %D%/words.bats %D%/environment.bats %D%/stdio.bats \
    %D%/leftovers.bats %D%/hostfile.bats %D%/keys.bats %D%/preload.bats \
    %D%/noproc.bats %D%/familiar.bats %D%/family.bats %D%/samples.bats \
    %D%/place.bats %D%/report.bats %D%/fabric.bats %D%/restart.bats \
    %D%/framework.bats %D%/wrapped.bats %D%/api.bats %D%/apifaults.bats %D%/install.bats %D%/perf.bats %D%/stuck.bats %D%/ps.bats %D%/manifest.bats %D%/explain.bats %D%/pages.bats \
    %D%/sshconfig.bats %D%/comes.bats
TESTS += $(CLI_BATS)
EXTRA_DIST += $(CLI_BATS) tests/fakes/flood.c tests/fakes/refuse.c tests/fakes/bytes.c \
    tests/fakes/pmi_fence.c tests/fakes/noptrace.c tests/fakes/no_memory.c tests/fakes/no_watch.c tests/fakes/segment.c tests/fakes/gpudriver.c \
    tests/fakes/ucxmove.c \
    tests/fakes/closes_fds.sh tests/fakes/slow_exit.c tests/fakes/nofork.c tests/fakes/background.py \
    tests/fakes/own_sockets.c tests/fakes/late_filter.c tests/fakes/late_reader.c \
    tests/fakes/lossy_link.py tests/fakes/slow_link.py tests/fakes/greedy_link.py tests/fakes/early_link.py %D%/apifortran.f90 \
    tests/fakes/sshconfigs.py tests/fakes/no_event.c tests/fakes/terminal.py

check_PROGRAMS += tests/cli/sshsays
tests_cli_sshsays_SOURCES = tests/cli/sshsays.c bin/boot/ssh_settings.c \
    bin/boot/ssh_conf.c bin/boot/ssh_known.c
tests_cli_sshsays_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS)
tests_cli_sshsays_LDADD = libhbbin.a libhb.a $(EVENT_LIBS)

check_PROGRAMS += tests/cli/apiprobe
tests_cli_apiprobe_SOURCES = tests/cli/apiprobe.c tests/cli/apitest.h
tests_cli_apiprobe_LDADD = libhpcboot.la
tests_cli_apiprobe_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apinet
tests_cli_apinet_SOURCES = tests/cli/apinet.c tests/cli/apitest.h
tests_cli_apinet_LDADD = libhpcboot.la
tests_cli_apinet_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apistorm
tests_cli_apistorm_SOURCES = tests/cli/apistorm.c tests/cli/apitest.h
tests_cli_apistorm_LDADD = libhpcboot.la
tests_cli_apistorm_LDFLAGS = $(AM_LDFLAGS) -no-install

check_PROGRAMS += tests/cli/apilost
tests_cli_apilost_SOURCES = tests/cli/apilost.c tests/cli/apitest.h
tests_cli_apilost_LDADD = libhpcboot.la
tests_cli_apilost_LDFLAGS = $(AM_LDFLAGS) -no-install

check_PROGRAMS += tests/cli/apidevice
tests_cli_apidevice_SOURCES = tests/cli/apidevice.c
tests_cli_apidevice_LDADD = libhpcboot.la -ldl
tests_cli_apidevice_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apigpu
tests_cli_apigpu_SOURCES = tests/cli/apigpu.c tests/cli/apitest.h
tests_cli_apigpu_LDADD = libhpcboot.la -ldl
tests_cli_apigpu_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apigpukinds
tests_cli_apigpukinds_SOURCES = tests/cli/apigpukinds.c tests/cli/apitest.h
tests_cli_apigpukinds_LDADD = libhpcboot.la -ldl
tests_cli_apigpukinds_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apiwith
tests_cli_apiwith_SOURCES = tests/cli/apiwith.c tests/cli/apitest.h
tests_cli_apiwith_LDADD = libhpcboot.la
tests_cli_apiwith_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apilaunched
tests_cli_apilaunched_SOURCES = tests/cli/apilaunched.c tests/cli/apitest.h
tests_cli_apilaunched_LDADD = libhpcboot.la
tests_cli_apilaunched_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apihungry
tests_cli_apihungry_SOURCES = tests/cli/apihungry.c tests/cli/apitest.h
tests_cli_apihungry_LDADD = libhpcboot.la
tests_cli_apihungry_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apimix
tests_cli_apimix_SOURCES = tests/cli/apimix.c tests/cli/apitest.h
tests_cli_apimix_LDADD = libhpcboot.la
tests_cli_apimix_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apithreads
tests_cli_apithreads_SOURCES = tests/cli/apithreads.c tests/cli/apitest.h
tests_cli_apithreads_LDADD = libhpcboot.la -lpthread
tests_cli_apithreads_LDFLAGS = $(AM_LDFLAGS) -no-install

check_PROGRAMS += tests/cli/mismatch
tests_cli_mismatch_SOURCES = tests/cli/mismatch.c
tests_cli_mismatch_LDADD = libhpcboot.la
tests_cli_mismatch_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/stuckprobe
tests_cli_stuckprobe_SOURCES = tests/cli/stuckprobe.c
tests_cli_stuckprobe_LDADD = libhpcboot.la
tests_cli_stuckprobe_LDFLAGS = $(AM_LDFLAGS) -no-install
check_PROGRAMS += tests/cli/apimisuse
tests_cli_apimisuse_SOURCES = tests/cli/apimisuse.c
tests_cli_apimisuse_LDADD = libhpcboot.la
tests_cli_apimisuse_LDFLAGS = $(AM_LDFLAGS) -no-install
