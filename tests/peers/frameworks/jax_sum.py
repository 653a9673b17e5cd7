# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""jax.distributed without arguments; a sum over all processes."""
import jax

jax.distributed.initialize()

import jax.numpy as jnp
from jax.experimental import multihost_utils

mine = jnp.array([jax.process_index() + 1.0])
every = multihost_utils.process_allgather(mine)
print(f"sum {int(every.sum())} of {jax.process_count()}", flush=True)
