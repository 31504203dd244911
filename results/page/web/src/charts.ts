// ECharts as all charts here use it: one place for theme, keyboard, resizing and how a test reads them.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TitleComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import * as echarts from "echarts/core";
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { el } from "./dom";
import { plain, printable } from "./text";

echarts.use([BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent,
  MarkLineComponent, TitleComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

// Okabe and Ito's colours, told apart with any common colour blindness; shapes say the same beside them.
export const colours = { blue: "#0072b2", sky: "#56b4e9", orange: "#e69f00", green: "#009e73", vermilion: "#d55e00", purple: "#cc79a7", grey: "#8a8a8a" };
export const series_colours = [colours.blue, colours.orange, colours.green, colours.purple, colours.vermilion, colours.sky];
// viridis, which also prints in grey as it looks.
export const scale_colours = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];
export const star = "path://M50 0 L61 36 L98 36 L68 58 L79 94 L50 72 L21 94 L32 58 L2 36 L39 36 Z";

export interface Chart { name: string; box: HTMLElement; echart: EChartsType; show: () => void }
const charts = new Map<string, Chart>();

let on_paper = false;
export function ink(): { text: string; line: string; back: string } {
  if (on_paper) return { text: "#000", line: "#bbb", back: "#fff" };
  const style = getComputedStyle(document.documentElement);
  return { text: style.getPropertyValue("--text").trim(), line: style.getPropertyValue("--line").trim(), back: style.getPropertyValue("--back").trim() };
}

// `option` is asked again whenever the theme, the size or what is chosen changes.
export function chart(name: string, label: string, height: number, option: () => object): Chart {
  const box = el("div", { class: "chart", id: `chart-${name}`, tabindex: 0, role: "img", "aria-label": label, "data-chart": name });
  box.style.height = `${height}px`;
  const help = el("p", { class: "keys" });
  const holder = el("figure", {}, box, el("figcaption", {}, label), help, valuesOf(() => one));
  let made: EChartsType | undefined;
  const one: Chart = {
    name, box: holder,
    get echart() { return (made ??= echarts.init(box, undefined, { renderer: "canvas" })); },
    show() {
      if (!box.isConnected) return;  // without a size there is nothing to draw on; it is shown once it has one
      const { text, line } = ink();
      const { boxHeight, ...made_of } = option() as { boxHeight?: number };
      if (boxHeight !== undefined) box.style.height = `${boxHeight}px`;
      if (made && (made.getWidth() !== box.clientWidth || made.getHeight() !== box.clientHeight)) made.resize();
      // What was zoomed into stays, whatever is drawn again.
      const zoom = made && (made.getOption()?.dataZoom as { start: number; end: number }[] | undefined)?.[0];
      one.echart.setOption({
        animation: false, useUTC: true, backgroundColor: "transparent", textStyle: { color: text, fontFamily: getComputedStyle(document.body).fontFamily }, color: series_colours,
        aria: { enabled: true, label: { description: label } }, ...themed(made_of as EChartsCoreOption, text, line),
      }, { notMerge: true });
      holder.dispatchEvent(new Event("drawn"));
      if (zoom && (zoom.start > 0 || zoom.end < 100)) one.echart.dispatchAction({ type: "dataZoom", start: zoom.start, end: zoom.end });
    },
  };
  byKeyboard(one, box);
  charts.get(name)?.echart.dispose();
  charts.set(name, one);
  return one;
}

// What the chart shows, as a table: for who cannot see it. Made when it is opened.
function valuesOf(of: () => Chart): HTMLElement {
  const most = 1000;
  const place = el("div", {});
  const fold = el("details", { class: "values" }, el("summary", {}, "Values of this chart"), place);
  const fill = (): void => {
    if (!fold.open) return;
    const model = (of().echart as unknown as { getModel(): { getSeries(): Drawn[] } | undefined }).getModel();
    if (!model) return;  // it is drawn later, and this with it
    const option = of().echart.getOption() as { xAxis?: Loose[]; yAxis?: Loose[] };
    // Where each part of the chart has axes of its own, their names stand in the series'.
    const several = listOf(option.yAxis).length > 1;
    const axes = [listOf(option.xAxis)[0], listOf(option.yAxis)[0]];
    const word = (value: unknown, i: number): string => {
      if (axes[i]?.type === "time" && typeof value === "number") return new Date(value).toISOString().slice(0, 16).replace("T", " ");
      const names = axes[i]?.type === "category" ? (axes[i]?.data as unknown[] | undefined) : undefined;
      const named = names && typeof value === "number" ? names[value] : value;
      return typeof named === "number" ? plain(named) : String(named ?? "");
    };
    const rows: string[][] = [];
    let all = 0;
    for (const series of model.getSeries()) {
      // Error bars and bands have none of their own; the model's line has.
      if (series.get("type") === "custom" || (series.get("silent") === true && !series.name.startsWith("model"))) continue;
      if (series.get("stack") !== undefined && series.get("silent") === true) continue;
      const data = series.getData();
      all += data.count();
      for (let i = 0; i < data.count() && rows.length < most; ++i) rows.push([series.name, data.getName(i), ...data.getValues(i).slice(0, 3).map(word)]);
    }
    const wide = Math.max(2, ...rows.map((r) => r.length));
    const head = ["series", "which", ...axes.map((a, i) => (several ? (i === 0 ? "across" : "up") : String(a?.name || (i === 0 ? "across" : "up")))), "value"].slice(0, wide);
    place.replaceChildren(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `values of ${of().name}` }, el("table", {},
      el("caption", {}, all > rows.length ? `the first ${rows.length} of ${all} values; the result file holds all` : `${rows.length} values`),
      el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...rows.map((r) => el("tr", {}, ...r.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, c))))))));
  };
  fold.addEventListener("toggle", fill);
  queueMicrotask(() => of().box.addEventListener("drawn", fill));
  return fold;
}

export const allCharts = (): Chart[] => [...charts.values()];
export const forget = (names: string[]): void => names.forEach((name) => { charts.get(name)?.echart.dispose(); charts.delete(name); });

type Loose = Record<string, unknown>;
const listOf = (value: unknown): Loose[] => (Array.isArray(value) ? value : value ? [value] : []) as Loose[];

function themed(option: EChartsCoreOption, text: string, line: string): EChartsCoreOption {
  const loose = option as Loose;
  for (const key of ["xAxis", "yAxis"]) {
    for (const axis of listOf(loose[key])) {
      axis.axisLine = { lineStyle: { color: text } };
      axis.axisLabel = { color: text, hideOverlap: true, ...(axis.axisLabel as Loose | undefined) };
      axis.splitLine = { lineStyle: { color: line }, ...(axis.splitLine as Loose | undefined) };
      axis.nameTextStyle = { color: text, ...(axis.nameTextStyle as Loose | undefined) };
    }
  }
  for (const legend of listOf(loose.legend)) legend.textStyle = { color: text };
  for (const map of listOf(loose.visualMap)) map.textStyle = { color: text };
  for (const title of listOf(loose.title)) title.textStyle = { color: text, ...(title.textStyle as Loose | undefined) };
  loose.tooltip = { renderMode: "richText", confine: true, ...(loose.tooltip as Loose | undefined) };  // never HTML
  return option;
}

interface Drawn { name: string; seriesIndex: number; get(key: string): unknown; getData(): { count(): number; getValues(i: number): unknown[]; getName(i: number): string } }

// Arrow keys go from point to point and say it; + and - zoom where there is a zoom, 0 shows all.
function byKeyboard(one: Chart, box: HTMLElement): void {
  let series = 0, index = -1;
  const said = el("p", { class: "said", "aria-live": "polite" });
  box.after(said);
  box.addEventListener("keydown", (event) => {
    const model = (one.echart as unknown as { getModel(): { getSeries(): Drawn[] } }).getModel();
    // Error bars and bands say nothing of their own.
    const all = model.getSeries().filter((s) => s.get("silent") !== true && s.getData().count() > 0);
    const zoom = (one.echart.getOption().dataZoom as { start: number; end: number }[] | undefined)?.[0];
    const zoomTo = (start: number, end: number): void => one.echart.dispatchAction({ type: "dataZoom", start: Math.max(0, start), end: Math.min(100, end) }) as unknown as void;
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (zoom && (event.key === "+" || event.key === "=" || event.key === "-" || event.key === "0" || (event.shiftKey && step !== 0))) {
      const middle = (zoom.start + zoom.end) / 2, half = (zoom.end - zoom.start) / 2;
      if (event.key === "0") zoomTo(0, 100);
      else if (step !== 0) zoomTo(zoom.start + step * half, zoom.end + step * half);
      else if (event.key === "-") zoomTo(middle - 2 * half, middle + 2 * half);
      else zoomTo(middle - half / 2, middle + half / 2);
    } else if (step !== 0) {
      for (let tries = 0; tries <= all.length; ++tries) {
        index += step;
        const count = all[series]?.getData().count() ?? 0;
        if (index >= 0 && index < count) break;
        series = (series + step + all.length) % Math.max(1, all.length);
        index = step > 0 ? -1 : (all[series]?.getData().count() ?? 0);
      }
      const at = all[series];
      if (!at) return;
      one.echart.dispatchAction({ type: "showTip", seriesIndex: at.seriesIndex, dataIndex: Math.max(0, index) });
      const values = at.getData().getValues(Math.max(0, index)) as unknown[];
      said.textContent = `${printable(at.name)}: ${printable(at.getData().getName(Math.max(0, index)))} ${values.map((v) => (typeof v === "number" ? plain(v) : printable(String(v)))).join(", ")}`;
    } else if (event.key === "Escape") {
      one.echart.dispatchAction({ type: "hideTip" });
    } else return;
    event.preventDefault();
  });
}

export function followTheWindow(): void {
  let pending = 0;
  const all = (again: (c: Chart) => void): void => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => allCharts().filter((c) => c.box.isConnected).forEach(again));
  };
  addEventListener("resize", () => all((c) => c.echart.resize()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all((c) => c.show()));
  // On paper: dark on white, and as wide as it is.
  const paper = (is: boolean): void => {
    on_paper = is;
    document.querySelectorAll<HTMLDetailsElement>("details:not(.values)").forEach((d) => { if (is && !d.open) { d.open = true; d.dataset.opened = "yes"; } else if (!is && d.dataset.opened) { d.open = false; delete d.dataset.opened; } });
    allCharts().forEach((c) => c.show());
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  matchMedia("print").addEventListener("change", (e) => paper(e.matches));
  document.addEventListener("themechange", () => all((c) => c.show()));
}

// Vertical bars from low to high at x, in pixels: rows of [x, low, high].
export function errorBars(rows: (number | string)[][], colour: string, extra: Loose = {}): Loose {
  return {
    type: "custom", data: rows, silent: true, z: 3, encode: { x: 0, y: [1, 2], tooltip: [] }, itemStyle: { color: colour }, tooltip: { show: false },
    renderItem: (_: unknown, api: { value(i: number): number; coord(p: number[]): number[] }) => {
      const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
      const line = (x1: number, y1: number, x2: number, y2: number): Loose => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.5 } });
      return { type: "group", children: [line(low[0]!, low[1]!, high[0]!, high[1]!), line(low[0]! - 4, low[1]!, low[0]! + 4, low[1]!), line(high[0]! - 4, high[1]!, high[0]! + 4, high[1]!)] };
    }, ...extra,
  };
}
