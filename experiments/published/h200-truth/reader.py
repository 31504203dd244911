#!/usr/bin/env python3
"""reader.py OUTPUT.csv SECONDS [BOARD]: an independent reader of one board's (the first one's) energy counter and power gauges, as fast as
NVML answers, about every 3 ms; keeps the looks just before and just after each new counter value."""
import ctypes
import sys
import time


class Field(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
                ("type", ctypes.c_uint), ("result", ctypes.c_uint), ("value", ctypes.c_ulonglong)]


nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
device = ctypes.c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(int(sys.argv[3]) if len(sys.argv) > 3 else 0, ctypes.byref(device))
energy = ctypes.c_ulonglong()
powers = (Field * 2)()
powers[0].field, powers[1].field = 185, 186
with open(sys.argv[1], "w", buffering=1) as out:
    out.write("before_ns,after_ns,energy_mj,average_mw,instant_mw\n")
    last = None
    until = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy))
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if last is None or energy.value != last[2]:
            nvml.nvmlDeviceGetFieldValues(device, 2, powers)
            line = (before, after, energy.value, powers[0].value & 0xFFFFFFFF, powers[1].value & 0xFFFFFFFF)
            if last is not None and not last[5]:
                out.write("%d,%d,%d,%d,%d\n" % last[:5])
            out.write("%d,%d,%d,%d,%d\n" % line)
            last = line + (True,)
        else:
            last = (before, after, energy.value, last[3], last[4], False)
