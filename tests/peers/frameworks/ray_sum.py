# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""A task on every node: squares of their numbers, and where they ran.
`fail`: the driver fails."""
import sys

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

if sys.argv[1:] == ["fail"]:
    sys.exit(7)
ray.init(log_to_driver=False, logging_level="ERROR")


@ray.remote(num_cpus=0)
def square(i):
    return ray.get_runtime_context().get_node_id(), i * i


nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"]]
found = ray.get([
    square.options(scheduling_strategy=NodeAffinitySchedulingStrategy(
        node, soft=False)).remote(i + 1) for i, node in enumerate(nodes)])
print(f"sum {sum(s for _, s in found)} on {len({n for n, _ in found})} nodes",
      flush=True)
