# SPDX-License-Identifier: BSD-3-Clause
dist_man_MANS += %D%/hbrun.1 %D%/hpcboot.1 %D%/hpcboot.conf.5 \
    %D%/hpcboot-recipe.5 %D%/hpcboot-hostfile.5 %D%/hpcboot.7 %D%/hpcboot-protocol.7 %D%/hpcbootd.8
