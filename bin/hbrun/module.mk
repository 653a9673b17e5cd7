# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += hbrun
hbrun_SOURCES = %D%/main.c
hbrun_LDFLAGS = $(PROGRAM_LDFLAGS)
hbrun_LDADD = $(PROGRAM_LDADD)
EXTRA_hbrun_DEPENDENCIES = libhb.a libhbbin.a
