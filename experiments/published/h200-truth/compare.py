#!/usr/bin/env python3
"""compare.py READER.csv[,READER.csv] RESULT.sqlite..: each trial's energy against the independent reader's, and what other ways of
reading say: the plain counter at the edges, and mean power x time."""
import bisect
import sqlite3
import sys



class Reader:
    """What the independent reader saw of one board."""

    def __init__(self, path):
        self.steps, self.gauges = [], []
        last = None
        for line in open(path).read().split("\n")[1:]:
            if not line:
                continue
            before, after, energy, average, instant = (int(x) for x in line.split(","))
            if last is None or energy != last[2]:
                self.steps.append(((before if last is None else (last[1] + before) / 2) / 1e9, energy / 1e3))
                self.gauges.append((before / 1e9, average / 1e3, instant / 1e3))
            last = (before, after, energy)
        self.times = [t for t, _ in self.steps]

    def shown(self, t):
        return self.steps[max(0, bisect.bisect_right(self.times, t) - 1)][1]

    def truth(self, regions):
        """The counter in rest before and after, less rest power x the rest between."""
        steps = self.steps
        first, last = bisect.bisect_left(self.times, regions[0][0]), bisect.bisect_left(self.times, regions[-1][1])
        if first < 8 or last + 9 >= len(steps):
            return None
        power = lambda i: (steps[i][1] - steps[i - 1][1]) / (steps[i][0] - steps[i - 1][0])
        rest = median([power(i) for i in list(range(first - 6, first - 1)) + list(range(last + 3, last + 8))])
        a, b = steps[first - 2], steps[last + 2]
        inside = sum(end - begin for begin, end in regions)
        return b[1] - a[1] - rest * (b[0] - a[0] - inside)

    def mean_power(self, regions, which):
        inside = [g[which] for g in self.gauges if any(begin <= g[0] <= end for begin, end in regions)]
        return None if not inside else sum(inside) / len(inside) * sum(end - begin for begin, end in regions)


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def over_boards(value):
    """The boards' sum, or None where one of them has none."""
    values = [value(reader) for reader in readers]
    return None if None in values else sum(values)


def percent(values):
    return "" if not values else "%.2f" % (100 * sum(values) / len(values))


readers = [Reader(path) for path in sys.argv[1].split(",")]
print("| experiment | load | trials | held | mean half-width % | mean error % | bias % | plain counter % | average x time % | instant x time % | left out |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
all_held = all_trials = unseen = 0
for path in sys.argv[2:]:
    db = sqlite3.connect(path)
    names = [r[0] for r in db.execute("SELECT name FROM workload ORDER BY id")]
    for name in names:
        error, bias, width, plain, average, instant = [], [], [], [], [], []
        held = excluded = 0
        for trial, verdict, energy, half in db.execute(
                "SELECT t.id, t.verdict, t.energy_j, t.energy_half_width_j FROM trial t JOIN point p ON p.id = t.point_id JOIN workload w ON w.id = p.workload_id "
                "WHERE w.name = ? AND t.role NOT LIKE 'idle%'", (name,)):
            regions = [(a / 1e9, b / 1e9) for a, b in db.execute("SELECT started_ns, ended_ns FROM region WHERE trial_id = ? AND counted ORDER BY started_ns", (trial,))]
            if verdict != "ok":
                excluded += 1
            if energy is None or not regions:
                continue
            true = over_boards(lambda r: r.truth(regions))
            if true is None:
                unseen += 1
                continue
            bias.append(energy / true - 1)
            error.append(abs(energy / true - 1))
            width.append(half / energy)
            held += abs(energy - true) <= half
            plain.append(abs(over_boards(lambda r: sum(r.shown(b) - r.shown(a) for a, b in regions)) / true - 1))
            for which, into in ((1, average), (2, instant)):
                if (value := over_boards(lambda r: r.mean_power(regions, which))) is not None:
                    into.append(abs(value / true - 1))
        all_held += held
        all_trials += len(error)
        print(f"| {path.rsplit('/', 1)[-1].removesuffix('.sqlite')} | {name} | {len(error)} | {held} | {percent(width)} | {percent(error)} | {percent(bias)} | {percent(plain)} | {percent(average)} | {percent(instant)} | {excluded} |")
print(f"\n{all_held} of {all_trials} intervals hold what the independent reader says{f'; of {unseen} more it saw too little' if unseen else ''}.")
