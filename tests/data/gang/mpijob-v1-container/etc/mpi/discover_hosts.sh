#!/bin/sh
echo pi-worker-0:4
echo pi-worker-1:4