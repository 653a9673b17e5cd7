# SPDX-License-Identifier: BSD-3-Clause
pkglibexec_PROGRAMS += hbprobe
hbprobe_SOURCES = %D%/main.c %D%/relay.c %D%/relay.h %D%/pair.c %D%/pair.h \
    %D%/counters.c %D%/counters.h %D%/rdma.c %D%/rdma.h
hbprobe_LDFLAGS = $(PROGRAM_LINK)
hbprobe_LDADD = libhbapi.a $(PROGRAM_LDADD) -lpthread -lm
EXTRA_hbprobe_DEPENDENCIES = libhb.a libhbbin.a
