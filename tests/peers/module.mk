# SPDX-License-Identifier: BSD-3-Clause
PEER_BATS = %D%/debian.bats %D%/wheels.bats %D%/odd.bats %D%/ends.bats
TESTS += $(PEER_BATS)
EXTRA_DIST += $(PEER_BATS) %D%/peers.bash \
    tests/fakes/mpi_trouble.c tests/fakes/mpi_odd.c
