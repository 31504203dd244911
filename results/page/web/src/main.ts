// The page: the answer first, then what it stands on. All of it is made here from the JSON that the program put in.
import { approach } from "./approach";
import { axisEffects } from "./axis_effects";
import { allCharts, forget, followTheWindow } from "./charts";
import { showComparison, type Comparison } from "./comparison";
import { curves } from "./curves";
import { delivered } from "./delivered";
import { choice, el, section } from "./dom";
import { heatMap } from "./heat_map";
import { showIndex, type Index } from "./index_page";
import { load, loadTraces, type Report, type Scenario } from "./model";
import { metrics } from "./metrics";
import { night } from "./night";
import { nodes } from "./nodes";
import { overview } from "./overview";
import { excludedTable, noticedTable, plainTable, pointsTable } from "./tables";
import { asChosen, questions } from "./questions";
import { rechecks } from "./rechecks";
import { sideBySide } from "./side_by_side";
import { followTheAddress, get, set } from "./state";
import { dash, plain } from "./text";
import { traceSection } from "./trace";
import { tradeOff } from "./trade_off";
import { years } from "./years";

function themeButton(): HTMLElement {
  const order = ["auto", "light", "dark"];
  const button = el("button", { type: "button", id: "theme" }, "Theme: auto");
  const turn = (next: string): void => {
    document.documentElement.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  };
  const asAsked = (): void => {
    const asked = get("theme") ?? "auto";
    if (order.includes(asked) && asked !== (document.documentElement.dataset.theme ?? "auto")) turn(asked);
  };
  asAsked();
  document.addEventListener("addressread", () => { asAsked(); document.dispatchEvent(new Event("themechange")); });
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % order.length]!;
    turn(next);
    set("theme", next === "auto" ? null : next);
    document.dispatchEvent(new Event("themechange"));
  });
  return button;
}

function foot(report: Report): HTMLElement {
  const audit = report.sensor_audit, columns = Object.keys(audit[0] ?? {});
  const word = (v: string | number | null | undefined): string => (v === null || v === undefined ? dash : typeof v === "number" ? plain(v) : v);
  return section("origin", "Provenance",
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
function whenAllIsRead(then: () => Promise<void>): void {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => setTimeout(() => void then()));
  else void then();
}

function show(report: Report): void {
  const place = document.getElementById("page")!;
  const chosen = el("div", { id: "scenario" });
  const links = el("nav", { "aria-label": "sections" });
  const link = (): void => links.replaceChildren(...[...document.querySelectorAll("section")].map((s) => el("a", { href: `#${s.id}` }, s.querySelector("h2")!.textContent!)));
  const asking = el("span", { class: "choices" });
  const fill = (own: Scenario): void => {
    const scenario = asChosen(report, own);
    asking.replaceChildren(...questions(report, own, () => {
      const at = document.activeElement?.getAttribute("aria-label");
      fill(own);
      allCharts().forEach((c) => c.show());
      [...asking.querySelectorAll("select")].find((s) => s.getAttribute("aria-label") === at)?.focus();  // the choice that was made is made anew
    }));
    forget(allCharts().map((c) => c.name).filter((name) => name !== "trace"));
    // What happened that night is of what the experiment asked, whatever is asked here.
    const of_the_night = new Set<unknown>([night, rechecks]);
    chosen.replaceChildren(...[overview, curves, heatMap, axisEffects, tradeOff, pointsTable, years, rechecks, metrics, approach, nodes, sideBySide, night, delivered].map((part) => safely(() => part(report, of_the_night.has(part) ? own : scenario))).filter((s): s is HTMLElement => s !== null));
    link();
  };
  const names = report.scenarios.map((s) => s.scenario);
  const asked = (): number => Math.max(0, names.indexOf(get("work") ?? ""));
  const change = (i: number): void => {
    fill(report.scenarios[i]!);
    allCharts().forEach((c) => c.show());
  };
  const pick = names.length > 1 ? choice("Work", names, asked(), (i) => { set("work", names[i]!); set("reference", null); change(i); }) : null;
  followTheAddress(() => {
    if (pick) pick.querySelector("select")!.selectedIndex = asked();
    if (report.scenarios.length > 0) change(asked());
    const at = document.getElementById("answer");
    at?.scrollIntoView();
    at?.querySelector<HTMLElement>("#all-answers")?.focus();
  });
  const notes = [...report.warnings.map((w) => el("p", { class: "warning" }, `Warning: ${w}`)), ...(report.notes.length > 0 ? [el("ul", {}, ...report.notes.map((n) => el("li", {}, n)))] : [])];
  place.append(
    el("header", {}, el("h1", {}, report.experiment), report.description ? el("p", {}, report.description) : null,
      report.scenarios.length === 0 ? el("p", { class: "warning" }, `No trial has been finished. ${report.unfinished}`) : null,
      el("div", { class: "choices" }, pick, asking, themeButton(),
        el("button", { type: "button", click: () => print() }, "Print")), links),
    chosen, excludedTable(report), noticedTable(report));
  if (notes.length > 0) place.append(section("notes", "Notes", ...notes));
  place.append(foot(report));
  if (report.scenarios[asked()]) fill(report.scenarios[asked()]!);
  followTheWindow();
  draw(["energy", "time", "power"], () => whenAllIsRead(async () => {
    const traces = await loadTraces().catch((fault: unknown) => {
      console.error(fault);
      return null;
    });
    const trace = traces ? safely(() => traceSection(report, traces)) : el("p", { class: "warning" }, "The traces could not be unpacked by this browser; dvfs-plan sql RESULT 'select * from readings where trial = 1' has them.");
    if (trace) {
      document.getElementById("excluded")!.before(trace);
      allCharts().find((c) => c.name === "trace")?.show();
      link();
    }
    document.documentElement.dataset.complete = "yes";
  }));
}

async function start(): Promise<void> {
  const place = document.getElementById("page")!;
  const tools = (): HTMLElement => el("div", { class: "choices" }, themeButton(), el("button", { type: "button", click: () => print() }, "Print"));
  if (document.getElementById("report")) {
    show(await load<Report>("report"));
  } else {
    if (document.getElementById("index")) showIndex(place, await load<Index>("index"), tools());
    else showComparison(place, await load<Comparison>("comparison"), tools());
    allCharts().forEach((c) => c.show());
    followTheWindow();
    document.documentElement.dataset.complete = "yes";
  }
  // For tests and for the curious: the charts by name.
  (window as unknown as { dvfsPlanCharts: unknown }).dvfsPlanCharts = () => Object.fromEntries(allCharts().filter((c) => c.box.isConnected).map((c) => [c.name, c.echart]));
  document.documentElement.dataset.ready = "yes";
}
void start();
