# SPDX-License-Identifier: BSD-3-Clause
TESTS += %D%/lab.bats
EXTRA_DIST += %D%/lab.bats %D%/podlab
