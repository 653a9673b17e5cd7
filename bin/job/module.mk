# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/job.c %D%/job.h %D%/job_impl.h %D%/plan.c \
    %D%/connect.c %D%/start.c %D%/watch.c %D%/route.c %D%/carry.c \
    %D%/ending.c %D%/report.c %D%/verdict.c %D%/verdict.h
