# SPDX-License-Identifier: BSD-3-Clause
TESTS += %D%/driver.sh
EXTRA_DIST += %D%/driver.sh
