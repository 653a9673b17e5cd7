# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Pi, and on how many hosts it was found."""
import random
import socket
import sys
import time

from pyspark.sql import SparkSession

hosts, draws = int(sys.argv[1]), 20000


def inside(seed):
    r = random.Random(seed)
    return socket.gethostname(), sum(
        r.random() ** 2 + r.random() ** 2 < 1 for _ in range(draws))


session = SparkSession.builder.config("spark.executor.memory", "512m") \
    .config("spark.ui.showConsoleProgress", "false").getOrCreate()
context = session.sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() <= hosts:
    time.sleep(0.1)
parts = 4 * hosts
found = context.parallelize(range(parts), parts).map(inside).collect()
print(f"pi {4 * sum(n for _, n in found) / (parts * draws):.1f}",
      f"on {len({h for h, _ in found})} hosts", flush=True)
session.stop()
