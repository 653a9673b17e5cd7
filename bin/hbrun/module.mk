# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += hbrun
hbrun_SOURCES = %D%/main.c
hbrun_LDFLAGS = $(PROGRAM_LINK)
hbrun_LDADD = $(PROGRAM_LDADD)
EXTRA_hbrun_DEPENDENCIES = libhb.a libhbbin.a

# What an image that wants a drop-in puts first into PATH. Its links are
# relative: a tree that was moved keeps them.
dropindir = $(pkglibdir)/bin
DROPIN_NAMES = mpirun mpiexec mpiexec.hydra
install-exec-hook:
	$(MKDIR_P) "$(DESTDIR)$(dropindir)"
	for name in $(DROPIN_NAMES); do \
	    ln -srf "$(DESTDIR)$(bindir)/hbrun" \
	        "$(DESTDIR)$(dropindir)/$$name" || exit 1; \
	done
uninstall-hook:
	for name in $(DROPIN_NAMES); do \
	    rm -f "$(DESTDIR)$(dropindir)/$$name"; \
	done
	for folder in "$(dropindir)" "$(pkglibdir)" "$(pkglibexecdir)" \
	    "$(recipesdir)" "$(pkgdatadir)" "$(cmakedir)" \
	    "$(hpcbootincludedir)"; do \
	    test ! -d "$(DESTDIR)$$folder" || \
	        rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$folder"; \
	done
	for name in $(COMPLETED); do \
	    rm -f "$(DESTDIR)$(bashcompdir)/$$name" \
	        "$(DESTDIR)$(zshcompdir)/_$$name" \
	        "$(DESTDIR)$(fishcompdir)/$$name.fish"; \
	done
	$(MAKE) $(AM_MAKEFLAGS) uninstall-page-links

# Automake's rules for programs fail where their folder is not there, as when
# nothing was installed, or all of it is gone already; without a folder's name
# they do nothing.
$(foreach of,bin sbin pkglibexec,$(if $(wildcard $(DESTDIR)$($(of)dir)),,\
    $(eval uninstall-$(of)PROGRAMS: $(of)dir =)))

# Completion comes out of the program itself, so it cannot lag behind; one of
# another machine cannot be asked.
cross_compiling = @cross_compiling@
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
COMPLETED = hbrun hpcboot
install-data-hook: hbrun$(EXEEXT) hpcboot$(EXEEXT)
	test $(cross_compiling) = yes || \
	    $(MAKE) $(AM_MAKEFLAGS) install-completions
	test $(cross_compiling) != yes || \
	    echo "hbrun and hpcboot are of another machine: no completions"
	$(MAKE) $(AM_MAKEFLAGS) install-page-links
install-completions:
	$(INSTALL_UMASK) && $(MKDIR_P) "$(DESTDIR)$(bashcompdir)" \
	    "$(DESTDIR)$(zshcompdir)" "$(DESTDIR)$(fishcompdir)"
	$(INSTALL_UMASK) && for name in $(COMPLETED); do \
	    ./$$name --completion bash > "$(DESTDIR)$(bashcompdir)/$$name" && \
	    ./$$name --completion zsh > "$(DESTDIR)$(zshcompdir)/_$$name" && \
	    ./$$name --completion fish \
	        > "$(DESTDIR)$(fishcompdir)/$$name.fish" || exit 1; \
	done
.PHONY: install-completions
