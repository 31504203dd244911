// Whether the answer still stood, each time that it was looked at: the saving over the months.
import { chart, colours, errorBars } from "./charts";
import { el, section } from "./dom";
import type { Recheck, Report, Scenario } from "./model";
import { plainTable } from "./tables";
import { dash, percent, printable } from "./text";

const words: Record<string, string> = { stands: "stands", changed: "changed", not_known: "not known yet" };
const saving = (value: number | null, low: number | null, high: number | null): string =>
  value === null ? dash : `${percent(value)}${low === null || high === null ? "" : ` [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`}`;

export function rechecks(report: Report, scenario: Scenario): HTMLElement | null {
  const mine = (report.rechecks ?? []).filter((r) => r.scenario === scenario.scenario);
  if (mine.length === 0) return null;
  const first = mine[0]!, shown = mine.filter((r) => r.saving !== null);
  const dots = (verdict: Recheck["verdict"], symbol: string, colour: string): object => ({
    type: "scatter", name: words[verdict], symbol, symbolSize: 11, itemStyle: { color: colour },
    data: shown.filter((r) => r.verdict === verdict).map((r) => ({ value: [Date.parse(r.at), 100 * r.saving!], name: r.why })),
  });
  const one = chart("rechecks", "The saving against the reference, as it was found and each time that it was looked at again, with 95 % intervals", 300, () => ({
    grid: { left: 56, right: 16, top: 60, bottom: 48 }, legend: { top: 0, data: ["the sweep", "stands", "changed", "not known yet"] },
    xAxis: { type: "time", axisLabel: { hideOverlap: true } }, yAxis: { type: "value", scale: true, name: "saving (%)", nameTextStyle: { align: "left" } },
    tooltip: { formatter: (i: { seriesName: string; data: { name: string; value: number[] } }) => `${new Date(i.data.value[0]!).toISOString().slice(0, 10)}: ${i.seriesName}, ${i.data.value[1]!.toFixed(1)} %\n${printable(i.data.name)}` },
    series: [
      { type: "scatter", name: "the sweep", symbol: "rect", symbolSize: 11, itemStyle: { color: colours.blue }, data: first.saving_before === null ? [] : [{ value: [Date.parse(report.created_at), 100 * first.saving_before], name: "as it was found" }] },
      dots("stands", "circle", colours.green), dots("changed", "triangle", colours.vermilion), dots("not_known", "emptyCircle", colours.grey),
      errorBars([...(first.saving_before_low === null || first.saving_before_high === null ? [] : [[Date.parse(report.created_at), 100 * first.saving_before_low, 100 * first.saving_before_high]]),
        ...shown.filter((r) => r.saving_low !== null && r.saving_high !== null).map((r) => [Date.parse(r.at), 100 * r.saving_low!, 100 * r.saving_high!])], colours.grey, { name: "95 %" }),
    ],
  }));
  return section("rechecks", "Rechecked", one.box, plainTable("each recheck", ["when", "verdict", "saving then", "saving", "trials that count", "why"],
    mine.map((r) => [r.at.slice(0, 16).replace("T", " "), words[r.verdict] ?? r.verdict, saving(r.saving_before, r.saving_before_low, r.saving_before_high), saving(r.saving, r.saving_low, r.saving_high), `${r.counted} of ${r.trials}`, r.why])),
    el("p", { class: "small" }, "Only the best then, its nearest rivals and the reference are run again: whether another setting has become better is not seen by it."));
}
