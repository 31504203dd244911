// What the answer is worth over a year of so many runs a day, in energy and money.
import { el, section } from "./dom";
import type { Report, Scenario } from "./model";
import { get, numberOf, set } from "./state";
import { dash, printable, significant } from "./text";

const days = 365.25, joules_of_a_kwh = 3.6e6;

export function years(_: Report, scenario: Scenario): HTMLElement | null {
  const best = scenario.points.find((p) => p.point === scenario.best);
  const saved = best?.saved_j;
  if (!best || !saved) return null;
  const what = scenario.per_many ?? scenario.per ? printable(scenario.per_many ?? scenario.per ?? "") : "runs";
  const runs = el("input", { type: "number", id: "runs", min: 0, step: "any", value: get("runs") ?? "1000" });
  const price = el("input", { type: "number", id: "price", min: 0, step: "any", placeholder: "price", value: get("price") ?? "" });
  const out = el("output", { id: "year-answer", for: "runs price", "aria-live": "polite" });
  const say = (): void => {
    const n = Number(runs.value), money = price.value.trim() === "" ? null : Number(price.value);
    const range = (factor: number): string => {
      const [a, b, c] = [saved.value, saved.low_95, saved.high_95].map((j) => (j === null ? null : j * factor));
      return b === null || c === null ? `${significant(a!, 3)} (no interval)` : `${significant(a!, 3)} [${significant(b!, 3)}, ${significant(c!, 3)}]`;
    };
    const known = runs.value.trim() !== "" && Number.isFinite(n) && n >= 0;
    const kwh = (n * days) / joules_of_a_kwh;
    out.textContent = !known ? dash : `A year: ${range(kwh)} kWh less${money !== null && Number.isFinite(money) && money >= 0 ? `, ${range(kwh * money)} of money less` : ""}.`;
  };
  runs.addEventListener("input", () => { set("runs", numberOrNull(runs.value)); say(); });
  price.addEventListener("input", () => { set("price", numberOrNull(price.value)); say(); });
  if (numberOf("runs") !== null) runs.value = String(numberOf("runs"));
  say();
  return section("year", "A year of it", el("p", { class: "tools-line" }, el("label", { for: "runs" }, `${what} a day`), runs, el("label", { for: "price" }, "price of a kWh"), price), out,
    el("p", { class: "small" }, "At the best setting instead of the reference, if each takes what it took here; brackets are 95 % intervals. What the machine draws between runs, and its cooling, are not in it."));
}
const numberOrNull = (text: string): string | null => (text.trim() !== "" && Number.isFinite(Number(text)) ? text.trim() : null);
