# SPDX-License-Identifier: BSD-3-Clause
# The longest first: they run side by side.
PEER_BATS = %D%/torch.bats %D%/horovod.bats %D%/framework.bats \
    %D%/clusters.bats %D%/elastic.bats %D%/debian.bats %D%/ends.bats \
    %D%/kubernetes.bats \
    %D%/wheels.bats %D%/spawn.bats %D%/odd.bats %D%/place.bats
TESTS += $(PEER_BATS)
EXTRA_DIST += $(PEER_BATS) %D%/mpiplace.c %D%/oracle.py %D%/peers.bash %D%/frameworks.bash %D%/apiserver.sh \
    %D%/apiserver.bash \
    %D%/kubeadmin.py \
    tests/fakes/mpi_trouble.c tests/fakes/mpi_odd.c tests/fakes/mpi_spawn.c \
    tests/fakes/pmix_parent.c \
    %D%/frameworks/horovod_sum.py \
    %D%/frameworks/jax_sum.py %D%/frameworks/paddle_elastic.py \
    %D%/frameworks/paddle_ps.py %D%/frameworks/paddle_sum.py \
    %D%/frameworks/ray_sum.py %D%/frameworks/spark_pi.py \
    %D%/frameworks/tf_ps.py %D%/frameworks/tf_sum.py \
    %D%/frameworks/torch_ddp.py %D%/frameworks/torch_sum.py \
    %D%/frameworks/xgboost_sum.py
