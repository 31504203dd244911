// All results of a folder: sort, filter, copy; each links to its own page.
import { el, section } from "./dom";
import { sortable, type Cell, type Column } from "./tables";
import { changeText, dash } from "./text";

interface Ends { value: number | null; low_95: number | null; high_95: number | null }
interface Row {
  file: string; page: string | null; experiment: string; machine: string; begun_at: string; objective: string; scenario: string; best: string | null; reference: string | null; best_is_reference: boolean;
  share_of_reference: string | null; gain: Ends; slowdown: Ends; trials: number; counted: number; left: number | null; doubts: string[]; rechecked: string | null;
}
export interface Index { folder: string; results: Row[]; unread: string[] }

const share = (ends: Ends): Cell => ({ text: ends.value === null ? dash : changeText({ value: ends.value, low_95: ends.low_95, high_95: ends.high_95 }), value: ends.value });
const ends = (title: string, of: (row: Row) => Ends): [string, (row: Row) => number | null][] => [[`${title} low 95 %`, (row) => of(row).low_95], [`${title} high 95 %`, (row) => of(row).high_95]];
const words = (of: (row: Row) => string | null): ((row: Row) => Cell) => (row) => ({ text: of(row) ?? dash, value: of(row) });
// A way on this disk, made of a file's name: never another scheme.
const address = (way: string): string => `./${way.split("/").map(encodeURIComponent).join("/")}`;

export function showIndex(place: HTMLElement, index: Index, tools: HTMLElement): void {
  const columns: Column<Row>[] = [
    { title: "result", cell: words((r) => r.file) }, { title: "machine", cell: words((r) => r.machine) }, { title: "begun", cell: (r) => ({ text: r.begun_at.slice(0, 10), value: r.begun_at }) },
    { title: "work", cell: words((r) => r.scenario) }, { title: "objective", cell: words((r) => r.objective) }, { title: "best", cell: words((r) => r.best) }, { title: "reference", cell: words((r) => r.reference) },
    { title: "of the reference's", cell: words((r) => r.share_of_reference) }, { title: "better by", cell: (r) => (r.best_is_reference ? { text: "is the reference", value: null } : share(r.gain)), csv: ends("better by", (r) => r.gain) },
    { title: "slower by", cell: (r) => (r.best_is_reference ? { text: "", value: null } : share(r.slowdown)), csv: ends("slower by", (r) => r.slowdown) },
    { title: "trials", cell: (r) => ({ text: (r.counted === r.trials ? String(r.trials) : `${r.counted} of ${r.trials}`) + (r.left === null ? "" : `, ${r.left} to run`), value: r.counted }) }, { title: "rechecked", cell: words((r) => r.rechecked) },
  ];
  const doubts = index.results.flatMap((row) => row.doubts.map((one) => `${row.file}, ${row.scenario}: ${one}`));
  place.append(el("header", {}, el("h1", {}, `Results in ${index.folder}`), tools),
    section("answer", "Overview", index.results.length === 0 ? el("p", {}, "There is none.") : sortable("index-table", "all results; better by: of the objective, against the reference", index.results, columns, () => "",
      (row) => (row.page ? el("a", { href: address(row.page) }, " its page") : null))),
    ...(doubts.length > 0 ? [section("doubts", "Warnings", el("ul", {}, ...doubts.map((one) => el("li", {}, one))))] : []),
    ...(index.unread.length > 0 ? [section("unread", "Not read", el("ul", {}, ...index.unread.map((one) => el("li", {}, one))))] : []));
}
