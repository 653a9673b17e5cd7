# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Every rank adds its number + 1. `local`: as a script that knows no gang.
`fail`: rank 1 fails before its first restart. `raise`: rank 2 raises.
`lose`: four go on adding until one is lost. `grow`: fewer than four go on until
they are four."""
import os
import sys

mode = sys.argv[1] if len(sys.argv) > 1 else ""
if mode == "local":
    os.environ.update(MASTER_ADDR="localhost", RANK="0", WORLD_SIZE="1")

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
if mode == "fail" and dist.get_rank() == 1 and restart == "0":
    sys.exit(5)
if mode == "raise" and dist.get_rank() == 2:
    raise ValueError("rank 2 gives up")
if mode == "lose" and dist.get_world_size() == 4:
    open("/tmp/met", "w").close()
    while True:
        dist.all_reduce(torch.ones(1))
while mode == "grow" and dist.get_world_size() < 4:
    open("/tmp/met", "w").close()
    dist.all_reduce(torch.ones(1))
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print(f"sum {int(total.item())} of {dist.get_world_size()} restarts {restart}",
      flush=True)
