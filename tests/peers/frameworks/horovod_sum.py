# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Every rank adds its number + 1. `lose`: ten steps of elastic training; at the
fourth, rank 2 is killed, and those that are left go on with its state. `grow N`:
training goes on until N ranks have done ten steps."""
import os
import signal
import sys
import time

import horovod.torch as hvd
import torch

hvd.init()
if not sys.argv[1:]:
    total = hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), op=hvd.Sum)
    print(f"sum {int(total.item())} of {hvd.size()}", flush=True)
    sys.exit(0)

fresh = os.environ["HPCBOOT_RESTART"] == "0"


@hvd.elastic.run
def train(state):
    while state.step < 10:
        if state.step == 4 and hvd.size() == 4 and hvd.rank() == 2 and fresh:
            os.kill(os.getpid(), signal.SIGKILL)
        done = hvd.allreduce(torch.ones(1), op=hvd.Sum, name=f"s{state.step}")
        state.step += 1
        state.work += int(done.item())
        state.commit()


@hvd.elastic.run
def grow(state):
    open("/tmp/met", "w").close()
    while state.step < 10:
        done = hvd.allreduce(torch.ones(1), op=hvd.Sum, name=f"g{state.all}")
        state.all += 1
        if int(done.item()) == int(sys.argv[2]):
            state.step += 1
            state.work += int(done.item())
        else:
            time.sleep(0.2)
        state.commit()


state = hvd.elastic.TorchState(step=0, work=0, all=0)
(train if sys.argv[1] == "lose" else grow)(state)
print(f"work {state.work} of {hvd.size()}", flush=True)
