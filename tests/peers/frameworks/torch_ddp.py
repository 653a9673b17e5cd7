# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Trains y = 3x with DDP, each rank on x of its own. All ranks end with one
weight, which none of them would come to alone."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.full((4, 1), float(dist.get_rank() + 1))
for _ in range(60):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), 3 * x).backward()
    optimizer.step()
weight = next(model.parameters()).detach().clone().reshape(1)
every = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(every, weight)
print(f"weight {weight.item():.2f}, of {len(every)} ranks the same:",
      all(torch.equal(w, weight) for w in every), flush=True)
