// What each axis is worth at the answer: alone, and on top of all the others.
import { section, el } from "./dom";
import type { Report, Scenario } from "./model";
import { plainTable } from "./tables";
import { changeText } from "./text";

export function axisEffects(_: Report, scenario: Scenario): HTMLElement | null {
  const effects = scenario.axis_effects ?? [];
  if (effects.length === 0) return null;
  return section("axis-effects", "What each axis is worth",
    el("p", {}, `Less of the objective (${scenario.objective}). Alone: the reference with the best's value of this axis, against the reference. On top of the others: the best, against itself with the reference's value of this axis. An interval that holds zero: not shown to be worth setting.`),
    plainTable("by axis", ["axis", "at the best", "at the reference", "alone", "on top of the others"],
      effects.map((e) => [e.axis, e.best, e.reference, changeText(e.gain_alone), changeText(e.gain_on_top)])));
}
