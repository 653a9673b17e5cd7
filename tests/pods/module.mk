# SPDX-License-Identifier: BSD-3-Clause
POD_BATS = %D%/lab.bats %D%/gang.bats %D%/faults.bats %D%/ways.bats \
    %D%/wait.bats %D%/operator.bats %D%/serve.bats %D%/slurm.bats %D%/trouble.bats %D%/tree.bats %D%/liveness.bats %D%/inner.bats %D%/orphan.bats %D%/policies.bats \
    %D%/preload.bats \
    %D%/place.bats %D%/fabric.bats \
    %D%/attack.bats %D%/restart.bats %D%/survive.bats %D%/chaos.bats %D%/api.bats
TESTS += $(POD_BATS)
EXTRA_DIST += $(POD_BATS) %D%/podlab %D%/operator-pod %D%/chaos tests/fakes/fake_agent.py tests/fakes/pmix_lost.c
