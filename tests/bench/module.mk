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
bench: all bench-gather bench-collectives bench-frameworks
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
tests_bench_k8slist_LDFLAGS = $(PROGRAM_LDFLAGS)
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

# make bench-collectives: libhpcboot beside the MPIs that are installed, about
# five minutes; longer e.g. with BENCH_COLLECTIVES='--layouts 2,4,8 --rows all
# --seconds 3600'. collperf is the loop for lib/coll alone, for tuning it.
EXTRA_DIST += %D%/collectives.py %D%/mpiperf.c
EXTRA_PROGRAMS += tests/bench/collperf
tests_bench_collperf_SOURCES = %D%/collperf.c
tests_bench_collperf_LDADD = libhb.a -lpthread
EXTRA_PROGRAMS += tests/bench/collperf-api
tests_bench_collperf_api_SOURCES = %D%/collperf.c
tests_bench_collperf_api_CPPFLAGS = $(AM_CPPFLAGS) -DCOLLPERF_API
tests_bench_collperf_api_LDADD = libhpcboot.la
tests_bench_collperf_api_LDFLAGS = $(AM_LDFLAGS) -no-install
.PHONY: bench-collectives
bench-collectives: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/collectives.py $(BENCH_COLLECTIVES)

# make bench-netcoll: libhpcboot between pods beside the MPIs, e.g.
# BENCH_FLAGS='--pods 4 --ranks 2 --rows all'
EXTRA_DIST += %D%/netcoll.py
.PHONY: bench-netcoll
bench-netcoll: all tests/bench/collperf-api
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    python3 $(top_srcdir)/tests/bench/netcoll.py $(BENCH_FLAGS)
