// Whether the answer still stood, each time that it was looked at: the saving over the months.
import { chart, colours, errorBars } from "./charts";
import { el, section } from "./dom";
import type { Recheck, Report, Scenario } from "./model";
import { words } from "./questions";
import { plainTable } from "./tables";
import { dash, percent, printable } from "./text";

const verdicts: Record<string, string> = { stands: "stands", changed: "changed", not_known: "not known yet" };
const saving = (value: number | null, low: number | null, high: number | null): string =>
  value === null ? dash : `${percent(value)}${low === null || high === null ? "" : ` [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`}`;

export function rechecks(report: Report, scenario: Scenario): HTMLElement | null {
  const mine = (report.rechecks ?? []).filter((r) => r.scenario === scenario.scenario);
  if (mine.length === 0) return null;
  // What is better by is the objective, whatever it is; and what is rechecked is the best that was: where that has changed, so has what the
  // dots are of.
  const gain = scenario.objective === "energy" ? "saving" : `less ${words[scenario.objective] ?? scenario.objective} than the reference`;
  const called = (point: string): string => scenario.points.find((p) => p.point === point)?.called ?? point;
  // One that was asked something else (another objective, limit or reference, before the file changed) is in the table alone.
  const same = (r: Recheck): boolean => r.question === null || r.question === undefined || r.question === scenario.question;
  const asked = mine.filter(same), table = plainTable("each recheck", ["when (UTC)", "setting", "verdict", "saving then", "saving", "trials that count", "asked for", "why"],
    mine.map((r) => [r.at.slice(0, 16).replace("T", " "), called(r.point), verdicts[r.verdict] ?? r.verdict, saving(r.saving_before, r.saving_before_low, r.saving_before_high), saving(r.saving, r.saving_low, r.saving_high), `${r.counted} of ${r.trials}`, r.question ?? scenario.question ?? "", r.why]));
  const small = el("p", { class: "small" }, "Only the best then, its nearest rivals and the reference are run again: whether another setting has become better is not seen by it. A saving is of the objective that was asked for, against the reference then.");
  if (asked.length === 0) return section("rechecks", "Rechecked", el("p", {}, "It was rechecked for other questions than the one that is answered here."), table, small);
  const now = asked[asked.length - 1]!.point, of_it = asked.filter((r) => r.point === now);
  const first = of_it[0]!, shown = of_it.filter((r) => r.saving !== null), others = asked.length - of_it.length, otherwise = mine.length - asked.length;
  const dots = (verdict: Recheck["verdict"], symbol: string, colour: string): object => ({
    type: "scatter", name: verdicts[verdict], symbol, symbolSize: 11, itemStyle: { color: colour },
    data: shown.filter((r) => r.verdict === verdict).map((r) => ({ value: [Date.parse(r.at), 100 * r.saving!], name: r.why })),
  });
  const one = chart("rechecks", `${gain === "saving" ? "The saving against the reference" : gain[0]!.toUpperCase() + gain.slice(1)} of ${called(now)}, as it was found and each time that it was looked at again, with 95 % intervals${others > 0 ? `; ${others} of another setting ${others === 1 ? "is" : "are"} in the table alone` : ""}${otherwise > 0 ? `; ${otherwise} asked otherwise, in the table alone` : ""}`, 300, () => ({
    grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0, data: ["the sweep", "stands", "changed", "not known yet"] },
    xAxis: { type: "time", name: "UTC", axisLabel: { hideOverlap: true } }, yAxis: { type: "value", scale: true, name: `${gain} (%)`, nameTextStyle: { align: "left" } },
    tooltip: { formatter: (i: { seriesName: string; data: { name: string; value: number[] } }) => `${new Date(i.data.value[0]!).toISOString().slice(0, 10)} UTC: ${i.seriesName}, ${i.data.value[1]!.toFixed(1)} %\n${printable(i.data.name)}` },
    series: [
      { type: "scatter", name: "the sweep", symbol: "rect", symbolSize: 11, itemStyle: { color: colours.blue }, data: first.saving_before === null ? [] : [{ value: [Date.parse(report.created_at), 100 * first.saving_before], name: "as it was found" }] },
      dots("stands", "circle", colours.green), dots("changed", "triangle", colours.vermilion), dots("not_known", "emptyCircle", colours.grey),
      errorBars([...(first.saving_before_low === null || first.saving_before_high === null ? [] : [[Date.parse(report.created_at), 100 * first.saving_before_low, 100 * first.saving_before_high]]),
        ...shown.filter((r) => r.saving_low !== null && r.saving_high !== null).map((r) => [Date.parse(r.at), 100 * r.saving_low!, 100 * r.saving_high!])], colours.grey, { name: "95 %" }),
    ],
  }));
  return section("rechecks", "Rechecked", one.box, table, small);
}
