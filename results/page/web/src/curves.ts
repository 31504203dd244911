// Energy, time and power against one axis, a line for each setting of the others, with 95 % intervals and, of an adaptive
// search, what its model expects of every setting.
import { axesOf, axisTitle, inUnit, orderedTexts, otherSettings, type Axis } from "./axes";
import { chart, colours, errorBars, scale_colours, series_colours, star, type Chart } from "./charts";
import { choice, el, section } from "./dom";
import { energyOf, levelled, perOne, timeOf, withoutBlocks, type Estimate, type ModelPoint, type NodePoint, type Point, type Report, type Scenario } from "./model";
import { printable, significant, withInterval } from "./text";

// `at`: what is drawn of `of`.
interface Quantity { name: string; title: string; unit: string; of: (p: Point) => Estimate | null; at: (p: Point) => number; of_node: (p: NodePoint | undefined) => number | null; objective: boolean }

function quantities(scenario: Scenario): Quantity[] {
  const per = perOne(scenario);
  return [
    { name: "energy", title: `energy${per}`, unit: "J", of: (p) => p.work_energy_j, at: (p) => energyOf(p)!, of_node: (p) => p?.work_energy_j ?? null, objective: scenario.objective === "energy" },
    { name: "time", title: `time${per}`, unit: "s", of: (p) => p.work_time_s, at: (p) => timeOf(p)!, of_node: (p) => p?.work_time_s ?? null, objective: scenario.objective === "time" },
    { name: "power", title: "mean power", unit: "W", of: (p) => p.mean_power_w, at: (p) => p.mean_power_w!.mean, of_node: (p) => p?.mean_power_w ?? null, objective: false },
  ];
}

// A colour of its own for each line, from the part of the scale that shows on light and on dark.
function between(share: number): string {
  const first = 2, last = scale_colours.length - 2, at = first + share * (last - first), low = Math.floor(at), high = Math.min(last, low + 1);
  const part = (i: number, k: number): number => parseInt(scale_colours[i]!.slice(1 + 2 * k, 3 + 2 * k), 16);
  return `rgb(${[0, 1, 2].map((k) => Math.round(part(low, k) + (at - low) * (part(high, k) - part(low, k)))).join(",")})`;
}
const spread = (index: number, count: number): string =>
  count <= series_colours.length ? series_colours[index]! : between(index / Math.max(1, count - 1));

export function curves(_: Report, scenario: Scenario): HTMLElement | null {
  const axes = axesOf(scenario);
  if (axes.length === 0) return null;
  let axis = axes[0]!;
  const options = quantities(scenario).filter((q) => scenario.points.some((p) => q.of(p)));
  const charts: Chart[] = options.map((q) =>
    chart(q.name, `${q.title} against each setting${q.name !== "power" && levelled(scenario) ? `${withoutBlocks}, for not all ran in the same blocks (the table has the means)` : ", with 95 % intervals"}; the star is the best, a square the reference, rings and an empty square cannot be told from the best`, 300, () => option(q, scenario, axes, axis)));
  if (charts.length === 0) return null;
  const pick = axes.length > 1 ? choice("Against", axes.map((a) => a.name), 0, (i) => { axis = axes[i]!; lay(); charts.forEach((c) => c.show()); }) : null;
  const place = el("div", {}, ...charts.map((c) => c.box));
  // Panels take the whole width.
  const lay = (): void => { place.className = in_panels(scenario, linesOf(scenario, axes, axis)) ? "" : "three"; };
  lay();
  return section("curves", "Curves", pick,
    scenario.search && options.some((q) => q.objective) ? el("p", {}, "The band is what the search's model expects of every setting of the best's line (of up to four lines: of each), with 95 % probability; dots were run.") : null,
    place);
}

// So many lines in one picture are a tangle: then each has a panel of its own, the best's line with it for comparison.
const most_lines = 6, most_panels = 60;
// Of a search most settings were not run: what the model says of its best line is what there is to see.
const in_panels = (scenario: Scenario, lines: string[]): boolean => scenario.search === null && lines.length > most_lines && lines.length <= most_panels;

const linesOf = (scenario: Scenario, axes: Axis[], axis: Axis): string[] =>
  [...new Set(scenario.points.filter((p) => axis.name in p.settings).map((p) => otherSettings(p, axes, [axis.name])))];

function option(q: Quantity, scenario: Scenario, axes: Axis[], axis: Axis): object {
  const lines = linesOf(scenario, axes, axis);
  return in_panels(scenario, lines) ? panels(q, scenario, axes, axis, lines) : together(q, scenario, axes, axis, lines);
}

// Of means; a level's own is not known.
const halfOf = (q: Quantity, p: Point): number | null => (q.at(p) === q.of(p)!.mean ? q.of(p)!.half_width_95 : null);
const symbolOf = (p: Point): string => (p.reference ? (p.not_told_apart_from_best ? "emptyRect" : "rect") : p.not_told_apart_from_best ? "emptyCircle" : "circle");
// Means and intervals are of what cannot be less than nothing; an interval that says otherwise shows the scatter, not joules below zero.
const from_zero = (value: { min: number }): number | undefined => (value.min < 0 ? 0 : undefined);

function panels(q: Quantity, scenario: Scenario, axes: Axis[], axis: Axis, groups: string[]): object {
  const texts = orderedTexts(axis, scenario.points);
  const columns = Math.max(1, Math.min(4, Math.floor((document.querySelector("main")?.clientWidth ?? 900) / 260))), rows = Math.ceil(groups.length / columns);
  const height = 170, boxHeight = rows * height + 40, width = 100 / columns;
  const at = (p: Point): number | string => (axis.numeric ? inUnit(axis, p.values[axis.name]!) : printable(p.settings[axis.name]!));
  const of = (group: string): Point[] => scenario.points
    .filter((p) => q.of(p) && axis.name in p.settings && otherSettings(p, axes, [axis.name]) === group)
    .sort((a, b) => texts.indexOf(a.settings[axis.name]!) - texts.indexOf(b.settings[axis.name]!));
  const named = scenario.points.find((p) => p.point === scenario.best);
  const of_best = named && axis.name in named.settings ? otherSettings(named, axes, [axis.name]) : undefined;
  // Intervals whole: one that ended at a panel's edge would look as if it were no wider.
  const all = scenario.points.filter((p) => q.of(p)).flatMap((p) => [q.at(p) - (halfOf(q, p) ?? 0), q.at(p) + (halfOf(q, p) ?? 0)]);
  const low = Math.max(0, Math.min(...all)), high = Math.max(...all), room = 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
  const series: object[] = [];
  groups.forEach((group, i) => {
    const place = { xAxisIndex: i, yAxisIndex: i };
    if (of_best !== undefined && group !== of_best)
      series.push({ type: "line", name: "of the best", ...place, silent: true, symbol: "none", lineStyle: { color: colours.grey, type: "dashed", width: 1 }, tooltip: { show: false }, data: of(of_best).map((p) => [at(p), q.at(p)]) });
    series.push({
      type: "line", name: group, ...place, itemStyle: { color: colours.blue }, lineStyle: { color: colours.blue, width: 2 },
      data: of(group).map((p) => ({ value: [at(p), q.at(p)], name: p.point, symbolSize: p.point === scenario.best ? 16 : p.reference ? 9 : 5,
        symbol: p.point === scenario.best ? star : symbolOf(p), ...(p.point === scenario.best ? { itemStyle: { color: colours.vermilion } } : {}) })),
    });
    const bars = of(group).filter((p) => halfOf(q, p) !== null).map((p) => [at(p), Math.max(0, q.at(p) - halfOf(q, p)!), q.at(p) + halfOf(q, p)!]);
    series.push(errorBars(bars as (number | string)[][], colours.blue, { name: `95 % ${group}`, ...place }));
  });
  const point = new Map(scenario.points.map((p) => [p.point, p]));
  return {
    boxHeight,
    title: groups.map((group, i) => ({ text: printable(group), left: `${(i % columns) * width + 0.5}%`, top: Math.floor(i / columns) * height, textStyle: { fontSize: 12, fontWeight: "normal", width: Math.floor(220), overflow: "truncate" } })),
    grid: groups.map((_, i) => ({ outerBoundsMode: "none", left: `${(i % columns) * width + 5}%`, width: `${width - 6}%`, top: Math.floor(i / columns) * height + 22, height: height - 62 })),
    xAxis: groups.map((_, i) => ({ type: axis.numeric ? "value" : "category", data: axis.numeric ? undefined : texts.map(printable), gridIndex: i, scale: true, name: i >= groups.length - columns ? axisTitle(axis) : "", nameLocation: "middle", nameGap: 22, axisLabel: { fontSize: 10 }, splitNumber: 3 })),
    yAxis: groups.map((_, i) => ({ type: "value", gridIndex: i, min: Math.max(low >= 0 ? 0 : -Infinity, low - room), max: high + room, name: i === 0 ? q.unit : "", nameTextStyle: { align: "left" }, splitNumber: 3, axisLabel: { fontSize: 10, formatter: (v: number) => significant(v, 3) } })),
    tooltip: { trigger: "item", formatter: (item: { data: { name?: string } }) => { const p = point.get(item.data.name ?? ""); return p ? `${printable(p.called)}\n${q.title} ${withInterval(q.of(p), q.unit)}\n${p.counted} of ${p.trials} trials count` : ""; } },
    series,
  };
}

function together(q: Quantity, scenario: Scenario, axes: Axis[], axis: Axis, groups: string[]): object {
  const texts = orderedTexts(axis, [...scenario.points, ...(scenario.search?.model ?? [])]);
  const at = (p: Point | ModelPoint): number | string => (axis.numeric ? inUnit(axis, p.values[axis.name]!) : printable(p.settings[axis.name]!));
  const series: object[] = [];
  const named = scenario.points.find((p) => p.point === scenario.best);
  const of_best = named && axis.name in named.settings ? otherSettings(named, axes, [axis.name]) : undefined;
  groups.forEach((group, g) => {
    const colour = spread(g, groups.length);
    const points = scenario.points
      .filter((p) => q.of(p) && axis.name in p.settings && otherSettings(p, axes, [axis.name]) === group)
      .sort((a, b) => texts.indexOf(a.settings[axis.name]!) - texts.indexOf(b.settings[axis.name]!));
    const model = q.objective ? (scenario.search?.model ?? []).filter((m) => otherSettings(m, axes, [axis.name]) === group) : [];
    if (model.length > 1 && (groups.length <= 4 || group === of_best)) {
      const line = (name: string, data: object[], extra: object): object => ({ type: "line", name, data, symbol: "none", stack: `band ${g}`, silent: true, tooltip: { show: false }, ...extra });
      const banded = model.flatMap((m) => (m.low_95 === null || m.high_95 === null ? [] : [{ m, low: m.low_95, high: m.high_95 }]));
      if (banded.length > 0) series.push(line(`model, low ${group}`, banded.map(({ m, low }) => ({ value: [at(m), low] })), { lineStyle: { opacity: 0 }, stackStrategy: "all" }));
      if (banded.length > 0) series.push(line(`model, band ${group}`, banded.map(({ m, low, high }) => ({ value: [at(m), high - low] })), { lineStyle: { opacity: 0 }, areaStyle: { color: colour, opacity: 0.18 }, stackStrategy: "all" }));
      series.push({ type: "line", name: `model ${group}`, data: model.map((m) => [at(m), m.objective]), symbol: "none", silent: true, lineStyle: { color: colour, type: "dashed", width: 1 }, tooltip: { show: false } });
    }
    series.push({
      type: "line", name: group || q.title, itemStyle: { color: colour }, lineStyle: { color: colour, width: scenario.search ? 0 : 2 }, symbolSize: 8,
      data: points.map((p) => ({
        value: [at(p), q.at(p)], name: p.point, symbolSize: p.reference ? 11 : 7, symbol: symbolOf(p),
      })),
    });
    // Single machines thin behind the type's line.
    for (const node of groups.length > 4 ? [] : scenario.nodes ?? []) {
      const of = new Map(node.points.map((p) => [p.point, p]));
      const data = points.map((p) => [at(p), q.of_node(of.get(p.point))]).filter((d) => d[1] !== null);
      series.push({ type: "line", name: `${node.node} ${group}`, data, symbol: "none", silent: true, z: 1, lineStyle: { color: colour, width: 1, opacity: 0.35 }, tooltip: { show: false } });
    }
    const bars = points.filter((p) => halfOf(q, p) !== null).map((p) => [at(p), q.at(p) - halfOf(q, p)!, q.at(p) + halfOf(q, p)!]);
    series.push(errorBars(bars as (number | string)[][], colour, { name: `95 % ${group}` }));
  });
  const best = scenario.points.filter((p) => p.point === scenario.best && q.of(p) && axis.name in p.settings);
  series.push({ type: "scatter", name: "best", symbol: star, symbolSize: 20, z: 6, itemStyle: { color: colours.vermilion, borderColor: "#fff", borderWidth: 1 }, data: best.map((p) => ({ value: [at(p), q.at(p)], name: p.point })) });
  const point = new Map(scenario.points.map((p) => [p.point, p]));
  return {
    boxHeight: 300,
    grid: { left: 64, right: 16, top: groups.length > 1 ? 64 : 36, bottom: 48 },
    legend: groups.length > 1 ? { type: "scroll", top: 0, data: groups } : undefined,
    xAxis: { type: axis.numeric ? "value" : "category", data: axis.numeric ? undefined : texts.map(printable), name: axisTitle(axis), nameLocation: "middle", nameGap: 28, scale: true },
    yAxis: { type: "value", name: `${q.title} (${q.unit})`, scale: true, min: from_zero, nameTextStyle: { align: "left" } },
    tooltip: {
      trigger: "item",
      formatter: (item: { data: { name?: string } }) => {
        const p = point.get(item.data.name ?? "");
        return p ? `${printable(p.called)}\n${q.title} ${withInterval(q.of(p), q.unit)}\n${p.counted} of ${p.trials} trials count` : significant(NaN);
      },
    },
    series,
  };
}
