# SPDX-License-Identifier: BSD-3-Clause
libhb_a_SOURCES += \
    %D%/args.c \
    %D%/check.c \
    %D%/cma.c \
    %D%/coll.h \
    %D%/engine.c %D%/engine.h \
    %D%/impl.h \
    %D%/kinds.h \
    %D%/kern.c %D%/kern.h %D%/kern_impl.inc %D%/kern_sets.h \
    %D%/kern_avx2.c \
    %D%/kern_avx512.c \
    %D%/kern_base.c \
    %D%/model_cma.c %D%/model_cost.c %D%/model_impl.h \
    %D%/model.c %D%/model.h %D%/model_keep.c %D%/model_probe.c %D%/model_share.c \
    %D%/model_text.c \
    %D%/near.h \
    %D%/net.c %D%/net.h \
    %D%/net_explain.c %D%/net_explain.h \
    %D%/net_facts.c \
    %D%/net_flat.c \
    %D%/net_local.c \
    %D%/net_probe.c \
    %D%/net_node.c %D%/net_node.h \
    %D%/net_slices.c \
    %D%/op.c \
    %D%/overlap.c \
    %D%/pieces.h \
    %D%/plan_cma.c %D%/plan_cma.h \
    %D%/plan_cma_fold.c \
    %D%/plan_heap.c %D%/plan_heap.h \
    %D%/plan_last.c \
    %D%/plan_move.c \
    %D%/plan_reduce.c \
    %D%/plan_rows.c \
    %D%/region.h \
    %D%/request.c \
    %D%/sched.c %D%/sched.h \
    %D%/sched_choose.c %D%/sched_crowd.c \
    %D%/sched_fold.c \
    %D%/sched_leaf.c \
    %D%/sched_move.c \
    %D%/sched_root.c \
    %D%/sched_tree.c \
    %D%/sched_wish.c \
    %D%/shm.c \
    %D%/spill.c %D%/spill.h \
    %D%/stream.c \
    %D%/team.c \
    %D%/types.c \
    %D%/wait.c

if HAVE_CMOCKA
coll_tests = \
    tests/unit/test_coll \
    tests/unit/test_coll_choice \
    tests/unit/test_coll_cma \
    tests/unit/test_coll_fold \
    tests/unit/test_coll_gatherv \
    tests/unit/test_coll_kern \
    tests/unit/test_coll_heap \
    tests/unit/test_coll_last \
    tests/unit/test_coll_late \
    tests/unit/test_coll_lend \
    tests/unit/test_coll_life \
    tests/unit/test_coll_model \
    tests/unit/test_coll_net \
    tests/unit/test_coll_region \
    tests/unit/test_coll_spill \
    tests/unit/test_coll_told \
    tests/unit/test_coll_wait \
    tests/unit/test_coll_ways \
    tests/unit/test_leaves \
    tests/unit/test_sched \
    tests/unit/test_sched_layouts \
    tests/unit/test_sched_crowd
check_PROGRAMS += $(coll_tests)
TESTS += $(coll_tests)
coll_lab = tests/unit/coll_ref.c tests/unit/coll_ref.h \
    tests/unit/coll_ref_fold.c \
    tests/unit/coll_world.c tests/unit/coll_world.h
tests_unit_test_coll_SOURCES = tests/unit/test_coll.c $(coll_lab)
tests_unit_test_coll_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_choice_SOURCES = tests/unit/test_coll_choice.c
tests_unit_test_coll_choice_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_choice_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_coll_cma_SOURCES = tests/unit/test_coll_cma.c $(coll_lab)
tests_unit_test_coll_cma_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_cma_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_fold_SOURCES = tests/unit/test_coll_fold.c $(coll_lab)
tests_unit_test_coll_fold_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_fold_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_kern_SOURCES = tests/unit/test_coll_kern.c $(coll_lab)
tests_unit_test_coll_kern_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_kern_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_ways_SOURCES = tests/unit/test_coll_ways.c $(coll_lab)
tests_unit_test_coll_ways_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_ways_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_region_SOURCES = tests/unit/test_coll_region.c
tests_unit_test_coll_region_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_region_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_coll_spill_SOURCES = tests/unit/test_coll_spill.c
tests_unit_test_coll_spill_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_spill_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_coll_gatherv_SOURCES = tests/unit/test_coll_gatherv.c \
    $(coll_lab)
tests_unit_test_coll_gatherv_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_gatherv_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_last_SOURCES = tests/unit/test_coll_last.c $(coll_lab)
tests_unit_test_coll_last_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_last_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_heap_SOURCES = tests/unit/test_coll_heap.c $(coll_lab)
tests_unit_test_coll_heap_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_heap_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_lend_SOURCES = tests/unit/test_coll_lend.c $(coll_lab)
tests_unit_test_coll_lend_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_lend_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_late_SOURCES = tests/unit/test_coll_late.c $(coll_lab)
tests_unit_test_coll_late_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_late_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_life_SOURCES = tests/unit/test_coll_life.c $(coll_lab)
tests_unit_test_coll_life_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_life_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_model_SOURCES = tests/unit/test_coll_model.c $(coll_lab)
tests_unit_test_coll_model_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_model_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_net_SOURCES = tests/unit/test_coll_net.c $(coll_lab)
tests_unit_test_coll_net_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_net_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_coll_told_SOURCES = tests/unit/test_coll_told.c
tests_unit_test_coll_told_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_told_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_coll_wait_SOURCES = tests/unit/test_coll_wait.c
tests_unit_test_coll_wait_LDADD = $(UNIT_LDADD) -lm -lpthread
tests_unit_test_coll_wait_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
sched_lab = tests/unit/sched_data.c tests/unit/sched_data.h \
    tests/unit/sched_sim.c tests/unit/sched_sim.h
tests_unit_test_leaves_SOURCES = tests/unit/test_leaves.c $(sched_lab)
tests_unit_test_leaves_LDADD = $(UNIT_LDADD) -lm
tests_unit_test_leaves_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_sched_SOURCES = tests/unit/test_sched.c $(sched_lab)
tests_unit_test_sched_LDADD = $(UNIT_LDADD) -lm
tests_unit_test_sched_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_sched_layouts_SOURCES = tests/unit/test_sched_layouts.c \
    $(sched_lab)
tests_unit_test_sched_layouts_LDADD = $(UNIT_LDADD) -lm
tests_unit_test_sched_layouts_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
tests_unit_test_sched_crowd_SOURCES = tests/unit/test_sched_crowd.c \
    $(sched_lab)
tests_unit_test_sched_crowd_LDADD = $(UNIT_LDADD) -lm
tests_unit_test_sched_crowd_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
    -I$(srcdir)/tests/unit
endif

coll_fuzz = tests/fuzz/fuzz_collmodel tests/fuzz/fuzz_wish
check_PROGRAMS += $(coll_fuzz)
TESTS += $(coll_fuzz)
tests_fuzz_fuzz_collmodel_SOURCES = tests/fuzz/fuzz_collmodel.c tests/fuzz/replay.c
tests_fuzz_fuzz_collmodel_LDADD = libhb.a
tests_fuzz_fuzz_wish_SOURCES = tests/fuzz/fuzz_wish.c tests/fuzz/replay.c
tests_fuzz_fuzz_wish_LDADD = libhb.a
EXTRA_DIST += tests/fuzz/corpus/collmodel tests/fuzz/corpus/wish
