// Tables that can be sorted, filtered and copied. Each cell keeps its whole number beside what it shows.
import { axesOf } from "./axes";
import { el, section } from "./dom";
import { ofRecheck, perOne, type Change, type Estimate, type Noticed, type Point, type Report, type Scenario, type Trial } from "./model";
import { changeText, csvField, printable, withInterval } from "./text";

export interface Cell { text: string; value: number | string | null }
// Of the copied table: `own`: what stands there instead of the value; `csv`: further columns, by title.
export interface Column<Row> { title: string; cell: (row: Row) => Cell; own?: (row: Row) => string | null; csv?: [string, (row: Row) => number | string | null][] }

export function sortable<Row>(id: string, caption: string, rows: Row[], columns: Column<Row>[], rowClass: (row: Row) => string, detail?: (row: Row) => Node | null): HTMLElement {
  let by = -1, down = false, filter = "";
  const body = el("tbody");
  const heads = columns.map((column, i) => {
    const button = el("button", { type: "button", click: () => { down = by === i ? !down : false; by = i; fill(); } }, column.title);
    return el("th", { scope: "col" }, button);
  });
  const shown = (): Row[] => {
    const words = filter.toLowerCase();
    const some = rows.filter((row) => words === "" || columns.some((c) => c.cell(row).text.toLowerCase().includes(words)));
    if (by < 0) return some;
    const column = columns[by]!;
    const key = (row: Row): number | string | null => column.cell(row).value;
    // What is not known comes last, however it is sorted.
    return [...some].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
      return down ? -order : order;
    });
  };
  const status = el("span", { role: "status" });
  const fill = (): void => {
    heads.forEach((head, i) => head.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none"));
    const some = shown();
    body.replaceChildren(...some.map((row) => {
      const line = el("tr", { class: rowClass(row) });
      columns.forEach((column, i) => {
        const cell = column.cell(row);
        const td = el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, cell.text);
        if (typeof cell.value === "number") td.dataset.value = String(cell.value);
        line.append(td);
      });
      const more = detail?.(row);
      if (more) line.lastElementChild!.append(more);
      return line;
    }));
    status.textContent = some.length === rows.length ? `${rows.length} rows` : `${some.length} of ${rows.length} rows`;
  };
  const copy = async (): Promise<void> => {
    const field = (value: number | string | null): string => csvField(value === null ? "" : String(value));
    const lines = [columns.flatMap((c) => [csvField(c.title), ...(c.csv ?? []).map(([title]) => csvField(title))]),
      ...shown().map((row) => columns.flatMap((c) => [field(c.own ? c.own(row) : c.cell(row).value), ...(c.csv ?? []).map(([, of]) => field(of(row)))]))];
    const csv = lines.map((l) => l.join(",")).join("\r\n") + "\r\n";
    const area = el("textarea", { "aria-label": "the table as CSV", readonly: true, rows: 6 });
    area.value = csv;
    try {
      await navigator.clipboard.writeText(csv);
      status.textContent = "copied as CSV";
    } catch {
      // A page from a file may not write to the clipboard everywhere: then it is there to be copied by hand.
      wrap.append(area);
      area.select();
      status.textContent = "press Ctrl-C to copy";
    }
  };
  const search = el("input", { type: "search", "aria-label": `filter ${caption}`, placeholder: "filter", input: (event) => { filter = (event.target as HTMLInputElement).value; fill(); } });
  const wrap = el("div", { class: "tools" }, search, el("button", { type: "button", click: () => void copy() }, "Copy as CSV"), status);
  fill();
  return el("div", { id }, wrap, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...heads)), body)));
}

const half = (title: string, of: (p: Point) => Estimate | null): [string, (p: Point) => number | null][] => [[`${title} half-width 95 %`, (p) => of(p)?.half_width_95 ?? null]];
const ends = (title: string, of: (p: Point) => Change | null): [string, (p: Point) => number | null][] => [[`${title} low 95 %`, (p) => of(p)?.low_95 ?? null], [`${title} high 95 %`, (p) => of(p)?.high_95 ?? null]];
const measured = (e: Estimate | null, unit: string): Cell => ({ text: withInterval(e, unit), value: e ? e.mean : null });

export function pointsTable(_: Report, scenario: Scenario): HTMLElement {
  const axes = axesOf(scenario);
  const names = axes.length > 0 ? axes.map((a) => a.name) : [...new Set(scenario.points.flatMap((p) => Object.keys(p.settings)))];
  const mark = (p: Point): string => (p.point === scenario.best ? "best" : p.reference ? (p.not_told_apart_from_best ? "reference, not told apart" : "reference") : p.not_told_apart_from_best ? "not told apart" : "");
  const columns: Column<Point>[] = [
    { title: "mark", cell: (p) => ({ text: mark(p) + (p.on_pareto_front ? (mark(p) ? ", Pareto" : "Pareto") : ""), value: mark(p) }), csv: [["on Pareto front", (p) => String(p.on_pareto_front)]] },
    ...names.map((name) => ({ title: name, cell: (p: Point): Cell => ({ text: p.settings[name] ?? "\u2014", value: p.values[name] ?? p.settings[name] ?? null }), own: (p: Point) => p.settings[name] ?? null, csv: [[`${name}, SI units`, (p: Point) => p.values[name] ?? null]] as [string, (p: Point) => number | null][] })),
    { title: "trials", cell: (p) => ({ text: p.counted === p.trials ? `${p.trials}` : `${p.counted} of ${p.trials}`, value: p.trials }), csv: [["trials that count", (p) => p.counted]] },
    { title: "energy (J)", cell: (p) => measured(p.energy_j, "J"), csv: half("energy (J)", (p) => p.energy_j) },
    { title: "time (s)", cell: (p) => measured(p.time_s, "s"), csv: half("time (s)", (p) => p.time_s) },
    { title: "mean power (W)", cell: (p) => measured(p.mean_power_w, "W"), csv: half("mean power (W)", (p) => p.mean_power_w) },
    { title: "saving", cell: (p) => ({ text: p.reference ? "reference" : changeText(p.saving), value: p.saving?.value ?? null }), csv: ends("saving", (p) => p.saving) },
    { title: "slowdown", cell: (p) => ({ text: p.reference ? "" : changeText(p.slowdown), value: p.slowdown?.value ?? null }), csv: ends("slowdown", (p) => p.slowdown) },
    { title: "EDP (Js)", cell: (p) => measured(p.edp_js, "Js"), csv: half("EDP (Js)", (p) => p.edp_js) },
  ];
  const withHalf = (title: string, unit: string, of: (p: Point) => Estimate | null): Column<Point> => ({ title, cell: (p) => measured(of(p), unit), csv: half(title, of) });
  if (scenario.per_one ?? scenario.per) columns.splice(columns.length - 5, 0, withHalf(`energy${perOne(scenario)} (J)`, "J", (p) => p.energy_per_unit_j), withHalf(`time${perOne(scenario)} (s)`, "s", (p) => p.work_time_s), withHalf(`${scenario.per_many ?? scenario.per}/s`, "", (p) => p.throughput_per_s ?? null));
  const boards = [...new Set(scenario.points.flatMap((p) => Object.keys(p.boards_j ?? {})))].sort();
  if (boards.length > 1) boards.forEach((board) => columns.push(withHalf(`${board} (J)`, "J", (p) => p.boards_j?.[board] ?? null)));
  if (scenario.points.some((p) => p.above_idle_j)) columns.push(withHalf("above idle (J)", "J", (p) => p.above_idle_j));
  if (scenario.points.some((p) => p.constraints.length > 0))
    columns.push({ title: "constraints", cell: (p) => ({ text: p.constraints.filter((c) => c.holds !== true).map((c) => (c.holds === null ? `${c.constraint}: not known` : c.certain === true ? `not ${c.constraint}` : `not shown: ${c.constraint}`)).join("; ") || (p.constraints.every((c) => c.certain === true) ? "hold" : "hold by the mean alone"), value: p.feasible === null ? null : p.feasible ? "hold" : "broken" }) });
  if (scenario.points.some((p) => p.called !== Object.entries(p.settings).map(([a, v]) => `${a} = ${v}`).join(", ")))
    columns.push({ title: "delivered", cell: (p) => ({ text: p.called, value: p.called }) });
  return section("points", "Settings", sortable("points-table", "settings that were run", scenario.points, columns, (p) => (p.point === scenario.best ? "best" : p.not_told_apart_from_best ? "near" : "")));
}

export function excludedTable(report: Report): HTMLElement {
  const rows = report.trials.filter((t) => !t.counts && t.verdict !== "censored" && t.role !== "warm_up" && !ofRecheck(t));
  if (rows.length === 0) return section("excluded", "Excluded", el("p", {}, "No trial was excluded."));
  const words = (text: (t: Trial) => string): ((t: Trial) => Cell) => (t) => ({ text: text(t), value: text(t) });
  const columns: Column<Trial>[] = [
    { title: "trial", cell: (t) => ({ text: String(t.trial), value: t.trial }) }, { title: "which", cell: words((t) => t.key) }, { title: "attempt", cell: (t) => ({ text: String(t.attempt), value: t.attempt }) },
    { title: "verdict", cell: words((t) => t.verdict) }, { title: "why", cell: words((t) => t.left_out ?? t.verdict_text) },
  ];
  const output = (t: Trial): Node | null => {
    const text = [t.output_tail, t.error_tail].filter((x): x is string => !!x).join("\n");
    return text ? el("details", {}, el("summary", {}, "its last output"), el("pre", {}, printable(text))) : null;
  };
  return section("excluded", "Excluded", sortable("excluded-table", "trials that do not count", rows, columns, () => "", output));
}

// What was noticed in trials, whether they count or not: marks that do not pair, settings that others changed, limits.
export function noticedTable(report: Report): HTMLElement {
  if (report.noticed.length === 0) return section("noticed", "Events", el("p", {}, "Nothing was."));
  const words = (text: (n: Noticed) => string): ((n: Noticed) => Cell) => (n) => ({ text: text(n), value: text(n) });
  const columns: Column<Noticed>[] = [
    { title: "trial", cell: (n) => ({ text: String(n.trial), value: n.trial }) }, { title: "which", cell: words((n) => n.key) },
    { title: "kind", cell: words((n) => n.kind) }, { title: "what", cell: words((n) => n.message) },
  ];
  return section("noticed", "Events", sortable("noticed-table", "what was noticed in trials", report.noticed, columns, () => ""));
}

export function plainTable(caption: string, head: string[], rows: string[][]): HTMLElement {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, ...rows.map((r) => el("tr", {}, ...r.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, c)))))));
}
