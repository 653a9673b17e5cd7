# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Rank 0 starts the tracker; a sum, and a model of rows that no worker has all
of."""
import os

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

rank = int(os.environ["DMLC_TASK_ID"])
size = int(os.environ["DMLC_NUM_WORKER"])
tracker = None
if rank == 0:
    tracker = RabitTracker(n_workers=size, sortby="task",
                           host_ip=os.environ["DMLC_TRACKER_URI"],
                           port=int(os.environ["DMLC_TRACKER_PORT"]))
    tracker.start()
with collective.CommunicatorContext(
        dmlc_communicator="rabit",
        dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
        dmlc_task_id=os.environ["DMLC_TASK_ID"], dmlc_retry=60):
    total = collective.allreduce(np.array([float(rank + 1)]),
                                 collective.Op.SUM)
    x = np.full((50, 1), float(rank))
    model = xgb.train({"max_depth": 3, "eta": 1.0, "tree_method": "hist",
                       "base_score": 0.0},
                      xgb.DMatrix(x, label=10 * x[:, 0]), num_boost_round=20)
    ends = model.predict(xgb.DMatrix(np.array([[0.0], [size - 1.0]])))
    print(f"sum {int(total[0])} of {collective.get_world_size()}",
          f"model {ends[0]:.0f} {ends[1]:.0f}", flush=True)
if tracker is not None:
    tracker.wait_for()
