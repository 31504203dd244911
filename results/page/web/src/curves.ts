// Energy, time and power against one axis, a line for each setting of the others, with 95 % intervals and, of an adaptive
// search, what its model expects of every setting.
import { axesOf, axisTitle, inUnit, orderedTexts, otherSettings, type Axis } from "./axes";
import { chart, colours, errorBars, scale_colours, series_colours, star, type Chart } from "./charts";
import { choice, el, section } from "./dom";
import type { Estimate, ModelPoint, NodePoint, Point, Report, Scenario } from "./model";
import { printable, significant, withInterval } from "./text";

interface Quantity { name: string; title: string; unit: string; of: (p: Point) => Estimate | null; of_node: (p: NodePoint | undefined) => number | null; objective: boolean }

function quantities(scenario: Scenario): Quantity[] {
  const per = scenario.per ? ` per ${scenario.per}` : "";
  return [
    { name: "energy", title: `energy${per}`, unit: "J", of: (p) => p.work_energy_j, of_node: (p) => p?.work_energy_j ?? null, objective: scenario.objective === "energy" },
    { name: "time", title: `time${per}`, unit: "s", of: (p) => p.work_time_s, of_node: (p) => p?.work_time_s ?? null, objective: scenario.objective === "time" },
    { name: "power", title: "mean power", unit: "W", of: (p) => p.mean_power_w, of_node: (p) => p?.mean_power_w ?? null, objective: false },
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
    chart(q.name, `${q.title} against each setting, with 95 % intervals; the star is the best, a square the reference, rings cannot be told from the best`, 300, () => option(q, scenario, axes, axis)));
  if (charts.length === 0) return null;
  const pick = axes.length > 1 ? choice("Against", axes.map((a) => a.name), 0, (i) => { axis = axes[i]!; charts.forEach((c) => c.show()); }) : null;
  return section("curves", "What each setting costs", pick,
    scenario.search && options.some((q) => q.objective) ? el("p", {}, "The band is what the search's model expects of every setting of the best's line (of up to four lines: of each), with 95 % probability; dots were run.") : null,
    el("div", { class: "three" }, ...charts.map((c) => c.box)));
}

function option(q: Quantity, scenario: Scenario, axes: Axis[], axis: Axis): object {
  const texts = orderedTexts(axis, [...scenario.points, ...(scenario.search?.model ?? [])]);
  const at = (p: Point | ModelPoint): number | string => (axis.numeric ? inUnit(axis, p.values[axis.name]!) : printable(p.settings[axis.name]!));
  const groups = [...new Set(scenario.points.filter((p) => axis.name in p.settings).map((p) => otherSettings(p, axes, [axis.name])))];
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
      series.push(line(`model, low ${group}`, model.map((m) => ({ value: [at(m), m.low_95] })), { lineStyle: { opacity: 0 }, stackStrategy: "all" }));
      series.push(line(`model, band ${group}`, model.map((m) => ({ value: [at(m), m.high_95 - m.low_95] })), { lineStyle: { opacity: 0 }, areaStyle: { color: colour, opacity: 0.18 }, stackStrategy: "all" }));
      series.push({ type: "line", name: `model ${group}`, data: model.map((m) => [at(m), m.objective]), symbol: "none", silent: true, lineStyle: { color: colour, type: "dashed", width: 1 }, tooltip: { show: false } });
    }
    series.push({
      type: "line", name: group || q.title, itemStyle: { color: colour }, lineStyle: { color: colour, width: scenario.search ? 0 : 2 }, symbolSize: 8,
      data: points.map((p) => ({
        value: [at(p), q.of(p)!.mean], name: p.point, symbolSize: p.reference ? 11 : 7,
        symbol: p.reference ? "rect" : p.not_told_apart_from_best ? "emptyCircle" : "circle",
      })),
    });
    // Single machines thin behind the type's line.
    for (const node of groups.length > 4 ? [] : scenario.nodes ?? []) {
      const of = new Map(node.points.map((p) => [p.point, p]));
      const data = points.map((p) => [at(p), q.of_node(of.get(p.point))]).filter((d) => d[1] !== null);
      series.push({ type: "line", name: `${node.node} ${group}`, data, symbol: "none", silent: true, z: 1, lineStyle: { color: colour, width: 1, opacity: 0.35 }, tooltip: { show: false } });
    }
    const bars = points.filter((p) => q.of(p)!.half_width_95 !== null).map((p) => [at(p), q.of(p)!.mean - q.of(p)!.half_width_95!, q.of(p)!.mean + q.of(p)!.half_width_95!]);
    series.push(errorBars(bars as (number | string)[][], colour, { name: `95 % ${group}` }));
  });
  const best = scenario.points.filter((p) => p.point === scenario.best && q.of(p) && axis.name in p.settings);
  series.push({ type: "scatter", name: "best", symbol: star, symbolSize: 20, z: 6, itemStyle: { color: colours.vermilion, borderColor: "#fff", borderWidth: 1 }, data: best.map((p) => ({ value: [at(p), q.of(p)!.mean], name: p.point })) });
  const point = new Map(scenario.points.map((p) => [p.point, p]));
  return {
    grid: { left: 64, right: 16, top: groups.length > 1 ? 64 : 36, bottom: 48 },
    legend: groups.length > 1 ? { type: "scroll", top: 0, data: groups } : undefined,
    xAxis: { type: axis.numeric ? "value" : "category", data: axis.numeric ? undefined : texts.map(printable), name: axisTitle(axis), nameLocation: "middle", nameGap: 28, scale: true },
    yAxis: { type: "value", name: `${q.title} (${q.unit})`, scale: true, nameTextStyle: { align: "left" } },
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
