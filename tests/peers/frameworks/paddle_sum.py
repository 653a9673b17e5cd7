# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Paddle's collective on CPUs: a sum over all trainers."""
import paddle
import paddle.distributed as dist

paddle.set_device("cpu")
dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print(f"sum {int(total.item())} of {dist.get_world_size()}", flush=True)
