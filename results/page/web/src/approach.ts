// The way to a target: what had been used when the metric was at each value. One run gives time and energy at any of them.
import { chart, series_colours } from "./charts";
import { el, section } from "./dom";
import { ofRecheck, type Report, type Scenario } from "./model";
import { printable, significant } from "./text";

const most_lines = 12;

export function approach(report: Report, scenario: Scenario): HTMLElement | null {
  const trials = new Map(report.trials.filter((t) => t.scenario === scenario.scenario && t.role !== "warm_up" && !ofRecheck(t)).map((t) => [t.trial, t]));
  const rows = report.approach.filter((r) => trials.has(r.trial));
  if (rows.length === 0) return null;
  const name = rows[0]!.name;
  const of_trial = new Map<number, typeof rows>();
  for (const row of rows) of_trial.set(row.trial, [...(of_trial.get(row.trial) ?? []), row]);
  const shown = [...of_trial].slice(0, most_lines);
  const points = [...new Set(shown.map(([id]) => trials.get(id)!.point))];
  const one = chart("approach", `${printable(name)} against the energy used until then, a line a trial; colours are settings`, 320, () => ({
    grid: { left: 64, right: 16, top: 56, bottom: 48 },
    legend: { type: "scroll", top: 0, data: points.map(printable) },
    xAxis: { type: "value", name: "energy until then (J)", nameLocation: "middle", nameGap: 28 },
    yAxis: { type: "value", name: printable(name), scale: true, nameTextStyle: { align: "left" } },
    tooltip: { trigger: "item", formatter: (item: { seriesName: string; data: [number, number, number] }) =>
      `${printable(name)} ${significant(item.data[1])} after ${significant(item.data[0])} J and ${significant(item.data[2])} s\n${item.seriesName}` },
    series: shown.map(([id, values]) => {
      const point = trials.get(id)!.point, colour = series_colours[points.indexOf(point) % series_colours.length]!;
      return { type: "line", name: printable(point), data: values.map((v) => [v.energy_j, v.value, v.after_s]), symbolSize: 4, itemStyle: { color: colour }, lineStyle: { color: colour, width: 1.5 } };
    }),
  }));
  return section("approach", scenario.target ? `The way to ${printable(scenario.target)}` : "The way to the target",
    of_trial.size > most_lines ? el("p", {}, `The first ${most_lines} of ${of_trial.size} trials.`) : null, one.box);
}
