// What the work said of itself against each setting: percentiles, rates, accuracy; metrics of one unit in one chart.
import { axesOf, axisTitle, inUnit, orderedTexts, otherSettings, type Axis } from "./axes";
import { chart, errorBars, series_colours, type Chart } from "./charts";
import { choice, el, section } from "./dom";
import type { Metric, Point, Report, Scenario } from "./model";
import { printable, significant } from "./text";

const most_lines = 6, most_charts = 6;

// Names by unit: those that constraints are about first.
function byUnit(scenario: Scenario): { unit: string; names: string[] }[] {
  const units = new Map<string, Set<string>>();
  const constrained = scenario.points.flatMap((p) => p.constraints.map((c) => c.name));
  const names = [...new Set([...constrained, ...scenario.points.flatMap((p) => Object.keys(p.metrics))])];
  for (const name of names) {
    const metric = scenario.points.map((p) => p.metrics[name]).find((m) => m !== undefined);
    if (!metric) continue;
    const group = units.get(metric.unit) ?? new Set<string>();
    units.set(metric.unit, group.add(name));
  }
  const groups = [...units].map(([unit, of_unit]) => ({ unit, names: [...of_unit] }));
  // Plain numbers are of different things: one chart each.
  return groups.flatMap((g) => (g.unit === "" ? g.names.map((name) => ({ unit: "", names: [name] })) : [g]));
}

export function metrics(_: Report, scenario: Scenario): HTMLElement | null {
  const axes = axesOf(scenario);
  const groups = byUnit(scenario);
  if (axes.length === 0 || groups.length === 0) return null;
  let axis = axes[0]!;
  const lines = [...new Set(scenario.points.filter((p) => axis.name in p.settings).map((p) => otherSettings(p, axes, [axis.name])))];
  const named = scenario.points.find((p) => p.point === scenario.best);
  let line = Math.max(0, lines.indexOf(named ? otherSettings(named, axes, [axis.name]) : ""));
  const charts: Chart[] = groups.slice(0, most_charts).map((g, i) =>
    chart(`metric-${i + 1}`, `${g.names.slice(0, most_lines).map(printable).join(", ")}${g.unit ? ` in ${printable(g.unit)}` : ""}, with 95 % intervals${scenario.points.some((p) => p.instances) ? "; of several at once the mean of theirs" : ""}`, 280, () => option(g.names.slice(0, most_lines), g.unit, scenario, axes, axis, lines[line] ?? "")));
  const again = (): void => charts.forEach((c) => c.show());
  return section("metrics", "What the work said of itself",
    axes.length > 1 ? choice("Against", axes.map((a) => a.name), 0, (i) => { axis = axes[i]!; again(); }) : null,
    lines.length > 1 ? choice("At", lines.map((l) => l || "all"), line, (i) => { line = i; again(); }) : null,
    groups.length > most_charts ? el("p", {}, `${groups.length - most_charts} more metrics are in the export.`) : null,
    el("div", { class: "three" }, ...charts.map((c) => c.box)));
}

// By the trials; of a share that was told as a count, what the count alone leaves open where that is wider.
function interval(metric: Metric): [number, number] | null {
  const half = metric.half_width_95;
  let low = half === null ? Infinity : metric.mean - half, high = half === null ? -Infinity : metric.mean + half;
  if (metric.count_low_95 !== undefined) {
    low = Math.min(low, metric.count_low_95);
    high = Math.max(high, metric.count_high_95!);
  }
  return low <= high ? [low, high] : null;
}

function option(names: string[], unit: string, scenario: Scenario, axes: Axis[], axis: Axis, line: string): object {
  const texts = orderedTexts(axis, scenario.points);
  const at = (p: Point): number | string => (axis.numeric ? inUnit(axis, p.values[axis.name]!) : printable(p.settings[axis.name]!));
  const points = scenario.points
    .filter((p) => axis.name in p.settings && (axes.length === 1 || otherSettings(p, axes, [axis.name]) === line))
    .sort((a, b) => texts.indexOf(a.settings[axis.name]!) - texts.indexOf(b.settings[axis.name]!));
  const series: object[] = [];
  names.forEach((name, i) => {
    const colour = series_colours[i % series_colours.length]!;
    // What only some of a setting's trials told is of the better ones (no percentile where too much was not answered): beside the line, and said.
    const told = points.filter((p) => p.metrics[name]), mine = told.filter((p) => p.metrics[name]!.told_in >= p.counted), some = told.filter((p) => p.metrics[name]!.told_in < p.counted);
    if (some.length > 0)
      series.push({ type: "scatter", name: `${printable(name)}, told in some trials only`, symbol: "emptyTriangle", symbolSize: 9, itemStyle: { color: colour }, data: some.map((p) => ({ value: [at(p), p.metrics[name]!.mean], name: `${p.point}: told in ${p.metrics[name]!.told_in} of ${p.counted} trials` })) });
    series.push({ type: "line", name: printable(name), itemStyle: { color: colour }, lineStyle: { color: colour, width: 2 }, symbolSize: 7,
      data: mine.map((p) => ({ value: [at(p), p.metrics[name]!.mean], name: p.point })) });
    const bars = mine.flatMap((p) => { const bar = interval(p.metrics[name]!); return bar ? [[at(p), ...bar]] : []; });
    series.push(errorBars(bars as (number | string)[][], colour, { name: `95 % ${printable(name)}` }));
  });
  return {
    grid: { left: 64, right: 16, top: names.length > 1 ? 56 : 36, bottom: 48 },
    legend: names.length > 1 ? { type: "scroll", top: 0, data: names.map(printable) } : undefined,
    xAxis: { type: axis.numeric ? "value" : "category", data: axis.numeric ? undefined : texts.map(printable), name: axisTitle(axis), nameLocation: "middle", nameGap: 28, scale: true },
    yAxis: { type: "value", name: names.length === 1 ? `${printable(names[0]!)}${unit ? ` (${printable(unit)})` : ""}` : printable(unit), scale: true, nameTextStyle: { align: "left" } },
    tooltip: { trigger: "item", formatter: (item: { seriesName: string; data: { name?: string; value: [number | string, number] } }) =>
      `${item.seriesName}: ${significant(item.data.value[1])} ${printable(unit)}\n${printable(item.data.name ?? "")}` },
    series,
  };
}
