# SPDX-License-Identifier: BSD-3-Clause
dist_man_MANS += %D%/hbrun.1 %D%/hpcboot.1 %D%/hpcboot.conf.5 \
    %D%/hpcboot-recipe.5 %D%/hpcboot-hostfile.5 %D%/hpcboot.7 %D%/hpcboot-protocol.7 %D%/hpcbootd.8 \
    %D%/hpcboot_init.3 \
    %D%/hpcboot_put.3 \
    %D%/hpcboot_binding.3 \
    %D%/hpcboot_team_split.3 \
    %D%/hpcboot_wait.3 \
    %D%/hpcboot_send.3 \
    %D%/hpcboot_alloc.3 \
    %D%/hpcboot_next_event.3 \
    %D%/hpcboot_allreduce.3 \
    %D%/hpcboot_op_create.3 \
    %D%/hpcboot_intro.7
