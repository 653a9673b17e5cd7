# SPDX-License-Identifier: BSD-3-Clause
TESTS += %D%/sizes.sh %D%/configured.sh %D%/commands.sh %D%/goals.sh %D%/driver.sh \
    %D%/conditions.sh %D%/layers.sh %D%/headers.sh %D%/optional.sh \
    %D%/environ.sh %D%/symbols.sh %D%/texts.sh %D%/shell.sh %D%/cppcheck.sh
EXTRA_DIST += %D%/sizes.sh %D%/configured.sh %D%/commands.sh %D%/goals.sh %D%/driver.sh \
    %D%/conditions.sh %D%/layers.sh %D%/headers.sh %D%/optional.sh \
    %D%/environ.sh %D%/symbols.sh %D%/texts.sh %D%/shell.sh %D%/cppcheck.sh %D%/layers.py %D%/lib.sh
