# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Parameter server: the chief has every worker add to a variable that lies on
the parameter server."""
import json
import os

import tensorflow as tf

role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if role in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=role,
                                  task_index=resolver.task_id,
                                  protocol="grpc", start=True)
    server.join()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    total = tf.Variable(0.0)


@tf.function
def add(n):
    total.assign_add(n)


for n in range(1, 11):
    coordinator.schedule(add, args=(tf.constant(float(n)),))
coordinator.join()
print(f"sum {int(total.numpy())} on {total.device.split('/')[1]}",
      f"{resolver.cluster_spec().num_tasks('worker')} workers", flush=True)
os._exit(0)
