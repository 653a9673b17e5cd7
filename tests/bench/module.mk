# SPDX-License-Identifier: BSD-3-Clause
# make bench: hbrun beside the launchers that are installed, and how long large
# gangs take to be found. BENCH_FLAGS goes to the first harness, e.g.
# BENCH_FLAGS='--rounds 11 --only true'; make bench-gather runs the second,
# make bench-kubernetes what lists pods by the API, and make bench-waiting what
# waiting for a gang that is ready costs; make bench-serve starts over pods with
# hpcbootd serve beside mpirun over sshd; make bench-place: placement; make
# bench-frameworks: the first line of Python, and a Ray cluster, e.g. with
# BENCH_FRAMEWORKS='--only ray'.
EXTRA_DIST += %D%/bench.py %D%/frameworks.py %D%/gather.py %D%/place.py %D%/serve.py %D%/tree.py \
    %D%/waiting.py
.PHONY: bench bench-frameworks bench-gather bench-serve bench-tree bench-waiting
bench-frameworks: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/frameworks.py $(BENCH_FRAMEWORKS)
bench-tree: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/tree.py $(BENCH_FLAGS)
bench-serve: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/serve.py $(BENCH_FLAGS)
bench: all bench-gather bench-init bench-collectives bench-frameworks
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    CC='$(CC)' python3 $(top_srcdir)/tests/bench/bench.py $(BENCH_FLAGS)
bench-gather: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/gather.py
bench-waiting: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/waiting.py $(BENCH_FLAGS)

EXTRA_DIST += %D%/kubernetes.py %D%/k8slist.c
.PHONY: bench-kubernetes
if HAVE_KUBERNETES
EXTRA_PROGRAMS += tests/bench/k8slist
tests_bench_k8slist_SOURCES = %D%/k8slist.c
tests_bench_k8slist_LDFLAGS = $(PROGRAM_LINK)
tests_bench_k8slist_LDADD = $(PROGRAM_LDADD)
EXTRA_tests_bench_k8slist_DEPENDENCIES = libhb.a libhbbin.a
bench-kubernetes: all tests/bench/k8slist
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/kubernetes.py $(BENCH_FLAGS)
endif
.PHONY: bench-place
bench-place: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/place.py

# make bench-collectives: libhpcboot beside the MPIs that are installed, on this
# host and between pods, about six minutes; BENCH_COLLECTIVES=--long is all rows
# of all layouts, for hours. make bench-init: hpcboot_init beside MPI_Init, and
# memory. make bench-choice: what each choice of the model costs on this host,
# e.g. with BENCH_CHOICE='--colls scan --all'. collperf is the loop for lib/coll
# alone, for tuning it.
EXTRA_DIST += %D%/ranks.py %D%/choice.py %D%/collectives.py %D%/mpiperf.c \
    %D%/init.py %D%/distance.c
EXTRA_PROGRAMS += tests/bench/collperf tests/bench/initperf
tests_bench_collperf_SOURCES = %D%/collperf.c
tests_bench_collperf_LDADD = libhb.a -lpthread
tests_bench_initperf_SOURCES = %D%/initperf.c
tests_bench_initperf_LDADD = libhpcboot.la
tests_bench_initperf_LDFLAGS = $(AM_LDFLAGS) -no-install
.PHONY: bench-choice bench-collectives bench-init
bench-choice: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/choice.py $(BENCH_CHOICE)
bench-collectives: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/collectives.py $(BENCH_COLLECTIVES)
bench-init: all tests/bench/initperf
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/init.py $(BENCH_INIT)

# make bench-fence: fences of 256 agents. In one process, which is what links,
# frames and engines cost; and of real agents on this machine, each with a rank
# that speaks PMI-1 (--launch-with fork), where 512 processes wake up in turn.
EXTRA_PROGRAMS += tests/bench/fence
tests_bench_fence_SOURCES = %D%/fence.c
tests_bench_fence_LDFLAGS = $(PROGRAM_LDFLAGS)
tests_bench_fence_LDADD = $(PROGRAM_LDADD)
EXTRA_tests_bench_fence_DEPENDENCIES = libhb.a libhbbin.a
.PHONY: bench-fence
bench-fence: all tests/bench/fence
	tests/bench/fence 256 0 1000
	tests/bench/fence 256 64 300
	tests/bench/fence 256 64 300 16
	$(CC) -O2 -o tests/bench/pmi_fence $(top_srcdir)/tests/fakes/pmi_fence.c
	./hbrun --launch-with fork --pmi pmi1 \
	    -H $$(seq -s, -f h%g 256) tests/bench/pmi_fence 300 0
CLEANFILES += tests/bench/pmi_fence
