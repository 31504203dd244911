// Two axes at once: a cell each setting, the best, the reference and what cannot be told from the best marked by shape.
import { axesOf, axisTitle, inUnit, orderedTexts, otherSettings, type Axis } from "./axes";
import { chart, scale_colours, star } from "./charts";
import { choice, el, section } from "./dom";
import { energyOf, levelled, perOne, timeOf, withoutBlocks, type ModelPoint, type Point, type Report, type Scenario } from "./model";
import { changeText, plain, printable, significant, withInterval } from "./text";

// `modelled`: what a search's model says of it where nothing was run.
interface Quantity { title: string; note?: string; unit: string; of: (p: Point) => number | null; modelled?: boolean }

export function heatMap(_: Report, scenario: Scenario): HTMLElement | null {
  const axes = axesOf(scenario);
  if (axes.length < 2) return null;
  const per = perOne(scenario), as = levelled(scenario) ? withoutBlocks : "";
  const all = ([
    { title: `energy${per}`, note: as, unit: "J", of: energyOf, modelled: scenario.objective === "energy" },
    { title: "saving against the reference", unit: "%", of: (p) => (p.saving ? 100 * p.saving.value : p.reference && p.counted > 0 ? 0 : null) },
    { title: `time${per}`, note: as, unit: "s", of: timeOf, modelled: scenario.objective === "time" },
    { title: "slowdown", unit: "%", of: (p) => (p.slowdown ? 100 * p.slowdown.value : p.reference && p.counted > 0 ? 0 : null) },
    { title: "mean power", unit: "W", of: (p) => p.mean_power_w?.mean ?? null },
  ] as Quantity[]).filter((q) => scenario.points.some((p) => q.of(p) !== null));
  if (all.length === 0) return null;
  let x = axes[0]!, y = axes[1]!, quantity = all[0]!;
  const rest = (): string[] => [...new Set(scenario.points.map((p) => otherSettings(p, axes, [x.name, y.name])))];
  const best = scenario.points.find((p) => p.point === scenario.best);
  let slice = best ? otherSettings(best, axes, [x.name, y.name]) : rest()[0] ?? "";
  const one = chart("heat-map", "Two settings at once: a star is the best, a square the reference, a ring (or an empty square) what cannot be told from the best, a cross what was not run", 460,
    () => option(scenario, x, y, quantity, slice, axes));
  const title = (): string => `${x.name} by ${y.name}`;
  const choices = el("div", { class: "choices" });
  const place = section("heat-map", title(), choices, one.box);
  // Every choice says what is drawn: all are made anew with each change of an axis.
  const fill = (): void => {
    const slices = rest();
    if (!slices.includes(slice)) slice = best ? otherSettings(best, axes, [x.name, y.name]) : slices[0] ?? "";
    const names = axes.map((a) => a.name);
    const turn = (which: "x" | "y") => (i: number): void => {
      const other = which === "x" ? y : x, before = which === "x" ? x : y;
      const chosen = axes[i]!;
      const left = chosen === other ? before : other;
      if (which === "x") { x = chosen; y = left; } else { y = chosen; x = left; }
      fill();
      one.show();
    };
    choices.replaceChildren(choice("Show", all.map((q) => q.title), all.indexOf(quantity), (i) => { quantity = all[i]!; one.show(); }),
      ...(axes.length < 3 ? [] : [choice("Across", names, axes.indexOf(x), turn("x")), choice("Up", names, axes.indexOf(y), turn("y")),
        choice("At", slices, slices.indexOf(slice), (i) => { slice = slices[i]!; one.show(); })]));
    place.querySelector("h2")!.textContent = printable(title());
  };
  fill();
  return place;
}

function option(scenario: Scenario, x: Axis, y: Axis, quantity: Quantity, slice: string, axes: Axis[]): object {
  // Of a search all settings, so that what was not run is a gap and not left out.
  const every = [...scenario.points, ...(scenario.search?.model ?? [])];
  const columns = orderedTexts(x, every), rows = orderedTexts(y, every);
  const points = scenario.points.filter((p) => x.name in p.settings && y.name in p.settings && otherSettings(p, axes, [x.name, y.name]) === slice);
  const place = (p: Point | ModelPoint): [number, number] => [columns.indexOf(p.settings[x.name]!), rows.indexOf(p.settings[y.name]!)];
  const run = new Set(points.filter((p) => quantity.of(p) !== null).map((p) => p.point));
  const modelled = (quantity.modelled ? scenario.search?.model ?? [] : []).filter((m) => !run.has(m.point) && otherSettings(m, axes, [x.name, y.name]) === slice);
  const values = [...points.map((p) => quantity.of(p)).filter((v): v is number => v !== null), ...modelled.map((m) => m.objective)];
  const label = (axis: Axis, text: string): string => {
    const p = every.find((q) => q.settings[axis.name] === text);
    return axis.numeric && p ? plain(inUnit(axis, p.values[axis.name]!)) : printable(text);
  };
  const marks = (name: string, symbol: string, size: number, which: (p: Point) => boolean, hollow = false): object => ({
    type: "scatter", name, symbol, symbolSize: size, z: 5, silent: true, data: points.filter(which).map((p) => ({ value: place(p), name: p.point })),
    itemStyle: hollow ? { color: "transparent", borderColor: "#fff", borderWidth: 2, shadowColor: "#000", shadowBlur: 3 } : { color: "#fff", borderColor: "#000", borderWidth: 1.5 },
  });
  const cells = points.filter((p) => quantity.of(p) !== null).map((p) => ({ value: [...place(p), quantity.of(p)!], name: p.point }));
  cells.push(...modelled.map((m) => ({ value: [...place(m), m.objective], name: m.point })));
  return {
    grid: { left: 70, right: 16, top: 16, bottom: 110 },
    xAxis: { type: "category", data: columns.map((t) => label(x, t)), name: axisTitle(x), nameLocation: "middle", nameGap: 30 },
    yAxis: { type: "category", data: rows.map((t) => label(y, t)), name: axisTitle(y), nameLocation: "middle", nameGap: 50 },
    visualMap: {
      min: Math.min(...values), max: Math.max(...values), calculable: true, orient: "horizontal", left: "center", bottom: 0, seriesIndex: 0, formatter: (v: unknown) => significant(Number(v)),
      inRange: { color: scale_colours }, text: [`${quantity.title} (${quantity.unit})${quantity.note ?? ""}`, ""],
    },
    tooltip: {
      formatter: (item: { data: { name: string } }) => {
        const p = scenario.points.find((q) => q.point === item.data.name), m = scenario.search?.model.find((q) => q.point === item.data.name);
        if (!p || !run.has(p.point)) return m ? `${printable(m.point)}\nnot run; the model expects ${significant(m.objective)} ${quantity.unit}${m.low_95 === null || m.high_95 === null ? "" : ` [${significant(m.low_95)}, ${significant(m.high_95)}]`}` : "";
        return `${printable(p.called)}\nenergy ${withInterval(p.work_energy_j, "J")}\ntime ${withInterval(p.work_time_s, "s")}\nsaving ${changeText(p.saving)}, slowdown ${changeText(p.slowdown)}`;
      },
    },
    series: [
      { type: "heatmap", name: quantity.title, data: cells },
      marks("not told apart", "circle", 9, (p) => p.not_told_apart_from_best && p.point !== scenario.best && !p.reference, true),
      marks("reference", "rect", 12, (p) => p.reference && !p.not_told_apart_from_best),
      marks("reference, not told apart", "rect", 12, (p) => p.reference && p.not_told_apart_from_best, true),
      { type: "scatter", name: "not run: the model's median", symbol: "path://M0 0 L10 10 M10 0 L0 10", symbolSize: 7, z: 5, silent: true, itemStyle: { color: "none", borderColor: "#fff", borderWidth: 1.5 }, data: modelled.map((m) => ({ value: place(m), name: m.point })) },
      marks("best", star, 20, (p) => p.point === scenario.best),
    ],
  };
}
