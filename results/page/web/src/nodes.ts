// Several machines of a type: what each says by itself, and how far it is from the others.
import { el, section } from "./dom";
import type { NodeOf, Report, Scenario } from "./model";
import { plainTable } from "./tables";
import { changeText, dash, printable, significant } from "./text";

function againstOthers(node: NodeOf): string {
  const apart = node.against_others;
  if (!apart) return dash;
  const interval = apart.low_95 === null ? "" : ` [${significant(100 * apart.low_95, 2)}, ${significant(100 * apart.high_95!, 2)}]`;
  return `${significant(100 * Math.abs(apart.value), 2)} % ${apart.value < 0 ? "less" : "more"}${interval}${apart.outlying ? ": outlying" : ""}`;
}

export function nodes(report: Report, scenario: Scenario): HTMLElement | null {
  if (!scenario.nodes) return null;
  const spread = scenario.spread_between_nodes;
  const rows = scenario.nodes.map((n) => [printable(n.node), String(n.blocks), String(n.trials), n.best === null ? dash : printable(n.best), changeText(n.gain_of_best), n.agrees === null ? dash : n.agrees ? "yes" : "no", againstOthers(n)]);
  const facts = report.node_facts ?? [];
  const names = [...new Set(facts.map((f) => f.name))].filter((name) => new Set(facts.filter((f) => f.name === name).map((f) => f.value)).size > 1);
  const of = new Map(facts.map((f) => [`${f.name} ${f.node}`, f.value]));
  const machines = [...new Set(facts.map((f) => f.node))];
  return section("nodes", "Nodes",
    el("p", {}, `Intervals are of machines of this type: over ${scenario.nodes.length} nodes, not over their blocks. Thin lines in the charts are single nodes.`),
    spread ? el("p", {}, spread.deviation === null ? "At the best, by how much the objective varies from node to node is not known: less than single trials scatter."
      : `At the best, the objective varies from node to node by ${significant(100 * spread.deviation, 2)} % (standard deviation${spread.low_95 === null ? ", what single trials scatter included" : `, 95 % interval ${significant(100 * spread.low_95, 2)} to ${significant(100 * spread.high_95!, 2)} %`}).`) : null,
    plainTable("each node by itself", ["node", "blocks", "trials", "its own best", "gain there", "the answer holds there", "objective against the others"], rows),
    names.length > 0 ? plainTable("in what they differ", ["fact", ...machines.map(printable)], names.map((name) => [printable(name), ...machines.map((m) => printable(of.get(`${name} ${m}`) ?? dash))])) : null);
}
