// The first screen: what was found, in three numbers and a sentence; all answers where there are several; what it is about.
import { el, section } from "./dom";
import { perOne, type Change, type Point, type Report, type Scenario } from "./model";
import { asChosen, words } from "./questions";
import { linkTo } from "./state";
import { changeText, dash, percent, plain, withInterval } from "./text";

const tile = (name: string, value: string): HTMLElement => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value));
const bestOf = (scenario: Scenario): Point | undefined => scenario.points.find((p) => p.point === scenario.best);
// Less instead of more: the interval's ends change places.
const turned = (c: Change): Change => ({ ...c, value: -c.value, low_95: c.high_95 === null ? null : -c.high_95, high_95: c.low_95 === null ? null : -c.low_95 });
const sentenceOf = (report: Report, scenario: Scenario): string => scenario.sentence ?? report.answers.find((a) => a.scenario === scenario.scenario)?.sentence ?? "";

function numbers(scenario: Scenario): HTMLElement | null {
  const best = bestOf(scenario);
  if (!best) return null;
  // What the sentence states of the best is of the objective, and corrected for its having been chosen.
  const stated = (objective: string, own: Change | null): Change | null => (scenario.objective === objective ? scenario.gain_of_best ?? own : own);
  const gain = stated("energy", best.saving), faster = best.slowdown ? stated("time", turned(best.slowdown)) : null;
  return el("dl", { class: "tiles numbers" }, tile("at", best.called), tile("saves energy", best.reference ? "is the reference" : changeText(gain)),
    best.slowdown && best.slowdown.value < 0 ? tile("faster: less time by", changeText(faster)) : tile("slower by", best.reference ? dash : changeText(best.slowdown)));
}

function costs(scenario: Scenario): HTMLElement | null {
  const best = bestOf(scenario);
  if (!best) return null;
  const per = perOne(scenario);
  const bound = scenario.search?.bound ?? null;
  return el("dl", { class: "tiles" }, tile(`energy${per}`, withInterval(best.work_energy_j, "J")), tile(`time${per}`, withInterval(best.work_time_s, "s")),
    tile("mean power", withInterval(best.mean_power_w, "W")), best.throughput_per_s ? tile("throughput", withInterval(best.throughput_per_s, `${scenario.per_many ?? scenario.per}/s`)) : null, scenario.how_sure ? tile("how sure", scenario.how_sure) : null,
    bound !== null && bound < 1 ? tile(scenario.constraint_rules.length > 0 ? "none that holds the constraints is better by more than" : "none is better by more than", `${(Math.ceil(1000 * bound - 1e-9) / 10).toFixed(1)} % (${plain(100 * scenario.search!.confidence)} % confidence)`) : null);
}

// What was swept, by the settings that there are.
function swept(report: Report): string[] {
  return report.axes.map(({ name }) => {
    const texts = new Map<string, number | null>();
    for (const scenario of report.scenarios)
      for (const p of [...(scenario.search?.model ?? []), ...scenario.points]) if (name in p.settings) texts.set(p.settings[name]!, p.values[name] ?? null);
    const known = [...texts].filter((t): t is [string, number] => t[1] !== null).sort((a, b) => a[1] - b[1]);
    if (texts.size === 0) return "";
    if (known.length < texts.size || texts.size <= 2) return `${name}: ${[...texts.keys()].slice(0, 4).join(", ")}${texts.size > 4 ? ` and ${texts.size - 4} more` : ""}`;
    return `${name}: ${texts.size} values, ${known[0]![0]} to ${known[known.length - 1]![0]}`;
  }).filter((line) => line !== "");
}

function facts(report: Report): HTMLElement {
  const machine = [report.machine["cpu.model"], ...Object.entries(report.machine).filter(([name]) => /^gpu-\d+$/.test(name)).map(([, value]) => value.split(",")[0]!)].filter((part): part is string => !!part);
  const host = report.machine.host && report.machine.host !== "(none)" ? report.machine.host : "";
  const nodes = report.nodes?.length ?? 0;
  const left = Object.values(report.not_counted).reduce((a, b) => a + b, 0);
  return el("dl", { class: "tiles facts" },
    machine.length > 0 ? tile("machine", [host, ...machine].filter((part) => part !== "").join(", ")) : null, nodes > 1 ? tile("nodes", String(nodes)) : null,
    tile("begun", report.created_at.replace("T", " ").replace(/\.\d+Z$/, " UTC")),
    tile("trials", `${report.finished_trials}${report.unfinished ? ` of ${report.planned_trials}` : ""}${left > 0 ? `, of which ${left} (${percent(left / Math.max(1, report.finished_trials), 0)}) do not count` : ""}`),
    ...swept(report).map((line) => tile("swept", line)), tile("energy of", report.energy_source ?? "nothing (no energy sensor)"));
}

// All answers, a row each, each with a link of its own.
function allAnswers(report: Report): HTMLElement | null {
  if (report.scenarios.length < 2) return null;
  const all = report.scenarios.map((s) => asChosen(report, s));
  const several = new Set(all.map((s) => s.objective)).size > 1;
  const per_unit = all.some((s) => (s.per_one ?? s.per) !== null);
  const head = ["work", "answer", "energy", ...(per_unit ? [`energy${new Set(report.scenarios.map((s) => perOne(s))).size === 1 ? perOne(report.scenarios[0]!) : " per unit"}`] : []), "time", "better by", "slower by", "how sure"];
  const rows = all.map((s) => {
    const best = bestOf(s), link = el("a", { href: linkTo("work", s.scenario) }, s.scenario);
    // Whatever is chosen meanwhile goes along.
    link.addEventListener("click", () => { link.href = linkTo("work", s.scenario); });
    const cells = !best ? head.slice(1).map((name) => (name === "how sure" ? s.how_sure ?? dash : dash))
      : [best.called, withInterval(best.energy_j, "J"), ...(per_unit ? [withInterval(best.energy_per_unit_j, "J")] : []), withInterval(best.time_s, "s"),
        best.reference ? "is the reference" : `${changeText(s.gain_of_best ?? best.gain)}${several ? ` (${words[s.objective] ?? s.objective})` : ""}`, best.reference ? dash : changeText(best.slowdown), s.how_sure ?? dash];
    return el("tr", {}, el("th", { scope: "row" }, link), ...cells.map((c) => el("td", {}, c)));
  });
  const caption = `all ${report.scenarios.length} answers; better by: of the objective, against the reference`;
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, id: "all-answers" }, el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, ...rows)));
}

export function overview(report: Report, scenario: Scenario): HTMLElement {
  // On paper nobody chooses: the sentences of the others are there too.
  const others = report.scenarios.filter((s) => s.scenario !== scenario.scenario).map((s) => el("p", { class: "sentence paper" }, sentenceOf(report, asChosen(report, s))));
  return section("answer", "Overview", ...(report.asked ?? []).map((line) => el("p", { class: "asked" }, `Asked of it here: ${line}.`)), numbers(scenario),
    scenario.sentence ? el("p", { class: "asked" }, "Asked otherwise here than by the experiment; concluded from the same trials.") : null, el("p", { class: "sentence" }, sentenceOf(report, scenario)), ...others, report.unfinished ? el("p", { class: "warning" }, report.unfinished) : null, allAnswers(report), costs(scenario), facts(report));
}
