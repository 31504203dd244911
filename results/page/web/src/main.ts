// The page: the answer first, then what it stands on. All of it is made here from the JSON that the program put in.
import { approach } from "./approach";
import { allCharts, forget, followTheWindow } from "./charts";
import { showComparison, type Comparison } from "./comparison";
import { curves } from "./curves";
import { delivered } from "./delivered";
import { choice, el, section } from "./dom";
import { heatMap } from "./heat_map";
import { readReport, type Report, type Scenario } from "./model";
import { metrics } from "./metrics";
import { night } from "./night";
import { nodes } from "./nodes";
import { excludedTable, noticedTable, plainTable, pointsTable } from "./tables";
import { dash, changeText, plain, significant, withInterval } from "./text";
import { sideBySide } from "./side_by_side";
import { traceSection } from "./trace";
import { tradeOff } from "./trade_off";

function themeButton(): HTMLElement {
  const order = ["auto", "light", "dark"];
  const button = el("button", { type: "button", id: "theme" }, "Theme: auto");
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % order.length]!;
    document.documentElement.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
    document.dispatchEvent(new Event("themechange"));
  });
  return button;
}

const tile = (name: string, value: string): HTMLElement => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value));

function answer(report: Report, scenario: Scenario): HTMLElement {
  const best = scenario.points.find((p) => p.point === scenario.best);
  const sentence = report.answers.find((a) => a.scenario === scenario.scenario)?.sentence ?? "";
  return section("answer", "The answer", ...(report.asked ?? []).map((line) => el("p", { class: "asked" }, `Asked of it here: ${line}.`)), el("p", { class: "sentence" }, sentence), report.unfinished ? el("p", { class: "warning" }, report.unfinished) : null,
    best ? el("dl", { class: "tiles" }, tile("at", best.called), tile(scenario.per ? `energy per ${scenario.per}` : "energy", withInterval(best.work_energy_j, "J")),
      tile(scenario.per ? `time per ${scenario.per}` : "time", withInterval(best.work_time_s, "s")),
      tile("saves", best.reference ? "is the reference" : changeText(best.saving)), tile("slower by", best.reference ? dash : changeText(best.slowdown)),
      scenario.search && scenario.search.bound !== null && scenario.search.bound < 1 ? tile("none is better by more than", `${significant(100 * scenario.search.bound, 2)} % (${100 * scenario.search.confidence} % confidence)`) : null) : null);
}

function foot(report: Report): HTMLElement {
  const audit = report.sensor_audit, columns = Object.keys(audit[0] ?? {});
  const word = (v: string | number | null | undefined): string => (v === null || v === undefined ? dash : typeof v === "number" ? plain(v) : v);
  return section("origin", "Machine, experiment and sensors",
    el("p", {}, `Made by dvfs-plan ${report.tool_version}; begun ${report.created_at}; energy of ${report.energy_source ?? "nothing (no energy sensor)"}.`),
    plainTable("the machine", ["fact", "value"], Object.entries(report.machine)),
    plainTable("sessions", ["began", "ended", "how", "version"], report.sessions.map((s) => [word(s.started_at), word(s.ended_at), word(s.ended_how), word(s.tool_version)])),
    audit.length > 0 ? plainTable("what the sensors were found to be worth, at the start of each session", columns, audit.map((row) => columns.map((c) => word(row[c])))) : null,
    report.experiment_file ? el("details", {}, el("summary", {}, `The experiment file ${report.experiment_file.name}`), el("pre", {}, report.experiment_file.text)) : null,
    report.experiment_file ? el("p", {}, `Seed ${report.experiment_file.seed}; the plan's hash ${report.experiment_file.plan_hash}.`) : null);
}

// A part that fails must not take the answer with it.
function safely(make: () => HTMLElement | null): HTMLElement | null {
  try {
    return make();
  } catch (fault) {
    console.error(fault);
    return el("p", { class: "warning" }, `A part of this page could not be made (${String(fault)}); dvfs-plan report has it in text.`);
  }
}

// The charts one by one, those on the first screen at once: the page can be used while the others are drawn.
function draw(at_once: string[], done: () => void): void {
  const waiting = allCharts().filter((c) => !at_once.includes(c.name));
  allCharts().filter((c) => at_once.includes(c.name)).forEach((c) => c.show());
  const next = (): void => {
    const one = waiting.shift();
    if (!one) return done();
    one.show();
    setTimeout(next);
  };
  setTimeout(next);
}

// Traces are most of the page and come last in it.
function whenAllIsRead(then: () => void): void {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => setTimeout(then));
  else then();
}

function show(report: Report): void {
  const place = document.getElementById("page")!;
  const chosen = el("div", { id: "scenario" });
  const links = el("nav", { "aria-label": "sections" });
  const link = (): void => links.replaceChildren(...[...document.querySelectorAll("section")].map((s) => el("a", { href: `#${s.id}` }, s.querySelector("h2")!.textContent!)));
  const fill = (scenario: Scenario): void => {
    forget(allCharts().map((c) => c.name).filter((name) => name !== "trace"));
    chosen.replaceChildren(...[answer, curves, metrics, approach, nodes, sideBySide, heatMap, tradeOff, pointsTable, night, delivered].map((part) => safely(() => part(report, scenario))).filter((s): s is HTMLElement => s !== null));
    link();
  };
  const change = (i: number): void => { fill(report.scenarios[i]!); allCharts().forEach((c) => c.show()); };
  const notes = [...report.warnings.map((w) => el("p", { class: "warning" }, `Warning: ${w}`)), ...(report.notes.length > 0 ? [el("ul", {}, ...report.notes.map((n) => el("li", {}, n)))] : [])];
  place.append(
    el("header", {}, el("h1", {}, report.experiment), report.description ? el("p", {}, report.description) : null,
      report.scenarios.length === 0 ? el("p", { class: "warning" }, `No trial has been finished. ${report.unfinished}`) : null,
      el("div", { class: "choices" }, report.scenarios.length > 1 ? choice("Work", report.scenarios.map((s) => s.scenario), 0, change) : null, themeButton(),
        el("button", { type: "button", click: () => print() }, "Print")), links),
    chosen, excludedTable(report), noticedTable(report));
  if (notes.length > 0) place.append(section("notes", "Notes", ...notes));
  place.append(foot(report));
  if (report.scenarios[0]) fill(report.scenarios[0]);
  followTheWindow();
  draw(["energy", "time", "power"], () => whenAllIsRead(() => {
    const trace = safely(() => traceSection(report));
    if (trace) {
      document.getElementById("excluded")!.before(trace);
      allCharts().find((c) => c.name === "trace")?.show();
      link();
    }
    document.documentElement.dataset.complete = "yes";
  }));
}

const comparison = document.getElementById("comparison");
if (comparison) {
  showComparison(document.getElementById("page")!, JSON.parse(comparison.textContent!) as Comparison, el("div", { class: "choices" }, themeButton(), el("button", { type: "button", click: () => print() }, "Print")));
  allCharts().forEach((c) => c.show());
  followTheWindow();
  document.documentElement.dataset.complete = "yes";
} else {
  show(readReport());
}
// For tests and for the curious: the charts by name.
(window as unknown as { dvfsPlanCharts: unknown }).dvfsPlanCharts = () => Object.fromEntries(allCharts().filter((c) => c.box.isConnected).map((c) => [c.name, c.echart]));
document.documentElement.dataset.ready = "yes";
