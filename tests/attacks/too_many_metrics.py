#!/usr/bin/python3
"""A command of a millisecond that prints 1000 numbers and is run for seconds: memory and file stay bounded, and it is said what is not kept."""
import os
import pathlib

import attack


class TooManyMetrics(attack.AttackCase):
    account = attack.Account("1000 metrics of a command of a millisecond, run for seconds")

    def test_memory_and_file_are_bounded(self):
        (self.folder / "lines.txt").write_text("".join(f"metric_{i} {i * 1.5} ms\n" for i in range(1000)) + "items 2\n")
        found = {}
        for seconds in (2, 8 if not attack.LONG else 20):
            self.account.tried += 1
            for old in self.folder.glob("night.*"):
                old.unlink()
            run = self.start(f"name: night\nrepeat: 1\nobjective: {{minimise: time, per: items}}\n{attack.QUIET}measure: {{at least: {seconds} s}}\nworkloads: [{{name: w, command: [cat, lines.txt], metrics: [lines]}}]\n")
            most = 0
            while run.poll() is None:
                for line in pathlib.Path(f"/proc/{run.pid}/status").read_text().splitlines():
                    if line.startswith("VmHWM"):
                        most = max(most, int(line.split()[1]) / 1024)
                attack.time.sleep(0.05)
            self.assertEqual(run.returncode, 0)
            file = self.folder / "night.sqlite"
            runs, units, kept = attack.testbed.rows(file, "SELECT runs, units, (SELECT count(*) FROM metrics) AS kept FROM trials")[0].values()
            self.assertEqual(units, 2 * runs)  # what each run did is added up, however many there are
            event, = attack.testbed.rows(file, "SELECT message FROM event WHERE kind = 'metrics_aggregated'")
            self.assertIn("as they were told are kept at most", event["message"])
            found[seconds] = (most, os.path.getsize(file) / 1e6, runs, kept)
            self.account.survived += 1
        for seconds, (most, size, runs, kept) in found.items():
            print(f"{seconds} s: {runs} runs, {kept} metrics kept, at most {most:.0f} MiB of memory, a file of {size:.0f} MB")
            self.assertLess(most, 300)
            self.assertLess(size, 40)
            self.assertLessEqual(kept, 200_000 + 2 * 1001 + runs)


if __name__ == "__main__":
    attack.main()
