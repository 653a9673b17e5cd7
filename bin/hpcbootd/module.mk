# SPDX-License-Identifier: BSD-3-Clause
sbin_PROGRAMS += hpcbootd
hpcbootd_SOURCES = %D%/main.c %D%/agent.c %D%/agent.h %D%/order.c %D%/session.c \
    %D%/place.c %D%/ranks.c %D%/reap.c %D%/bind.c %D%/survey.c %D%/wiring.c %D%/probe.c %D%/rankio.c %D%/ending.c %D%/pmhost.c %D%/spawn.c %D%/served.c %D%/prove.c \
    %D%/serve.c %D%/serve.h %D%/health.c %D%/children.c %D%/children.h %D%/passing.c %D%/orphan.c %D%/crew.c \
    %D%/join.c %D%/kv.c %D%/tell.c %D%/meet.c %D%/tcplinks.c %D%/tcplinks.h %D%/ports.c %D%/recipe.c \
    %D%/native.c %D%/lost.c %D%/loaded.c %D%/listener.c %D%/listener.h %D%/sure.h
hpcbootd_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS)
hpcbootd_LDFLAGS = $(PROGRAM_LINK)
hpcbootd_LDADD = $(PROGRAM_LDADD)
EXTRA_hpcbootd_DEPENDENCIES = libhb.a libhbbin.a

if HAVE_CMOCKA
agent_tests = tests/unit/test_listener tests/unit/test_agent_tree \
    tests/unit/test_agent_orphan tests/unit/test_agent_fence
check_PROGRAMS += $(agent_tests)
TESTS += $(agent_tests)
tests_unit_test_listener_SOURCES = tests/unit/test_listener.c \
    %D%/listener.c
tests_unit_test_listener_LDADD = $(UNIT_LDADD)
tests_unit_test_listener_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(EVENT_CFLAGS)
tests_unit_test_agent_tree_SOURCES = tests/unit/test_agent_tree.c \
    %D%/children.c %D%/passing.c
tests_unit_test_agent_tree_LDADD = $(UNIT_LDADD)
tests_unit_test_agent_tree_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(EVENT_CFLAGS)
tests_unit_test_agent_orphan_SOURCES = tests/unit/test_agent_orphan.c \
    %D%/orphan.c %D%/listener.c
tests_unit_test_agent_orphan_LDADD = $(UNIT_LDADD)
tests_unit_test_agent_orphan_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(EVENT_CFLAGS)
tests_unit_test_agent_fence_SOURCES = tests/unit/test_agent_fence.c \
    %D%/pmhost.c
tests_unit_test_agent_fence_LDADD = $(UNIT_LDADD) -ldl
tests_unit_test_agent_fence_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    $(EVENT_CFLAGS)
endif
