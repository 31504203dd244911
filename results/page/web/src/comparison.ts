// Two results side by side: what changed beyond the noise, point by point.
import { chart, colours, errorBars } from "./charts";
import { choice, el, section } from "./dom";
import { plainTable } from "./tables";
import { dash, percent, printable, significant } from "./text";

interface Changed { value: number; n: number; low_95: number | null; high_95: number | null; beyond_noise?: boolean }
interface Side { trials: number; counted: number; energy_j: number | null; time_s: number | null; mean_power_w: number | null }
interface ComparedPoint { point: string; called: string; reference: boolean; before: Side; after: Side; energy: Changed | null; time: Changed | null; power: Changed | null; saving_before: number | null; saving_after: number | null }
interface ComparedScenario { scenario: string; per: string | null; against: string | null; best_before: string | null; best_after: string | null; points: ComparedPoint[]; only_before: string[]; only_after: string[] }
export interface Comparison { before: string; after: string; of_levels: boolean; same_plan: boolean; warnings: string[]; answer: string[]; machine: { what: string; before: string; after: string }[]; scenarios: ComparedScenario[] }

const text = (c: Changed | null): string =>
  c ? `${c.value >= 0 ? "+" : ""}${percent(c.value)}${c.low_95 === null ? "" : ` [${(100 * c.low_95).toFixed(1)}, ${(100 * c.high_95!).toFixed(1)}]`}${c.beyond_noise ? " !" : ""}` : dash;

function changes(scenario: ComparedScenario, index: number, ofLevels: boolean): HTMLElement {
  const names = ["energy", "time", "power"] as const;
  let name: (typeof names)[number] = "energy";
  const base = printable(scenario.points.find((p) => p.point === scenario.against)?.called ?? "the reference");
  const one = chart(index === 0 ? "changes" : `changes-${index}`, `Change of each setting from before to after${ofLevels ? "" : `, relative to ${base} of its own night`}, with 95 % intervals; a triangle lies beyond the noise at 5 % for all together`, 500, () => {
    const points = scenario.points.filter((p) => p[name] !== null);
    const dots = (label: string, symbol: string, colour: string, which: (p: ComparedPoint) => boolean): object => ({
      type: "scatter", name: label, symbol, symbolSize: 10, itemStyle: { color: colour }, data: points.map((p, i) => ({ value: [i, 100 * p[name]!.value], name: p.point })).filter((_, i) => which(points[i]!)),
    });
    return {
      grid: { left: 60, right: 16, top: 40, bottom: 190 }, legend: { top: 0, data: ["within the noise", "beyond the noise"] },
      xAxis: { type: "category", data: points.map((p) => printable(p.called)), axisLabel: { rotate: 60, interval: points.length > 40 ? "auto" : 0 } },
      yAxis: { type: "value", name: `change of ${name}${ofLevels ? "" : ` against ${base}`} (%)`, nameTextStyle: { align: "left" } },
      tooltip: { formatter: (i: { data: { name: string } }) => { const p = points.find((q) => q.point === i.data.name)!; return `${printable(p.called)}\nenergy ${text(p.energy)}\ntime ${text(p.time)}\npower ${text(p.power)}`; } },
      series: [dots("within the noise", "circle", colours.blue, (p) => !p[name]!.beyond_noise), dots("beyond the noise", "triangle", colours.vermilion, (p) => p[name]!.beyond_noise === true),
        errorBars(points.flatMap((p, i) => (p[name]!.low_95 === null ? [] : [[i, 100 * p[name]!.low_95!, 100 * p[name]!.high_95!]])), colours.grey, { name: "95 %" })],
    };
  });
  const per = scenario.per === null ? "" : ` per ${printable(scenario.per)}`;
  const number = (v: number | null): string => (v === null ? dash : significant(v));
  const share = (v: number | null): string => (v === null ? dash : percent(v));
  const mark = (p: ComparedPoint): string => [p.point === scenario.best_before ? "best before" : "", p.point === scenario.best_after ? "best after" : "", p.reference ? "reference" : ""].filter((m) => m).join(", ");
  return section(`scenario-${index}`, scenario.scenario, choice("Show", [...names], 0, (i) => { name = names[i]!; one.show(); }), one.box,
    plainTable("changes", ["setting", "mark", `energy${per} before (J)`, "after (J)", ...(ofLevels ? ["change", `time${per}: change`, "mean power: change"] : [`against ${base}`, `time${per}: likewise`, "mean power: likewise"]), "saving before", "after"],
      scenario.points.map((p) => [p.called, mark(p), number(p.before.energy_j), number(p.after.energy_j), text(p.energy), text(p.time), text(p.power), share(p.saving_before), share(p.saving_after)])),
    scenario.only_before.length > 0 ? el("p", {}, `Only before: ${scenario.only_before.join(", ")}`) : null,
    scenario.only_after.length > 0 ? el("p", {}, `Only after: ${scenario.only_after.join(", ")}`) : null);
}

export function showComparison(place: HTMLElement, c: Comparison, tools: HTMLElement): void {
  place.append(el("header", {}, el("h1", {}, "Before and after"), el("p", {}, `before: ${c.before}`), el("p", {}, `after: ${c.after}`), tools));
  for (const warning of [...(c.same_plan ? [] : ["the plans differ; what is in both is compared"]), ...c.warnings]) place.append(el("p", { class: "warning" }, `Warning: ${warning}`));
  place.append(section("answer", "What changed", ...c.answer.map((sentence) => el("p", { class: "sentence" }, sentence))));
  c.scenarios.forEach((scenario, i) => place.append(changes(scenario, i, c.of_levels)));
  place.append(section("machine", "What differs between the two machines", c.machine.length === 0 ? el("p", {}, "Nothing that is on record.") : plainTable("differences", ["fact", "before", "after"], c.machine.map((d) => [d.what, d.before || dash, d.after || dash]))));
}
