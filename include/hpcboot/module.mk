# SPDX-License-Identifier: BSD-3-Clause
hpcbootincludedir = $(includedir)/hpcboot
hpcbootinclude_HEADERS = %D%/hpcboot.h %D%/status.h %D%/job.h %D%/kvs.h \
    %D%/topo.h %D%/comm.h %D%/coll.h %D%/mpi.h %D%/hpcboot.f90
nodist_hpcbootinclude_HEADERS = %D%/version.h
