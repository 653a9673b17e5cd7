# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += hbrun
hbrun_SOURCES = %D%/main.c
hbrun_LDFLAGS = $(PROGRAM_LDFLAGS)
hbrun_LDADD = $(PROGRAM_LDADD)
EXTRA_hbrun_DEPENDENCIES = libhb.a libhbbin.a

# What an image that wants a drop-in puts first into PATH.
dropindir = $(pkglibdir)/bin
DROPIN_NAMES = mpirun mpiexec mpiexec.hydra
install-exec-hook:
	$(MKDIR_P) "$(DESTDIR)$(dropindir)"
	for name in $(DROPIN_NAMES); do \
	    $(LN_S) -f "$(bindir)/hbrun" "$(DESTDIR)$(dropindir)/$$name" || exit 1; \
	done
uninstall-hook:
	for name in $(DROPIN_NAMES); do \
	    rm -f "$(DESTDIR)$(dropindir)/$$name"; \
	done
	-rmdir "$(DESTDIR)$(dropindir)" "$(DESTDIR)$(pkglibdir)"
	rm -f "$(DESTDIR)$(bashcompdir)/hbrun" "$(DESTDIR)$(zshcompdir)/_hbrun"

# Completion comes out of the program itself, so it cannot lag behind.
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
install-data-hook: hbrun$(EXEEXT)
	$(MKDIR_P) "$(DESTDIR)$(bashcompdir)" "$(DESTDIR)$(zshcompdir)"
	./hbrun --completion bash > "$(DESTDIR)$(bashcompdir)/hbrun"
	./hbrun --completion zsh > "$(DESTDIR)$(zshcompdir)/_hbrun"
