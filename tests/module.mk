# SPDX-License-Identifier: BSD-3-Clause
# How tests run, whatever kind they are of: each program of TESTS goes through
# tests/driver, which counts single tests (TAP of cmocka and bats) or, without
# TAP, the exit status.
TEST_EXTENSIONS = .bats .sh
LOG_DRIVER = $(top_srcdir)/tests/driver
BATS_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = bash
if HAVE_BATS
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap --print-output-on-failure
else
BATS_LOG_COMPILER = sh -c 'echo "bats is not installed"; exit 77'
endif
AM_TESTS_ENVIRONMENT = \
    CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
    HB_SRCDIR='$(abs_top_srcdir)'; export HB_SRCDIR; \
    HB_BUILDDIR='$(abs_top_builddir)'; export HB_BUILDDIR; \
    CC='$(CC)'; export CC; \
    SSHD='$(SSHD)'; export SSHD; \
    FORTRAN='$(FORTRAN)'; export FORTRAN; \
    MPICC_OPENMPI='$(MPICC_OPENMPI)'; export MPICC_OPENMPI; \
    MPICC_MPICH='$(MPICC_MPICH)'; export MPICC_MPICH;

EXTRA_DIST += %D%/driver %D%/common.bash %D%/coverage.sh %D%/packages.sh \
    quickstart README.md ARCHITECTURE.md SECURITY.md examples/hello_mpi.c \
    examples/stencil.c examples/mpi_mix.c examples/first.c \
    examples/pi.f90

# In EXTRA_DIST its name would be that of the target that runs all tests.
dist-hook:
	cp -p '$(srcdir)/check' '$(distdir)/check'

# A goal that starts a make of its own for all of the tree, as `all` does for
# its generated headers, does not know what another goal of the same call is
# making: both would run ar on libhb.a, or write one log. So they go one after
# the other; each still has all the jobs for itself.
ALONE = all check install distcheck asan tsan coverage fuzz lint check-unit \
    check-cli check-pods check-peers check-rdma
$(if $(and $(filter $(ALONE),$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),\
    $(eval .NOTPARALLEL:))

UNIT_TESTS = $(filter tests/unit/% tests/fuzz/%,$(TESTS))
CLI_TESTS = $(filter tests/cli/%,$(TESTS))
POD_TESTS = $(filter tests/pods/%,$(TESTS))
PEER_TESTS = $(filter tests/peers/%,$(TESTS))
RDMA_TESTS = $(filter tests/rdma/%,$(TESTS))
LINT_TESTS = $(filter tests/lint/%,$(TESTS))

.PHONY: check-unit check-cli check-pods check-peers check-rdma lint
check-unit:
	$(MAKE) check TESTS='$(UNIT_TESTS)'
check-cli:
	$(MAKE) check TESTS='$(CLI_TESTS)'
check-pods:
	$(MAKE) check TESTS='$(POD_TESTS)'
check-peers:
	HB_PEERS=$${HB_PEERS:-yes} $(MAKE) check TESTS='$(PEER_TESTS)'
check-rdma:
	$(MAKE) check TESTS='$(RDMA_TESTS)'
lint:
	$(MAKE) check TESTS='$(LINT_TESTS)'

# Builds of the same tree with other flags, each in a folder of its own. The
# sanitized ones leave out what compiles with a peer's wrapper (its libraries
# leak) and what only reads sources.
SANITIZED_TESTS = $(UNIT_TESTS) $(CLI_TESTS) $(POD_TESTS)
.PHONY: asan tsan coverage fuzz fuzz-program
asan tsan:
	$(MKDIR_P) $@
	cd $@ && { test config.status -nt ../config.status || \
	    $(abs_top_srcdir)/configure -q --enable-$@ --enable-werror; }
	$(MAKE) -C $@ all
	$(MAKE) -C $@ check TESTS='$(SANITIZED_TESTS)'
coverage:
	$(MKDIR_P) $@
	cd $@ && { test config.status -nt ../config.status || \
	    $(abs_top_srcdir)/configure -q CFLAGS='-O0 -g --coverage'; }
	$(MAKE) -C $@ check TESTS='$(SANITIZED_TESTS)'
	cd $@ && $(SHELL) $(abs_top_srcdir)/tests/coverage.sh

# make fuzz FUZZ=pmi1 SECS=60: the harness tests/fuzz/fuzz_pmi1.c under
# libFuzzer. New inputs go to the build folder, a crash stays there too.
SECS = 60
FUZZ_CFLAGS = -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize-recover=undefined
fuzz:
	@test -f '$(top_srcdir)/tests/fuzz/fuzz_$(FUZZ).c' || { \
	    echo "make fuzz FUZZ=x SECS=60; x is one of:" \
	    `cd $(top_srcdir)/tests/fuzz && ls fuzz_*.c | \
	     sed 's/^fuzz_//; s/\.c$$//'`; exit 2; }
	$(MKDIR_P) $@/corpus/$(FUZZ)
	cd $@ && { test -f Makefile || $(abs_top_srcdir)/configure -q CC=clang \
	    CFLAGS='$(FUZZ_CFLAGS)'; }
	$(MAKE) -C $@ libhb.a libhbbin.a libhbapi.a
	$(MAKE) -C $@ fuzz-program FUZZ='$(FUZZ)'
	cd $@ && ./fuzz_$(FUZZ) -max_total_time=$(SECS) -print_final_stats=1 \
	    corpus/$(FUZZ) $(abs_top_srcdir)/tests/fuzz/corpus/$(FUZZ)
fuzz-program:
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) \
	    -fsanitize=fuzzer -o fuzz_$(FUZZ) \
	    $(top_srcdir)/tests/fuzz/fuzz_$(FUZZ).c $(FUZZ_EXTRA_$(FUZZ)) \
	    $(UNIT_LDADD)

clean-local:
	rm -rf asan tsan coverage fuzz peers
TESTS += %D%/cli/hostile.bats
EXTRA_DIST += %D%/cli/hostile.bats
include %D%/lint/module.mk
include %D%/cli/module.mk
include %D%/pods/module.mk
include %D%/peers/module.mk
include %D%/rdma/module.mk
