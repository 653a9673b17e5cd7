# SPDX-License-Identifier: BSD-3-Clause
TESTS += %D%/rdma.sh
EXTRA_DIST += %D%/rdma.sh %D%/rdmalab %D%/guest.bash %D%/guest-tests.bash \
    %D%/pair-tests.bash %D%/exchange.c
