# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    %D%/address.c %D%/address.h \
    %D%/inbox.c %D%/impl.h \
    %D%/match.c \
    %D%/tcp.c %D%/tcp_impl.h \
    %D%/tcp_conn.c \
    %D%/tcp_io.c \
    %D%/xport.c %D%/xport.h
