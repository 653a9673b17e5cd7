# SPDX-License-Identifier: BSD-3-Clause
# make bench: hbrun beside the launchers that are installed. BENCH_FLAGS goes
# to the harness, e.g. BENCH_FLAGS='--rounds 11 --only true'.
EXTRA_DIST += %D%/bench.py
.PHONY: bench
bench: all
	HB_SRCDIR='$(abs_top_srcdir)' HB_BUILDDIR='$(abs_top_builddir)' \
	    CC='$(CC)' python3 $(top_srcdir)/tests/bench/bench.py $(BENCH_FLAGS)
