# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Paddle's parameter servers, on CPUs. `train`: y = 3x, whose weight lies on
the servers. Without it: Paddle's role maker reads what it was told, and the
trainers add up through the Gloo that the first server lets them meet by."""
import os
import sys
import time

os.environ["FLAGS_enable_pir_api"] = "0"  # parameter servers know no PIR

import numpy as np
import paddle
from paddle.distributed import fleet


def train():
    x = paddle.static.data("x", [None, 1], "float32")
    y = paddle.static.data("y", [None, 1], "float32")
    out = paddle.static.nn.fc(x, 1, bias_attr=False,
                              weight_attr=paddle.ParamAttr(name="w"))
    loss = paddle.mean(paddle.nn.functional.square_error_cost(out, y))
    fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.05), fleet.DistributedStrategy()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    run = paddle.static.Executor(paddle.CPUPlace()).run
    run(paddle.static.default_startup_program())
    fleet.init_worker()
    rows = np.full((4, 1), fleet.worker_index() + 1, "float32")
    for _ in range(60):
        run(paddle.static.default_main_program(), {"x": rows, "y": 3 * rows})
    weight = paddle.static.global_scope().find_var("w").get_tensor()
    print(f"weight {np.array(weight).item():.2f}", flush=True)
    fleet.stop_worker()


def add_up():
    places = f"of {fleet.worker_num()} trainers, {fleet.server_num()} servers"
    if fleet.is_server():
        time.sleep(3600)  # as a server does: it ends with the job
    total = fleet.util.all_reduce(np.array([fleet.worker_index() + 1]), "sum")
    print(f"sum {int(total[0])} {places}", flush=True)
    os._exit(0)


paddle.enable_static()
fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
if sys.argv[1:] == ["train"]:
    train()
else:
    add_up()
