// Energy against time: the Pareto front, the constraints as lines, and what a tolerated slowdown buys.
import { chart, colours, errorBars, star, type Chart } from "./charts";
import { el, section } from "./dom";
import { energyOf, levelled, perOne, timeOf, withoutBlocks, type Point, type Report, type Scenario } from "./model";
import { numberOf, set } from "./state";
import { changeText, percent, printable, withInterval } from "./text";

// The least energy within a slowdown, as the program found it: from each limit to the next one's.
export function withinSlowdown(scenario: Scenario, tolerated: number): Point | undefined {
  const within = scenario.by_slowdown.filter((o) => o.from <= tolerated + 1e-12);
  const last = within[within.length - 1];
  return last && scenario.points.find((p) => p.point === last.point);
}

export function tradeOff(_: Report, scenario: Scenario): HTMLElement | null {
  const points = scenario.points.filter((p) => p.work_energy_j && p.work_time_s);
  if (points.length < 2) return null;
  const largest = Math.max(0.01, ...scenario.by_slowdown.map((o) => o.from));
  const most = Math.ceil(largest * 105) / 100;
  const rule = scenario.constraint_rules.find((r) => r.name === "slowdown");
  let tolerated = numberOf("slowdown") ?? Math.min(most, rule?.bound ?? most);
  const named = el("output", { id: "tolerated-answer", for: "tolerated", "aria-live": "polite" });
  const one: Chart = chart("trade-off", `Energy against time; the line is the Pareto front${levelled(scenario) ? `; both${withoutBlocks}, for not all ran in the same blocks` : points.length <= 60 ? "; bars are 95 % intervals of the energy" : ""}`, 420, () => option(scenario, points, tolerated));
  const slider = el("input", { type: "range", id: "tolerated", min: 0, max: most, step: most / 500, value: Math.min(most, tolerated) });
  const say = (): void => {
    const p = withinSlowdown(scenario, tolerated);
    // Of the best what is stated of it everywhere; of another one its own trials', which luck has a part in once it is chosen by them.
    const stated = p && p.point === scenario.best && scenario.objective === "energy" ? scenario.gain_of_best ?? p.saving : p?.saving ?? null;
    const saving = p && !p.reference && stated ? `, ${changeText(stated)} less energy, ${changeText(p.slowdown)} slower` : "";
    named.textContent = `${percent(tolerated)}: ${p ? printable(p.called) : "nothing is known within it"}${saving}${p?.reference ? " (the reference itself)" : ""}`;
    named.dataset.point = p?.point ?? "";
    slider.setAttribute("aria-valuetext", named.textContent);
    const reaches = p && !p.reference ? p.slowdown?.high_95 ?? null : null;
    const own = p && !p.reference && stated === p.saving && scenario.points.length > 2 ? ` The saving is by ${scenario.search ? "the search's model" : "its own trials"}, not corrected for its having been chosen.` : "";
    const shown = !stated || p?.reference ? "" : stated.low_95 === null ? " Its saving has no interval." : stated.low_95 <= 0 ? " That it takes less energy than the reference is not shown." : "";
    doubt.textContent = (reaches !== null && reaches > tolerated ? `The 95 % interval of its slowdown reaches ${percent(reaches)}: that it is within ${percent(tolerated)} is not shown.`
      : p && !p.reference && p.slowdown && p.slowdown.high_95 === null ? "Its slowdown has no interval: one more repetition would give one." : "") + shown + own;
  };
  const entry = el("input", { type: "number", id: "tolerated-entry", min: 0, step: "any", value: (100 * tolerated).toFixed(1), "aria-label": "tolerated slowdown in per cent" });
  slider.addEventListener("input", () => { tolerated = Number(slider.value); entry.value = (100 * tolerated).toFixed(1); set("slowdown", String(tolerated)); say(); one.show(); });
  entry.addEventListener("input", () => {
    const value = Number(entry.value) / 100;
    if (entry.value.trim() === "" || !Number.isFinite(value) || value < 0) return;
    tolerated = value;
    slider.value = String(Math.min(most, value));
    set("slowdown", String(value));
    say();
    one.show();
  });
  const doubt = el("p", { id: "tolerated-doubt", class: "warning", role: "status" });
  say();
  const control = scenario.by_slowdown.length > 0 ? el("p", { class: "slider" }, el("label", { for: "tolerated" }, "Least energy within a slowdown of"), slider, entry, el("span", {}, "%"), named) : null;
  return section("trade-off", "Trade-offs", control, control ? doubt : null, one.box);
}

function option(scenario: Scenario, points: Point[], tolerated: number): object {
  const at = (p: Point): [number, number] => [timeOf(p)!, energyOf(p)!];
  const front = points.filter((p) => p.on_pareto_front).sort((a, b) => at(a)[0] - at(b)[0]);
  const reference = points.find((p) => p.reference), chosen = withinSlowdown(scenario, tolerated);
  const dots = (name: string, which: Point[], symbol: string, size: number, colour: string, border = colour): object => ({
    type: "scatter", name, symbol, symbolSize: size, itemStyle: { color: colour, borderColor: border, borderWidth: 1.5 }, data: which.map((p) => ({ value: at(p), name: p.point })),
  });
  const lines: object[] = [];
  const vertical = (x: number, label: string, colour: string, position = "insideEndTop"): number => lines.push({ xAxis: x, lineStyle: { color: colour, type: "dashed" }, label: { formatter: label, color: colour, position } });
  for (const r of scenario.constraint_rules) {
    if (r.name === "slowdown" && reference) vertical(at(reference)[0] * (1 + r.bound), `slowdown ${r.relation} ${percent(r.bound)}`, colours.vermilion);
    if (r.name === "time" && perOne(scenario) === "") vertical(r.bound, `time ${r.relation} ${r.bound} s`, colours.vermilion);
    if (r.name === "energy" && perOne(scenario) === "") lines.push({ yAxis: r.bound, lineStyle: { color: colours.vermilion, type: "dashed" }, label: { formatter: `energy ${r.relation} ${r.bound} J`, color: colours.vermilion, position: "insideEndTop" } });
  }
  if (reference) vertical(at(reference)[0] * (1 + tolerated), `tolerated ${percent(tolerated)}`, colours.purple, "insideStartTop");
  const times = points.map((p) => at(p)[0]), limits = scenario.constraint_rules.filter((r) => r.name === "power");
  const width = Math.max(...times) - Math.min(...times);
  const around = (end: number): number => (end === 0 ? Math.min(...times) - 0.04 * width : Math.max(...times) + 0.04 * width);
  const few = points.length <= 60 && !levelled(scenario);
  return {
    grid: { left: 70, right: 20, top: 60, bottom: 50 },
    legend: { type: "scroll", top: 0, data: ["settings", "breaks a constraint", "not told apart from the best", "Pareto front", "reference", "best", "within the slowdown"] },
    xAxis: { type: "value", scale: true, min: around(0), max: around(1), axisLabel: { showMinLabel: false, showMaxLabel: false }, name: `time${perOne(scenario)} (s)`, nameLocation: "middle", nameGap: 28 },
    yAxis: { type: "value", scale: true, name: `energy${perOne(scenario)} (J)`, nameTextStyle: { align: "left" } },
    tooltip: {
      formatter: (item: { data: { name?: string } }) => {
        const p = points.find((q) => q.point === item.data.name);
        return p ? `${printable(p.called)}\nenergy ${withInterval(p.work_energy_j, "J")}\ntime ${withInterval(p.work_time_s, "s")}\nsaving ${changeText(p.saving)}, slowdown ${changeText(p.slowdown)}` : "";
      },
    },
    series: [
      dots("settings", points.filter((p) => p.feasible !== false), "circle", 7, colours.sky),
      dots("breaks a constraint", points.filter((p) => p.feasible === false), "triangle", 7, colours.grey),
      dots("not told apart from the best", points.filter((p) => p.not_told_apart_from_best), "circle", 13, "transparent", colours.blue),
      { type: "line", name: "Pareto front", data: front.map((p) => ({ value: at(p), name: p.point })), symbol: "none", lineStyle: { color: colours.orange, width: 2 }, markLine: { symbol: "none", silent: true, precision: -1, data: lines } },
      ...limits.map((r) => ({ type: "line", name: `power ${r.relation} ${r.bound} W`, symbol: "none", silent: true, lineStyle: { color: colours.vermilion, type: "dashed" }, data: [Math.min(...times), Math.max(...times)].map((t) => [t, t * r.bound]) })),
      few ? errorBars(points.filter((p) => p.work_energy_j!.half_width_95 !== null).map((p) => [at(p)[0], at(p)[1] - p.work_energy_j!.half_width_95!, at(p)[1] + p.work_energy_j!.half_width_95!]), colours.sky, { name: "95 %" }) : { type: "line", data: [] },
      dots("reference", reference ? [reference] : [], "rect", 13, colours.blue),
      dots("best", points.filter((p) => p.point === scenario.best), star, 22, colours.vermilion),
      dots("within the slowdown", chosen && chosen.work_energy_j && chosen.work_time_s ? [chosen] : [], "circle", 20, "transparent", colours.purple),
    ],
  };
}
