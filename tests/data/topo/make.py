#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
"""Writes the machines that hwloc's synthetic descriptions cannot say.

usage: make.py    (writes gpu-8nic.xml, hybrid.xml and far-memory.xml beside
itself)

gpu-8nic: two packages of 16 cores, a NUMA node each; below each four GPUs and
four InfiniBand ports, a pair to a PCI switch. hybrid: four cores with two
threads and their own L2, eight cores with one that share L2 by four.
far-memory: three packages of two cores, of which the second alone has memory
of its own that may be used; the rest have memory that is as near to all.
"""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


class Machine:
    def __init__(self):
        self.lines, self.id = [], 0

    def open(self, kind, cpus=None, more="", os_index=None):
        self.id += 1
        sets = ""
        if cpus is not None:
            mask = hex(sum(1 << c for c in cpus))
            node = hex(self.nodes)
            sets = f' cpuset="{mask}" complete_cpuset="{mask}"' \
                   f' nodeset="{node}" complete_nodeset="{node}"'
            if kind == "Machine":
                sets += f' allowed_cpuset="{mask}" allowed_nodeset="{node}"'
        index = f' os_index="{os_index}"' if os_index is not None else ""
        self.lines.append(f'<object type="{kind}"{index}{sets} '
                          f'gp_index="{self.id}"{more}>')

    def close(self, n=1):
        self.lines += ["</object>"] * n

    def leaf(self, *args, **kw):
        self.open(*args, **kw)
        self.close()

    def write(self, name):
        with open(f"{HERE}/{name}", "w", encoding="ascii") as f:
            f.write('<?xml version="1.0" encoding="UTF-8"?>\n'
                    '<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
                    '<topology version="2.0">\n' + "\n".join(self.lines) +
                    "\n</topology>\n")


def cache(depth, size, kind=0):
    return f' cache_size="{size}" depth="{depth}" cache_linesize="64" ' \
           f'cache_associativity="8" cache_type="{kind}"'


def gpu_node():
    m = Machine()
    m.nodes = 3
    m.open("Machine", range(32), os_index=0)
    for p in range(2):
        m.nodes = 1 << p
        cpus = range(16 * p, 16 * p + 16)
        m.open("Package", cpus, os_index=p)
        m.leaf("NUMANode", cpus, ' local_memory="549755813888"', os_index=p)
        m.open("L3Cache", cpus, cache(3, 50331648))
        for c in cpus:
            m.open("L2Cache", [c], cache(2, 2097152))
            m.open("L1Cache", [c], cache(1, 49152, 1))
            m.open("Core", [c], os_index=c % 16)
            m.leaf("PU", [c], os_index=c)
            m.close(3)
        m.close()
        for s in range(4):
            bus = 0x10 + 0x40 * p + 0x10 * s
            m.open("Bridge", more=f' bridge_type="0-1" depth="0" '
                   f'bridge_pci="0000:[{bus:02x}-{bus + 3:02x}]"')
            m.leaf("PCIDev", more=f' pci_busid="0000:{bus + 1:02x}:00.0" '
                   'pci_type="0302 [10de:2330] [10de:16c1] a1" '
                   'pci_link_speed="63.0"')
            m.open("PCIDev", more=f' pci_busid="0000:{bus + 2:02x}:00.0" '
                   'pci_type="0207 [15b3:1021] [15b3:0023] 00" '
                   'pci_link_speed="63.0"')
            m.leaf("OSDev", more=f' name="mlx5_{4 * p + s}" osdev_type="3"')
            m.leaf("OSDev", more=f' name="ib{4 * p + s}" osdev_type="2"')
            m.close(2)
        m.close()
    m.close()
    m.write("gpu-8nic.xml")


def hybrid():
    m = Machine()
    m.nodes = 1
    m.open("Machine", range(16), os_index=0)
    m.leaf("NUMANode", range(16), ' local_memory="34359738368"', os_index=0)
    m.open("Package", range(16), os_index=0)
    m.open("L3Cache", range(16), cache(3, 25165824))
    for c in range(4):
        cpus = [2 * c, 2 * c + 1]
        m.open("L2Cache", cpus, cache(2, 1310720))
        m.open("L1Cache", cpus, cache(1, 49152, 1))
        m.open("Core", cpus, os_index=c)
        for cpu in cpus:
            m.leaf("PU", [cpu], os_index=cpu)
        m.close(3)
    for first in (8, 12):
        m.open("L2Cache", range(first, first + 4), cache(2, 2097152))
        for c in range(first, first + 4):
            m.open("L1Cache", [c], cache(1, 32768, 1))
            m.open("Core", [c], os_index=c - 4)
            m.leaf("PU", [c], os_index=c)
            m.close(2)
        m.close()
    m.close(3)
    m.write("hybrid.xml")


def far_memory():
    m = Machine()
    m.nodes = 6
    m.open("Machine", range(6), os_index=0)
    m.nodes = 4
    m.leaf("NUMANode", range(6), ' local_memory="68719476736"', os_index=2)
    for p in range(3):
        cpus = range(2 * p, 2 * p + 2)
        m.nodes = 6 if p == 1 else 4
        m.open("Package", cpus, os_index=p)
        if p == 1:
            m.nodes = 2
            m.leaf("NUMANode", cpus, ' local_memory="34359738368"', os_index=1)
            m.nodes = 6
        for c in cpus:
            m.open("Core", [c], os_index=c)
            m.leaf("PU", [c], os_index=c)
            m.close()
        m.close()
    m.close()
    m.write("far-memory.xml")


if __name__ == "__main__":
    gpu_node()
    hybrid()
    far_memory()
