// Conditions during the run: the order of the trials against the temperature they began at, and the reference's drift.
import { chart, colours, series_colours, type Chart } from "./charts";
import { section } from "./dom";
import { ofRecheck, perOne, type ReferenceTrial, type Report, type Scenario } from "./model";
import { words } from "./questions";
import { percent, printable, significant } from "./text";

export function night(report: Report, scenario: Scenario): HTMLElement | null {
  const trials = report.trials.filter((t) => t.scenario === scenario.scenario && t.role !== "warm_up" && !ofRecheck(t));
  if (trials.length === 0) return null;
  const charts: Chart[] = [];
  const temperatures = trials.filter((t) => t.temperature_c !== null);
  const item = (t: typeof trials[number], value: number): object => ({ value: [t.trial, value], name: t.key });
  const machines = new Set(trials.map((t) => t.node)).size;
  const xAxis = { type: "value", scale: true, name: machines > 1 ? "trial, as they were collected" : "trial, in the order they were run", nameLocation: "middle", nameGap: 28, minInterval: 1 };
  const say = (what: string) => (i: { data: { name: string; value: number[] } }): string => `${printable(i.data.name)}\n${what} ${significant(i.data.value[1]!)}`;
  if (temperatures.length > 0) {
    charts.push(chart("order", `The hottest sensor at the start of each trial, ${machines > 1 ? "as they were collected" : "in the order they were run"}`, 280, () => ({
      grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0 }, xAxis: { ...xAxis }, yAxis: { type: "value", scale: true, name: "\u00b0C", nameTextStyle: { align: "left" } },
      tooltip: { formatter: say("\u00b0C") },
      series: [
        { type: "scatter", name: "counts", symbolSize: 5, itemStyle: { color: colours.blue }, data: temperatures.filter((t) => t.counts).map((t) => item(t, t.temperature_c!)) },
        { type: "scatter", name: "does not count", symbol: "triangle", symbolSize: 9, itemStyle: { color: colours.vermilion }, data: temperatures.filter((t) => !t.counts).map((t) => item(t, t.temperature_c!)) },
        { type: "scatter", name: "reference", symbol: "rect", symbolSize: 9, itemStyle: { color: colours.orange }, data: temperatures.filter((t) => t.counts && t.reference).map((t) => item(t, t.temperature_c!)) },
      ],
    })));
  }
  const references = scenario.reference_trials;
  if (references.length > 1) {
    const flagged = scenario.drift.filter((d) => d.flagged);
    const blocks = new Set(flagged.map((d) => d.block));
    const numbers = new Map(trials.map((t) => [`${t.node ?? ""} ${t.key}`, t.trial]));
    const nodes = [...new Set(references.map((t) => t.node))];
    const point = (t: ReferenceTrial): object => ({ value: [numbers.get(`${t.node ?? ""} ${t.key}`), 100 * t.change], name: t.key });
    const per = perOne(scenario);
    charts.push(chart("drift", `The reference's ${words[scenario.objective] ?? scenario.objective}${per} against its first trial${nodes.length > 1 ? " on the same machine, a line each" : ""}${flagged.length > 0 ? `; blocks whose two differ by more than allowed (drift or scatter): ${flagged.map((d) => `${d.block} (${percent(d.change ?? 0, 2)})`).join(", ")}` : ""}`, 280, () => ({
      grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { type: "scroll", top: 0 }, xAxis: { ...xAxis }, yAxis: { type: "value", scale: true, name: "change (%)", nameTextStyle: { align: "left" } },
      tooltip: { formatter: say("change, %:") },
      series: [
        ...nodes.map((node, i) => ({ type: "line", name: node === null || nodes.length === 1 ? "reference" : `reference on ${printable(node)}`, symbolSize: 7, ...(nodes.length === 1 ? { itemStyle: { color: colours.orange }, lineStyle: { color: colours.orange } } : { itemStyle: { color: series_colours[i % series_colours.length] } }), data: references.filter((t) => t.node === node).map(point) })),
        { type: "scatter", name: "differs by more than allowed", symbol: "diamond", symbolSize: 13, itemStyle: { color: colours.vermilion }, data: references.filter((t) => t.of_drift && blocks.has(t.block)).map(point) },
      ],
    })));
  }
  return charts.length === 0 ? null : section("night", "Trials", ...charts.map((c) => c.box));
}
