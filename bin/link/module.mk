# SPDX-License-Identifier: BSD-3-Clause
libhbbin_a_SOURCES += %D%/link.c %D%/link.h
