// A browser, results and the program, for the tests of this folder: what they open, and what may not happen meanwhile.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";
import { gunzipSync } from "node:zlib";

export const root = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
export const bin = process.env.DVFS_PLAN_BIN ?? join(root, "build/dev/bin");
const require = createRequire(join(root, "results/page/web/package.json"));
const { chromium } = require("playwright-core");
export const folder = mkdtempSync(join(tmpdir(), "dvfs-page."));
export const program = (...words) => execFileSync(join(bin, "dvfs-plan"), words, { encoding: "utf8", maxBuffer: 1 << 28, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
export const shots = process.env.DVFS_PLAN_SCREENSHOTS;
export let browser;

export function recorded(name) {
  const file = join(folder, `${name}.sqlite`);
  writeFileSync(file, gunzipSync(readFileSync(join(root, `tests/recorded/results/${name}.sqlite.gz`))));
  return file;
}
export function synthetic(name, ...options) {
  execFileSync(join(bin, "synthetic_night"), [join(folder, `${name}.sqlite`), ...options], { stdio: "ignore" });
  return join(folder, `${name}.sqlite`);
}

// The page of a result, opened; every message, fault and request is kept.
export async function open(result, options = {}) {
  const html = `${result}.html`;
  program("report", result, "--html", html);
  return openPage(html, options);
}
export async function openPage(html, { width = 1280, height = 900, scheme = "light" } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  const seen = { console: [], faults: [], requests: [] };
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && seen.console.push(m.text()));
  page.on("pageerror", (e) => seen.faults.push(String(e)));
  page.on("request", (r) => seen.requests.push(r.url()));
  const began = Date.now();
  await page.goto(`file://${html}`, { waitUntil: "commit" });
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  const ready = Date.now() - began;
  await page.waitForSelector("html[data-complete]", { state: "attached" });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { page, seen, html, ready, complete: Date.now() - began };
}
export function nothingWrong({ seen, html }) {
  assert.deepEqual(seen.console, []);
  assert.deepEqual(seen.faults, []);
  assert.deepEqual(seen.requests, [`file://${html}`]);
}

// What each chart holds, read from its own model: [[series, type, [rows]]].
export const drawn = (page) => page.evaluate(() => Object.fromEntries(Object.entries(window.dvfsPlanCharts()).map(([name, chart]) => [name,
  chart.getModel().getSeries().map((s) => {
    const data = s.getData(), rows = [];
    for (let i = 0; i < data.count(); ++i) rows.push(data.getValues(i));
    return { name: s.name, type: s.subType, rows };
  })])));
// Pixels that are not the background: the chart is on its canvas, too.
export const inked = (page, name) => page.evaluate((id) => {
  const canvas = document.querySelector(`#chart-${id} canvas`);
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let inked = 0;
  for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0 ? 1 : 0;
  return inked;
}, name);
export const series = (charts, chart, name) => charts[chart].find((s) => s.name === name) ?? assert.fail(`${chart} has no series ${name}: ${charts[chart]?.map((s) => s.name)}`);

before(async () => { browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] }); });
after(async () => { await browser?.close(); rmSync(folder, { recursive: true, force: true }); });

// axe-core's rules for WCAG 2 A and AA; nothing serious or critical on any page.
const axe_source = readFileSync(join(root, "results/page/web/node_modules/axe-core/axe.min.js"), "utf8");
export async function accessible({ page }, what) {
  await page.evaluate(axe_source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  assert.deepEqual(bad.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`), [], what);
}
