# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Trainers of Paddle's elastic launcher add up. In the first life, whose end is
that the file named exists, the one on the host that is named then fails."""
import os
import socket
import sys
import time

import paddle
import paddle.distributed as dist

host, mark = sys.argv[1:]
first = not os.path.exists(mark)
paddle.set_device("cpu")
dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
if first and socket.gethostname() == host:
    open(mark, "w", encoding="ascii").close()
    sys.exit(5)
if first:
    time.sleep(3600)  # until the launcher ends it
print(f"sum {int(total.item())} of {dist.get_world_size()}", flush=True)
