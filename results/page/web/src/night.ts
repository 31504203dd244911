// Conditions during the run: the order of the trials against the temperature they began at, and the reference's drift.
import { chart, colours, type Chart } from "./charts";
import { section } from "./dom";
import { ofRecheck, type Report, type Scenario } from "./model";
import { percent, printable, significant } from "./text";

export function night(report: Report, scenario: Scenario): HTMLElement | null {
  const trials = report.trials.filter((t) => t.scenario === scenario.scenario && t.role !== "warm_up" && !ofRecheck(t));
  if (trials.length === 0) return null;
  const charts: Chart[] = [];
  const temperatures = trials.filter((t) => t.temperature_c !== null);
  const item = (t: typeof trials[number], value: number): object => ({ value: [t.trial, value], name: t.key });
  const xAxis = { type: "value", scale: true, name: "trial, in the order they were run", nameLocation: "middle", nameGap: 28, minInterval: 1 };
  const say = (what: string) => (i: { data: { name: string; value: number[] } }): string => `${printable(i.data.name)}\n${what} ${significant(i.data.value[1]!)}`;
  if (temperatures.length > 0) {
    charts.push(chart("order", "The hottest sensor at the start of each trial, in the order they were run", 280, () => ({
      grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0 }, xAxis: { ...xAxis }, yAxis: { type: "value", scale: true, name: "\u00b0C", nameTextStyle: { align: "left" } },
      tooltip: { formatter: say("\u00b0C") },
      series: [
        { type: "scatter", name: "counts", symbolSize: 5, itemStyle: { color: colours.blue }, data: temperatures.filter((t) => t.counts).map((t) => item(t, t.temperature_c!)) },
        { type: "scatter", name: "does not count", symbol: "triangle", symbolSize: 9, itemStyle: { color: colours.vermilion }, data: temperatures.filter((t) => !t.counts).map((t) => item(t, t.temperature_c!)) },
        { type: "scatter", name: "reference", symbol: "rect", symbolSize: 9, itemStyle: { color: colours.orange }, data: temperatures.filter((t) => t.counts && t.reference).map((t) => item(t, t.temperature_c!)) },
      ],
    })));
  }
  const references = trials.filter((t) => t.reference && t.counts && t.objective !== null);
  if (references.length > 1) {
    const first = references[0]!.objective!;
    const flagged = scenario.drift.filter((d) => d.flagged);
    const blocks = new Set(flagged.map((d) => d.block));
    charts.push(chart("drift", `The reference's ${scenario.objective} against its first trial${flagged.length > 0 ? `; blocks that drifted more than allowed: ${flagged.map((d) => `${d.block} (${percent(d.change ?? 0, 2)})`).join(", ")}` : ""}`, 280, () => ({
      grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0 }, xAxis: { ...xAxis }, yAxis: { type: "value", scale: true, name: "change (%)", nameTextStyle: { align: "left" } },
      tooltip: { formatter: say("change, %:") },
      series: [
        { type: "line", name: "reference", symbolSize: 7, itemStyle: { color: colours.orange }, lineStyle: { color: colours.orange }, data: references.map((t) => item(t, 100 * (t.objective! / first - 1))) },
        { type: "scatter", name: "in a block that drifted", symbol: "diamond", symbolSize: 13, itemStyle: { color: colours.vermilion }, data: references.filter((t) => blocks.has(t.block)).map((t) => item(t, 100 * (t.objective! / first - 1))) },
      ],
    })));
  }
  return charts.length === 0 ? null : section("night", "Trials", ...charts.map((c) => c.box));
}
