// What the sensors saw during one trial: power, clocks and temperature over time, its regions, and where it was throttled.
// Of trials that are looked at first every reading is there; of the others the least and the most of each stretch, so that no peak is lost.
import { chart, colours, series_colours } from "./charts";
import { choice, el, section } from "./dom";
import type { AllTraces, Report, TraceGroup, Trial, TrialTrace } from "./model";
import { plain, printable, significant } from "./text";

interface Line { group: TraceGroup; data: [number, number | null][] }

export function decode(trace: TrialTrace, all: AllTraces): Line[] {
  const total = trace.parts.reduce((n, [, count]) => n + count, 0);
  const word = (i: number, from: number): number => all.samples[from + i]! | (all.samples[from + total + i]! << 8);
  let at = 0;
  return trace.parts.map(([group, count, low, high]) => {
    const data: [number, number | null][] = [];
    let step = 0;
    for (let i = 0; i < count; ++i, ++at) {
      const value = word(at, trace.at);
      step = (step + word(at, trace.at + 2 * total)) & 0xffff;
      data.push([trace.from_s + ((trace.to_s - trace.from_s) * step) / 65535, value === 65535 ? null : value === 65534 ? high : low + ((high - low) * value) / 65534]);
    }
    return { group: all.groups[group]!, data };
  });
}

// Hz as GHz; the rest as it is.
const shown = (unit: string): [string, number] => (unit === "Hz" ? ["GHz", 1e-9] : unit === "C" ? ["\u00b0C", 1] : [unit, 1]);
const words: Record<string, string> = { W: "power", Hz: "clock", C: "temperature" };

// Of several boards the same time counts once.
function lengthOf(spans: [number, number][]): number {
  let length = 0, until = -Infinity;
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    length += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return length;
}

export function traceSection(report: Report, all: AllTraces): HTMLElement | null {
  const known = report.trials.filter((t) => String(t.trial) in all.trials);
  if (known.length === 0) return null;
  let kind = 0, shownTrials = known, chosen = known[0]!;
  const kinds: [string, (t: Trial) => boolean][] = [["all trials", () => true], ["those of the best", (t) => report.scenarios.some((s) => s.best === t.point)], ["those of the reference", (t) => t.reference], ["those that do not count", (t) => !t.counts]];
  const one = chart("trace", "Power, clocks and temperature during one trial", 520, () => option(chosen, all.trials[String(chosen.trial)]!, all));
  const about = el("p", { id: "trace-about" });
  const held = el("p", { id: "trace-throttled" });
  const drawn = el("p", { id: "trace-drawn" });
  const say = (): void => {
    const causes = new Map<string, [number, number][]>();
    for (const [cause, from, to] of all.trials[String(chosen.trial)]!.throttled) causes.set(cause, [...(causes.get(cause) ?? []), [from, to]]);
    held.textContent = causes.size === 0 ? "" : `Shaded red, throttled: ${[...causes].map(([cause, spans]) => `${printable(cause)}, in stretches of ${significant(lengthOf(spans), 3)} s together`).join("; ")} (a second counts once, however many boards it held).`;
    about.textContent = printable(`${chosen.key}: ${chosen.counts ? "counts" : chosen.role === "warm_up" ? "a warm-up, which does not count" : chosen.left_out ? `does not count: ${chosen.left_out}` : `does not count (${chosen.verdict}: ${chosen.verdict_text})`}`);
    drawn.textContent = all.trials[String(chosen.trial)]!.whole
      ? "Every reading of a gauge is drawn, and of a counter its mean power over each five of its updates, since of one alone the moment is not known closely enough: the slider below the chart, or Ctrl and the wheel, zooms in."
      : `Of each stretch of time the least and the most are drawn, so that no peak is lost; every reading: dvfs-plan sql RESULT.sqlite 'select * from readings where trial = ${chosen.trial}'`;
    one.show();
  };
  const place = el("span", { class: "choices" });
  const trials = (): void => place.replaceChildren(
    choice("Trial", shownTrials.map((t) => `${t.trial}: ${t.key}`), shownTrials.indexOf(chosen), (i) => { chosen = shownTrials[i]!; say(); }));
  const move = (by: number): void => {
    const next = shownTrials[shownTrials.indexOf(chosen) + by];
    if (next) { chosen = next; trials(); say(); }
  };
  trials();
  say();
  const of = choice("Of", kinds.map(([name, which]) => `${name} (${known.filter(which).length})`), 0, (i) => {
    kind = i;
    const some = known.filter(kinds[kind]![1]);
    if (some.length === 0) return;
    shownTrials = some;
    chosen = some[0]!;
    trials();
    say();
  });
  return section("trace", "Traces", el("div", { class: "choices" }, of, place,
    el("button", { type: "button", click: () => move(-1) }, "previous"), el("button", { type: "button", click: () => move(1) }, "next")), about, held, one.box, drawn,
    all.left_out > 0 ? el("p", {}, `${all.left_out} trials' traces are not in this page; the result file holds all of them: dvfs-plan sql RESULT.sqlite 'select * from readings where trial = 1'`) : null);
}

function option(trial: Trial, trace: TrialTrace, all: AllTraces): object {
  const lines = decode(trace, all);
  const units = [...new Set(lines.map((l) => l.group.unit))].sort((a, b) => "W Hz C".indexOf(a) - "W Hz C".indexOf(b));
  const height = 78 / Math.max(1, units.length);
  const areas = [
    ...trace.regions.map(([name, from, to, counts]) => [{ xAxis: from, name: printable(name || "the whole process"), itemStyle: { color: counts ? colours.green : colours.grey, opacity: 0.13 }, label: { color: colours.green, position: "insideTopLeft" } }, { xAxis: to }]),
    ...trace.throttled.map(([name, from, to]) => [{ xAxis: from, name: printable(name), itemStyle: { color: colours.vermilion, opacity: 0.25 }, label: { show: false } }, { xAxis: to }]),
  ];
  return {
    title: { text: printable(trial.key), show: false },
    legend: { type: "scroll", top: 0, data: lines.map((l) => printable(l.group.name)) },
    grid: units.map((_, i) => ({ outerBoundsMode: "none", left: 64, right: 16, top: `${12 + i * height}%`, height: `${height - 9}%` })),
    xAxis: units.map((_, i) => ({ type: "value", gridIndex: i, min: trace.from_s, max: trace.to_s, name: i === units.length - 1 ? "time since the launch (s)" : "", nameLocation: "middle", nameGap: 24, axisLabel: { show: i === units.length - 1, formatter: (v: number) => plain(v, 6), showMinLabel: false, showMaxLabel: false } })),
    yAxis: units.map((unit, i) => ({ type: "value", gridIndex: i, scale: true, name: `${words[unit] ?? unit} (${shown(unit)[0]})`, nameTextStyle: { align: "left" } })),
    dataZoom: [{ type: "slider", xAxisIndex: units.map((_, i) => i), bottom: 4, height: 22, filterMode: "none" }, { type: "inside", xAxisIndex: units.map((_, i) => i), filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: false }],
    tooltip: { trigger: "axis", axisPointer: { type: "line" }, valueFormatter: (v: unknown) => (typeof v === "number" ? significant(v) : "\u2014") },
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    series: lines.map((l, i) => ({
      type: "line", name: printable(l.group.name), xAxisIndex: units.indexOf(l.group.unit), yAxisIndex: units.indexOf(l.group.unit), symbol: "none", step: l.group.step ? "end" : false,
      lineStyle: { width: 1.2, color: series_colours[i % series_colours.length] }, itemStyle: { color: series_colours[i % series_colours.length] }, connectNulls: false,
      data: l.data.map(([t, v]) => [t, v === null ? null : v * shown(l.group.unit)[1]]),
      markArea: i === lines.findIndex((m) => m.group.unit === l.group.unit) ? { silent: true, data: areas } : undefined,
    })),
  };
}
