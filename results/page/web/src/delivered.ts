// Clocks that were requested against those that ran.
import { chart, colours, errorBars } from "./charts";
import { section } from "./dom";
import { ofRecheck, type Report, type Scenario } from "./model";
import { printable, significant } from "./text";

interface Seen { key: string; axis: string; target: string; requested: number; delivered: number; low: number; high: number; as_requested: boolean | null }

export function delivered(report: Report, scenario: Scenario): HTMLElement | null {
  const values = new Map(scenario.points.map((p) => [p.point, p.values]));
  const seen: Seen[] = [], known = new Set<string>();
  for (const trial of report.trials) {
    if (trial.scenario !== scenario.scenario || ofRecheck(trial)) continue;
    for (const s of trial.settings) {
      const requested = values.get(trial.point)?.[s.axis];
      if (s.delivered === null || requested === null || requested === undefined || s.delivered < 1e6) continue;
      // All CPUs of a trial that ran alike are one dot.
      const alike = [trial.trial, s.axis, s.delivered, s.delivered_low, s.delivered_high, s.as_requested].join();
      if (known.has(alike)) continue;
      known.add(alike);
      seen.push({ key: trial.key, axis: s.axis, target: s.target, requested: requested / 1e9, delivered: s.delivered / 1e9, low: (s.delivered_low ?? s.delivered) / 1e9, high: (s.delivered_high ?? s.delivered) / 1e9, as_requested: s.as_requested });
    }
  }
  if (seen.length === 0) return null;
  let least = Infinity, most = 0;
  for (const s of seen) { least = Math.min(least, s.requested); most = Math.max(most, s.requested, s.high); }
  const bars = seen.length <= 400;
  const dots = (name: string, symbol: string, colour: string, which: Seen[]): object => ({ type: "scatter", name, symbol, symbolSize: 9, itemStyle: { color: colour, opacity: 0.8 }, data: which.map((s) => ({ value: [s.requested, s.delivered], name: `${s.key}: ${s.axis} on ${s.target}` })) });
  const one = chart("delivered", `Clocks requested and clocks delivered while the workload ran${bars ? "; bars are the 5th to the 95th percentile of the readings" : ""}`, 380, () => ({
    grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0, data: ["as requested", "something else was delivered", "not known"] },
    xAxis: { type: "value", name: "requested (GHz)", nameLocation: "middle", nameGap: 28, scale: true }, yAxis: { type: "value", name: "delivered (GHz)", scale: true, nameTextStyle: { align: "left" } },
    tooltip: { formatter: (i: { data: { name: string; value: number[] } }) => `${printable(i.data.name)}\nrequested ${significant(i.data.value[0]!)} GHz, delivered ${significant(i.data.value[1]!)} GHz` },
    series: [
      dots("as requested", "circle", colours.blue, seen.filter((s) => s.as_requested === true)), dots("something else was delivered", "triangle", colours.vermilion, seen.filter((s) => s.as_requested === false)),
      dots("not known", "emptyCircle", colours.grey, seen.filter((s) => s.as_requested === null)),
      { type: "line", name: "equal", symbol: "none", silent: true, data: [[least, least], [most, most]], lineStyle: { color: colours.grey, type: "dashed" } },
      bars ? errorBars(seen.map((s) => [s.requested, s.low, s.high]), colours.grey, { name: "5 to 95 %" }) : { type: "line", data: [] },
    ],
  }));
  return section("delivered", "Delivered clocks", one.box);
}
