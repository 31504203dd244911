#!/usr/bin/python3
"""ddp_compare.py RESULT: the energy a sample and the region of `every` against those of `leader`, paired by block."""
import math
import sqlite3
import sys

rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT workload, block, energy_per_unit_j, time_s, units, energy_half_width_j / energy_j FROM trials WHERE counts ORDER BY block").fetchall()
by = {}
for workload, block, energy, seconds, units, half in rows:
    by[workload, block] = (energy, seconds, units, half)
blocks = sorted(b for w, b in by if w == "every" and ("leader", b) in by)
t975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
for what, place in (("energy a sample", 0), ("time a sample", None)):
    ratios = []
    for b in blocks:
        every, leader = by["every", b], by["leader", b]
        value = [v[0] if place == 0 else v[1] / v[2] for v in (every, leader)]
        ratios.append(math.log(value[0] / value[1]))
    mean = sum(ratios) / len(ratios)
    sd = math.sqrt(sum((r - mean) ** 2 for r in ratios) / (len(ratios) - 1))
    half = t975[len(ratios)] * sd / math.sqrt(len(ratios))
    print(f"{what}, every / leader: {100 * (math.exp(mean) - 1):+.2f} % [{100 * (math.exp(mean - half) - 1):+.2f}, {100 * (math.exp(mean + half) - 1):+.2f}], {len(ratios)} pairs"
          f" -> {'equal within the interval' if abs(mean) <= half else 'they differ'}")
print("sensor half-width of a trial: up to %.2f %%" % (100 * max(v[3] for v in by.values())))
print("regions:", sqlite3.connect(sys.argv[1]).execute("SELECT t.workload, count(*), count(DISTINCT r.process) FROM regions r JOIN trials t USING (trial) WHERE r.counted AND t.counts GROUP BY t.workload").fetchall())
