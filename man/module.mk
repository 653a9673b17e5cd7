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

# A page for each call: `man hpcboot_bcast` is for whoever reads a program.
CALLS_OF = sed -n '/^\.Sh LIBRARY/q; s/^\.Nm \(hpcboot_[a-z_]*\).*/\1/p'
install-page-links:
	for page in $(srcdir)/man/hpcboot_*.3; do \
	    for call in `$(CALLS_OF) $$page`; do \
	        test -f "$(DESTDIR)$(man3dir)/$$call.3" || \
	            $(LN_S) "$${page##*/}" "$(DESTDIR)$(man3dir)/$$call.3" || \
	            exit 1; \
	    done; \
	done
uninstall-page-links:
	for page in $(srcdir)/man/hpcboot_*.3; do \
	    for call in `$(CALLS_OF) $$page`; do \
	        rm -f "$(DESTDIR)$(man3dir)/$$call.3"; \
	    done; \
	done
.PHONY: install-page-links uninstall-page-links
