#!/bin/sh
echo pi-worker-0.pi.hpc.svc
echo pi-worker-1.pi.hpc.svc
