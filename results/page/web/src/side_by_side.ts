// Several at once: how long each took against itself alone, and how much of the time all of them ran.
import { el, section } from "./dom";
import type { Report, Scenario } from "./model";
import { plainTable } from "./tables";
import { dash, printable, significant, withInterval } from "./text";

export function sideBySide(_: Report, scenario: Scenario): HTMLElement | null {
  const shared = scenario.points.filter((p) => p.instances !== undefined && p.instances.length > 0);
  if (shared.length === 0) return null;
  const times = (change: { value: number; low_95: number | null; high_95: number | null } | null): string =>
    change === null ? dash : `${significant(1 + change.value, 3)}${change.low_95 === null ? "" : ` [${significant(1 + change.low_95, 3)}, ${significant(1 + change.high_95!, 3)}]`}`;
  const rows = shared.flatMap((p) => p.instances!.map((one) => [printable(p.called), printable(one.name),
    p.all_running_share ? `${significant(100 * p.all_running_share.mean, 3)} %` : dash, withInterval(one.time_s, "s"), times(one.slowdown)]));
  return section("side-by-side", "Side by side", el("p", {}, "What one of several used by itself cannot be measured; the energy is that of all of them."),
    plainTable("each of those that ran at once", ["at", "which", "all ran at once", `time per ${scenario.per_one ?? scenario.per ? printable(scenario.per_one ?? scenario.per ?? "") : "run"}`, "times as long as alone"], rows));
}
