#!/usr/bin/env python3
"""What a Joulescope measures, as a meter for dvfs-plan.

    probes:
      - name: supply
        command: [joulescope.py]                 # of several that are plugged in:  [joulescope.py, u/js220/000415]
        channels: {energy: {unit: J, domain: board}}

It speaks its maker's library alone: pip install pyjoulescope_driver, and its udev rules for who is not root. Prints the instrument's own
accumulator of joules, of a JS220 --frequency times a second (20), of a JS110 twice. Its ranges stay as its owner left them.
Source: pyjoulescope_driver's `statistics`. Never run by us on an instrument; a stand-in for the library drives it in tests/system/test_meters.py.
"""
import argparse
import sys
import threading

SILENT_S = 5


def path_of(driver, wanted):
    there = sorted(driver.device_paths())
    if wanted is None and len(there) == 1:
        return there[0]
    if wanted in there:
        return wanted
    found = ", ".join(there) or "none; is it plugged in, and are its udev rules installed?"
    sys.exit(f"which Joulescope? wanted {wanted or 'the only one'}, found {found}")


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("device", nargs="?", help="its path, as `python3 -m pyjoulescope_driver scan` tells it")
    asked.add_argument("--frequency", type=float, default=20, metavar="HZ", help="values a second of a JS220 (20)")
    asked = asked.parse_args()
    try:
        from pyjoulescope_driver import Driver
    except ImportError as problem:
        sys.exit(f"{problem}: pip install pyjoulescope_driver")
    told = threading.Event()

    def tell(_, value):
        energy = value["accumulators"]["energy"]
        print(f"energy {energy['value']:.9f} {energy['units']}", flush=True)
        told.set()

    with Driver() as driver:
        path = path_of(driver, asked.device)
        driver.open(path, "restore")
        if "js110" in path:
            driver.subscribe(path + "/s/sstats/value", "pub", tell)
        else:
            driver.publish(path + "/s/stats/scnt", round(1_000_000 / asked.frequency))
            driver.publish(path + "/s/stats/ctrl", 1)
            driver.subscribe(path + "/s/stats/value", "pub", tell)
        while told.wait(SILENT_S):
            told.clear()
    sys.exit(f"{path} has told nothing for {SILENT_S} s: unplugged?")


if __name__ == "__main__":
    main()
