# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    include/hpcboot/status.h \
    %D%/buf.c %D%/buf.h \
    %D%/channel.h \
    %D%/clock.c %D%/clock.h \
    %D%/error.c %D%/error.h \
    %D%/fd.c %D%/fd.h \
    %D%/jobmap.c %D%/jobmap.h \
    %D%/json.c %D%/json.h \
    %D%/log.c %D%/log.h \
    %D%/module_load.c %D%/module_load.h \
    %D%/str.c %D%/str.h \
    %D%/strv.c %D%/strv.h
