#!/usr/bin/env python3
"""What Slurm's energy gathering says of this node, as a meter for dvfs-plan.

    probes:
      - name: slurm
        command: [slurm_energy.py]
        channels: {watts: {unit: W, averages over: 30 s}}   # AcctGatherNodeFreq of the site
        rate: 1 Hz

For sites where this is all that a user may read: slurmd samples its own sensor (RAPL, IPMI, pm_counters) every AcctGatherNodeFreq seconds
and tells the mean since its last look (scontrol(1), "CurrentWatts"). A trial must be many times as long as that; where the node's own
sensors can be read they are better. Prints a line whenever Slurm has a new value, and once each such time.
"""
import os
import subprocess
import sys
import time


def fields(text):
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def ask(*arguments):
    answer = subprocess.run(["scontrol", *arguments], capture_output=True, text=True, timeout=30)
    if answer.returncode:
        sys.exit(f"scontrol {' '.join(arguments)}: {(answer.stderr or answer.stdout).strip()}")
    return answer.stdout


def main():
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename.split(".")[0]
    settings = {}
    for line in ask("show", "config").splitlines():
        name, _, value = line.partition("=")
        settings[name.strip()] = value.strip()
    kind, every = settings.get("AcctGatherEnergyType", ""), settings.get("AcctGatherNodeFreq", "0 sec")
    if kind.endswith("/none") or not kind:
        sys.exit(f"Slurm gathers no energy here: AcctGatherEnergyType = {kind or 'not set'}; read the node's own sensors instead (dvfs-plan doctor on a node)")
    period = float(every.split()[0])
    if period <= 0:
        sys.exit(f"Slurm does not look at its sensor between jobs: AcctGatherNodeFreq = {every}; an administrator may set it to 30, for example")
    last, told = None, 0.0
    while True:
        watts = fields(ask("-o", "show", "node", node)).get("CurrentWatts")
        if watts is None or not watts.replace(".", "", 1).isdigit():
            sys.exit(f"Slurm says no power of {node}: CurrentWatts={watts}")
        # The same again is a value of its own once Slurm has looked again.
        if watts != last or time.monotonic() - told >= period:
            print(f"watts {watts} W", flush=True)
            last, told = watts, time.monotonic()
        time.sleep(min(1.0, period / 2))


if __name__ == "__main__":
    main()
