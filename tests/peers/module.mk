# SPDX-License-Identifier: BSD-3-Clause
PEER_BATS = %D%/kubernetes.bats %D%/debian.bats %D%/wheels.bats %D%/odd.bats %D%/ends.bats \
    %D%/place.bats
TESTS += $(PEER_BATS)
EXTRA_DIST += $(PEER_BATS) %D%/mpiplace.c %D%/oracle.py %D%/peers.bash %D%/apiserver.sh \
    %D%/kubeadmin.py \
    tests/fakes/mpi_trouble.c tests/fakes/mpi_odd.c
