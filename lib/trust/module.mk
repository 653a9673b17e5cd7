# SPDX-License-Identifier: BSD-3-Clause
# knownhosts.c needs libcrypto and so belongs to the module that has it.
libhb_a_SOURCES += \
    %D%/keyfile.c %D%/keyfile.h \
    %D%/pattern.c %D%/pattern.h \
    %D%/sshconfig.c %D%/sshconfig.h
