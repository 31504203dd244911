// The same trials asked otherwise: another objective, another reference, from what the program concluded.
import { choice } from "./dom";
import type { Point, Report, Scenario } from "./model";
import { get, set } from "./state";

export const words: Record<string, string> = { energy: "energy", time: "time", edp: "energy-delay product", ed2p: "energy-delay-squared product", cost: "cost" };

// As it was asked, or as the address says.
export function asChosen(report: Report, scenario: Scenario): Scenario {
  // The reference is of one scenario: what none of this one's settings is called is another's.
  const asked = get("reference");
  const objective = get("objective") ?? scenario.objective, reference = scenario.points.some((p) => p.point === asked) ? asked : scenario.reference;
  const other = (report.other_questions ?? []).find((q) => q.scenario === scenario.scenario && q.objective === objective && q.reference === reference);
  return other ? { ...scenario, ...other.changes, sentence: other.sentence, points: scenario.points.map((p, i): Point => ({ ...p, ...other.points[i] })) } : scenario;
}

export function questions(report: Report, scenario: Scenario, changed: () => void): HTMLElement[] {
  const others = (report.other_questions ?? []).filter((q) => q.scenario === scenario.scenario);
  if (others.length === 0) return [];
  const now = asChosen(report, scenario);
  const objectives = [scenario.objective, ...new Set(others.map((q) => q.objective).filter((o) => o !== scenario.objective))];
  const known = new Set(others.map((q) => q.reference));
  const references = scenario.points.filter((p) => known.has(p.point) || p.point === scenario.reference);
  return [
    choice("Least", objectives.map((o) => words[o] ?? o), Math.max(0, objectives.indexOf(now.objective)), (i) => { set("objective", i === 0 ? null : objectives[i]!); changed(); }),
    choice("Compared with", references.map((p) => `${p.called}${p.point === scenario.reference ? " (the reference)" : ""}`), Math.max(0, references.findIndex((p) => p.point === now.reference)),
      (i) => { const key = references[i]!.point; set("reference", key === scenario.reference ? null : key); changed(); }),
  ];
}
