"""takes.py SECONDS [SCATTER]: a work whose region `work` takes exactly that by its marks, however busy the machine is: what follows from times can be demanded.
SCATTER: up to that share more, another in each block, the same in each run of the test."""
import os
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from dvfs_plan_regions import _channel, _process

seconds = float(sys.argv[1])
if len(sys.argv) > 2:
    seconds *= 1 + float(sys.argv[2]) * (zlib.crc32(f"{os.environ['DVFS_PLAN_BLOCK']} {sys.argv[1]}".encode()) % 1000) / 1000
time.sleep(seconds + 0.001)
end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
os.write(_channel(), f"begin work {end - round(seconds * 1e9)} {_process()}\nend work {end} {_process()}\n".encode())
