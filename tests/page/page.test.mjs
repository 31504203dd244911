// The page in a real browser: every chart has drawn its data, each number is the one that --json and SQL give, the slider
// moves the answer, the keyboard reaches everything, nothing leaves the page, and no text of a result is ever run.
//
// node --test page.test.mjs; DVFS_PLAN_BIN: the programs; playwright-core from results/page/web/node_modules, Debian's Chromium.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { accessible, browser, drawn, folder, inked, nothingWrong, open, openPage, program, recorded, root, series, shots, synthetic } from "./browser.mjs";

function sameNumbers(t, actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((a, i) => expected[i].forEach((e, k) => assert.ok(Math.abs(a[k] - e) <= 1e-12 * Math.abs(e), `${what}: ${a[k]} and ${e}`)));
}

test("a sweep of one axis: charts hold what --json and SQL say", async (t) => {
  const result = recorded("v4");
  const opened = await open(result);
  const { page } = opened;
  const json = JSON.parse(program("report", result, "--json")), scenario = json.scenarios[0];
  const sql = JSON.parse(program("sql", result, "select p.point, v.number, p.energy_j, p.time_s, p.mean_power_w from points p join point_values v using (point) order by v.number", "--json"));
  const charts = await drawn(page);
  const ghz = scenario.points.map((p) => p.values["cpu.frequency"] / 1e9);
  for (const [chart, column, field, label] of [["energy", "energy_j", "energy_j", "energy"], ["time", "time_s", "time_s", "time"], ["power", "mean_power_w", "mean_power_w", "mean power"]]) {
    const rows = series(charts, chart, label).rows;
    sameNumbers(t, rows, scenario.points.map((p, i) => [ghz[i], p[field].mean]), `${chart} and --json`);
    sameNumbers(t, rows, sql.map((r) => [r.number / 1e9, r[column]]), `${chart} and SQL`);
    const bars = charts[chart].find((s) => s.type === "custom").rows;
    sameNumbers(t, bars, scenario.points.map((p, i) => [ghz[i], p[field].mean - p[field].half_width_95, p[field].mean + p[field].half_width_95]), `${chart}'s intervals`);
    assert.ok((await inked(page, chart)) > 1000);
  }
  // The table: each cell's whole number.
  const cells = await page.$$eval("#points-table tbody tr", (rows) => rows.map((r) => [...r.children].map((c) => c.dataset.value)));
  cells.forEach((row, i) => {
    const p = scenario.points[i];
    assert.deepEqual(row.slice(3, 6).map(Number), [p.energy_j.mean, p.time_s.mean, p.mean_power_w.mean]);
    sameNumbers(t, [row.slice(3, 6).map(Number)], [[sql[i].energy_j, sql[i].time_s, sql[i].mean_power_w]], "table and SQL");  // SQL may add in another order
  });
  assert.equal((await page.textContent("#answer .sentence")), json.answer[0]);
  // What was delivered, and how the night went.
  const delivered = JSON.parse(program("sql", result, "select distinct s.trial, s.axis, s.delivered, s.delivered_low, s.delivered_high from settings s join trials t using (trial) where s.delivered is not null", "--json"));
  assert.deepEqual(series(charts, "delivered", "as requested").rows.map((r) => r[1]).sort(), delivered.map((d) => d.delivered / 1e9).sort());
  const order = JSON.parse(program("sql", result, "select trial, temperature_c from trials where counts and not is_reference order by trial", "--json"));
  const hot = series(charts, "order", "counts").rows;
  for (const o of order) assert.ok(hot.some((r) => r[0] === o.trial && r[1] === o.temperature_c));
  assert.ok(series(charts, "drift", "reference").rows.length > 1);
  assert.deepEqual(series(charts, "trade-off", "best").rows[0].slice(0, 2), [scenario.points.find((p) => p.point === scenario.best).time_s.mean, scenario.points.find((p) => p.point === scenario.best).energy_j.mean]);
  nothingWrong(opened);
  await page.close();
});

test("a trial's trace holds every peak that the file holds", async () => {
  const result = synthetic("peaks", "--core", "3", "--memory", "2", "--repeat", "1", "--seconds", "30", "--hertz", "100", "--channels", "6");
  const opened = await open(result);
  const { page } = opened;
  const most = JSON.parse(program("sql", result, "select max(value) v from readings where trial = 1 and channel = 'nvidia:gpu-0/power'", "--json"))[0].v;
  const charts = await drawn(page);
  const power = series(charts, "trace", "nvidia:gpu-0/power").rows;
  assert.ok(power.length > 100);
  assert.equal(Math.max(...power.map((r) => r[1])), most);
  // Zoomed in by keyboard, there are still the same data; the window has shrunk.
  await page.focus("#chart-trace");
  await page.keyboard.press("+");
  const zoom = await page.evaluate(() => window.dvfsPlanCharts().trace.getOption().dataZoom[0]);
  assert.ok(zoom.end - zoom.start < 51);
  await page.keyboard.press("0");
  assert.equal(await page.evaluate(() => window.dvfsPlanCharts().trace.getOption().dataZoom[0].end), 100);
  // Another trial, another trace.
  const about = await page.textContent("#trace-about");
  await page.click("text=next");
  assert.notEqual(await page.textContent("#trace-about"), about);
  nothingWrong(opened);
  await page.close();
});

test("a night of 220 settings: heat map, marks, slider, table", async () => {
  const result = synthetic("night");
  const opened = await open(result);
  const { page } = opened;
  const scenario = JSON.parse(program("report", result, "--json")).scenarios[0];
  const charts = await drawn(page);
  const cells = series(charts, "heat-map", "energy").rows;
  assert.equal(cells.length, 220);
  const columns = [...new Set(scenario.points.map((p) => p.values["gpu.core"]))].sort((a, b) => a - b), rows = [...new Set(scenario.points.map((p) => p.values["gpu.memory"]))].sort((a, b) => a - b);
  for (const p of scenario.points) {
    const cell = cells.find((c) => c[0] === columns.indexOf(p.values["gpu.core"]) && c[1] === rows.indexOf(p.values["gpu.memory"]));
    // Not all count in the same blocks here: as the terminal's sparklines have it.
    assert.ok(p.energy_level_j > 0 && p.energy_level_j !== p.energy_j.mean);
    assert.equal(cell[2], p.energy_level_j, p.point);
  }
  const best = scenario.points.find((p) => p.point === scenario.best);
  assert.deepEqual(series(charts, "heat-map", "best").rows, [[columns.indexOf(best.values["gpu.core"]), rows.indexOf(best.values["gpu.memory"])]]);
  assert.equal(series(charts, "heat-map", "not told apart").rows.length, scenario.not_told_apart.filter((k) => k !== scenario.best && k !== scenario.reference).length);
  assert.equal(series(charts, "trade-off", "Pareto front").rows.length, scenario.pareto_front.length);
  for (const name of ["energy", "heat-map", "trade-off", "order", "drift", "delivered", "trace"]) assert.ok((await inked(page, name)) > 1000, name);

  // The slider names what --json names, at every step of it, by keyboard.
  await page.focus("#tolerated");
  await page.keyboard.press("Home");
  assert.equal(await page.getAttribute("#tolerated-answer", "data-point"), scenario.by_slowdown[0].point);
  const named = new Set();
  for (let i = 0; i < 40; ++i) {
    const at = Number(await page.inputValue("#tolerated")), now = await page.getAttribute("#tolerated-answer", "data-point");
    const expected = scenario.by_slowdown.filter((o) => o.from <= at + 1e-12).at(-1).point;
    assert.equal(now, expected, `at ${at}`);
    named.add(now);
    await page.keyboard.press("PageUp");
  }
  assert.ok(named.size > 3, "the slider moved the answer");
  assert.deepEqual((await drawn(page))["trade-off"].find((s) => s.name === "within the slowdown").rows.length, 1);

  // Sort by energy, filter, copy.
  await page.click("#points-table th >> text=energy (J)");
  const energies = await page.$$eval("#points-table tbody tr", (all) => all.map((r) => Number(r.children[4].dataset.value)));
  assert.deepEqual(energies, [...energies].sort((a, b) => a - b));
  await page.fill("#points-table input[type=search]", "1980 MHz");
  assert.equal(await page.$$eval("#points-table tbody tr", (all) => all.length), scenario.points.filter((p) => p.settings["gpu.core"] === "1980 MHz").length);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  await page.click("#points-table >> text=Copy as CSV");
  await page.waitForFunction(() => /copied|copy/.test(document.querySelector("#points-table [role=status]").textContent));
  const copied = await page.evaluate(() => document.querySelector("#points-table textarea")?.value ?? navigator.clipboard.readText());
  const [head, first] = copied.split("\r\n").map((line) => line.split(","));
  assert.deepEqual(head.slice(0, 5), ["mark", "on Pareto front", "gpu.core", '"gpu.core', ' SI units"']);
  assert.equal(first[2], "1980 MHz");
  assert.equal(Number(first[3]), 1980e6);
  assert.equal(await page.$$eval("#excluded-table tbody tr", (all) => all.length), JSON.parse(program("sql", result, "select count(*) n from trials where not counts", "--json"))[0].n);
  // Other quantities of the heat map.
  await page.selectOption("#heat-map select", { label: "mean power" });
  assert.equal(series(await drawn(page), "heat-map", "mean power").rows.length, 220);
  nothingWrong(opened);
  await page.close();
});

test("the keyboard reaches every control and chart", async () => {
  const opened = await open(recorded("v3"));
  const { page } = opened;
  const wanted = await page.$$eval("a[href], button, select, input, summary, .chart, [tabindex='0']", (all) => all.filter((e) => e.checkVisibility()).length);
  await page.evaluate(() => document.body.focus());
  const reached = new Set();
  for (let i = 0; i < 400; ++i) {
    await page.keyboard.press("Tab");
    const id = await page.evaluate(() => {
      const e = document.activeElement;
      if (e === document.body) return "";
      e.dataset.reached ??= String(Math.random());
      return e.dataset.reached;
    });
    if (id === "" || reached.has(id)) break;
    reached.add(id);
  }
  assert.equal(reached.size, wanted);
  // Points of a chart, one by one, each said in a tooltip; every control has a name.
  await page.focus("#chart-energy");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.$$eval("button, select, input", (all) => all.filter((e) => !(e.textContent || e.ariaLabel || e.labels?.length)).length), 0);
  nothingWrong(opened);
  await page.close();
});

// Recorded with three repetitions in all: how trials scatter is not known, so there is a curve and no band.
test("an adaptive search: the model's curve over every setting, and no band where nothing tells how trials scatter", async () => {
  const result = recorded("adaptive");
  const opened = await open(result);
  const model = JSON.parse(program("report", result, "--json")).scenarios[0].search.model;
  const charts = await drawn(opened.page);
  assert.ok(model.every((m) => m.low_95 === null && m.high_95 === null && m.probability_best === null && m.not_told_apart_from_best === null));
  sameNumbers(null, charts.energy.find((s) => s.name.startsWith("model ")).rows, model.map((m) => [m.values["cpu.frequency"] / 1e9, m.objective]), "curve");
  assert.equal(charts.energy.filter((s) => s.name.startsWith("model, ")).length, 0);
  nothingWrong(opened);
  await opened.page.close();
});

// No search over two axes is recorded: the page of a full night is given a model, and most of its settings are taken away.
test("what a search did not run is in the heat map, as the model's", async () => {
  const html = `${synthetic("searched")}.html`;
  program("report", join(folder, "searched.sqlite"), "--html", html);
  const page = readFileSync(html, "utf8"), element = /<script type="application\/(json|gzip)" id="report">/.exec(page);
  const start = element.index + element[0].length, end = page.indexOf("</script>", start), text = page.slice(start, end);
  const report = JSON.parse(element[1] === "json" ? text : gunzipSync(Buffer.from(text, "base64")).toString()), scenario = report.scenarios[0], all = scenario.points;
  scenario.search = { best: scenario.best, bound: 0.01, confidence: 0.95, settings: all.length, settings_run: 0, trials: 0, model: all.map((p) => ({ point: p.point, settings: p.settings, values: p.values, run: false, objective: p.energy_j.mean, low_95: 0.97 * p.energy_j.mean, high_95: 1.03 * p.energy_j.mean, probability_best: 0 })) };
  scenario.points = all.filter((p, i) => i % 7 === 0 || p.reference || p.point === scenario.best);
  writeFileSync(html, page.slice(0, element.index) + '<script type="application/json" id="report">' + JSON.stringify(report).replaceAll("<", "\\u003c") + page.slice(end));
  const opened = await openPage(html);
  const charts = await drawn(opened.page);
  assert.equal(series(charts, "heat-map", "energy").rows.length, all.length);
  assert.equal(series(charts, "heat-map", "not run: the model's median").rows.length, all.length - scenario.points.length);
  const bands = charts.energy.filter((s) => s.name.startsWith("model, band")), lows = charts.energy.filter((s) => s.name.startsWith("model, low"));
  assert.equal(bands.length, 1);  // of the best's line
  assert.ok(bands[0].rows.length > 1);
  lows[0].rows.forEach(([at, low], i) => {
    assert.equal(bands[0].rows[i][0], at);
    assert.ok(Math.abs(bands[0].rows[i][1] - (0.06 / 0.97) * low) < 1e-9 * low + 1e-12);
  });
  nothingWrong(opened);
  await opened.page.close();
});

test("the published baseline: three workloads, each with charts of its own", async (t) => {
  const published = join(root, "experiments/published/h200-baseline/h200-baseline.sqlite");
  if (!existsSync(published)) return t.skip("no published baseline here");
  const file = join(folder, "h200.sqlite");
  writeFileSync(file, readFileSync(published));
  const opened = await open(file);
  const { page } = opened;
  const json = JSON.parse(program("report", file, "--json"));
  assert.equal(json.scenarios.length, 3);
  for (const [i, scenario] of json.scenarios.entries()) {
    await page.selectOption("header select", { index: i });
    const charts = await drawn(page);
    const energies = charts.energy.filter((s) => s.type === "line" && !s.name.startsWith("model")).flatMap((s) => s.rows.map((r) => r[1])).sort();
    assert.deepEqual(energies, scenario.points.map((p) => p.energy_per_unit_j.mean).sort());
    assert.equal(await page.textContent("#answer .sentence"), json.answer[i]);
  }
  assert.ok(series(await drawn(page), "trace", "nvidia:gpu-0/power_instant").rows.length > 500);
  nothingWrong(opened);
  await page.close();
});

test("what the work said of itself, and the way to a target", async () => {
  const quiet = "conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}\nrepeat: 2\n";
  writeFileSync(join(folder, "said.yaml"), `name: said\n${quiet}
workloads: [{name: w, shell: "echo p50_latency $(({n} * 10)) ms; echo p99_latency $(({n} * 31)) ms; echo offered_rate 12.5 1/s; echo slo_attained 19 of 20", metrics: [lines]}]
axes: {n: [1, 2, 3]}
objective: {minimise: time, across: [n], same work: true, subject to: {p99_latency: "<= 70 ms"}}
`.replace(/\$\(\(\{n\} \* (\d+)\)\)/g, "$(expr {n} '*' $1)"));
  program("said.yaml", "--quiet", "--no-html", "--state-folder", join(folder, "state"));
  let opened = await open(join(folder, "said.sqlite")), charts = await drawn(opened.page);
  const json = JSON.parse(program("report", join(folder, "said.sqlite"), "--json")).scenarios[0];
  // Those of one unit in one chart, what the constraints are about first.
  assert.deepEqual(charts["metric-1"].filter((s) => s.type === "line").map((s) => s.name), ["p99_latency", "p50_latency"]);
  assert.deepEqual(series(charts, "metric-1", "p99_latency").rows, [[1, 31], [2, 62], [3, 93]]);
  const slo = charts[Object.keys(charts).find((name) => charts[name].some((s) => s.name === "slo_attained"))];
  assert.deepEqual(slo.find((s) => s.name === "95 % slo_attained").rows.map((r) => r.slice(0, 3)),
    json.points.map((p) => [p.values.n, p.metrics.slo_attained.count_low_95, p.metrics.slo_attained.count_high_95]));
  assert.ok((await inked(opened.page, "metric-1")) > 1000);
  nothingWrong(opened);
  await opened.page.close();

  writeFileSync(join(folder, "dvfs_plan_regions.py"), readFileSync(join(root, "experiments/regions/dvfs_plan_regions.py")));
  writeFileSync(join(folder, "falls.py"), "import sys, time, dvfs_plan_regions as r\nwith r.region('train'):\n  for i in range(10):\n    r.metric('loss', 1 - float(sys.argv[1]) * i); time.sleep(0.05)\n");
  writeFileSync(join(folder, "way.yaml"), `name: way\n${quiet}
probes: [{name: wall, command: [sh, -c, "i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.02; done"], channels: {power: {unit: W, averages over: 20 ms}}, rate: 50 Hz}]
workloads: [{name: w, command: [python3, falls.py, "{rate}"]}]
axes: {rate: [0.05, 0.1]}
objective: {minimise: energy, across: [rate], same work: true, to: {loss: "<= 0.45"}}
`.replace("reruns: 0", "reruns: 3"));  // a stall of the machine leaves a gap in what the meter tells
  program("way.yaml", "--quiet", "--no-html", "--state-folder", join(folder, "state"));
  opened = await open(join(folder, "way.sqlite"));
  charts = await drawn(opened.page);
  const way = JSON.parse(program("sql", join(folder, "way.sqlite"), "select trial, value, energy_j, after_s from metrics where energy_j is not null order by trial, after_s", "--json"));
  assert.ok(way.length > 8);
  assert.deepEqual(charts.approach.flatMap((s) => s.rows.map((r) => [r[0], r[1]])), way.map((r) => [r.energy_j, r.value]));
  assert.equal(await opened.page.textContent("#approach h2"), "The way to loss <= 0.45");
  nothingWrong(opened);
  await opened.page.close();
});

test("three copies sharing a board, as published: each against itself alone", async (t) => {
  const published = join(root, "experiments/published/h200-sharing/h200-sharing.sqlite");
  if (!existsSync(published)) return t.skip("no published result here");
  const file = join(folder, "sharing.sqlite");
  writeFileSync(file, readFileSync(published));
  const opened = await open(file);
  const rows = await opened.page.$$eval("#side-by-side tbody tr", (all) => all.map((r) => [...r.children].map((c) => c.textContent)));
  const instances = JSON.parse(program("report", file, "--json")).scenarios[0].points.flatMap((p) => p.instances ?? []);
  assert.deepEqual(rows.map((r) => r[1]), ["instance 1 of 2", "instance 2 of 2", "instance 1 of 3", "instance 2 of 3", "instance 3 of 3"]);
  rows.forEach((r, i) => assert.equal(Number(r[4].split(" ")[0]), Number((1 + instances[i].slowdown.value).toPrecision(3))));
  nothingWrong(opened);
  await opened.page.close();
});

test("several machines: each by itself, thin behind what is said of all", async () => {
  writeFileSync(join(folder, "both.yaml"), `name: both
conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}
repeat: 2
workloads: [{name: w, command: [sleep, "0.0{n}"]}]
axes: {n: [3, 6, 9]}
objective: {minimise: time, across: [n], same work: true}
`);
  for (const name of ["a", "b"]) program("both.yaml", "-o", `${name}.sqlite`, "--quiet", "--no-html", "--state-folder", join(folder, "state"));
  program("merge", "<b>left</b>=a.sqlite", "right=b.sqlite", "-o", "merged.sqlite");
  const opened = await open(join(folder, "merged.sqlite"));
  const scenario = JSON.parse(program("report", join(folder, "merged.sqlite"), "--json")).scenarios[0];
  const rows = await opened.page.$$eval("#nodes tbody tr", (all) => all.map((r) => [...r.children].map((c) => c.textContent)));
  assert.deepEqual(rows.slice(0, 2).map((r) => r.slice(0, 4)), scenario.nodes.map((n) => [n.node, "2", String(n.trials), n.best]));
  const charts = await drawn(opened.page);
  for (const node of scenario.nodes)
    assert.deepEqual(series(charts, "time", `${node.node} `).rows, node.points.map((p, i) => [[3, 6, 9][i], p.work_time_s]));
  nothingWrong(opened);
  await opened.page.close();
});

test("hostile names, paths and output are text", async () => {
  const result = synthetic("hostile", "--hostile", "--core", "4", "--memory", "3");
  const opened = await open(result);
  const { page } = opened;
  for (const summary of await page.$$("summary")) await summary.click();
  for (const chart of await page.$$(".chart")) { await chart.focus(); await page.keyboard.press("ArrowRight"); }
  for (const button of await page.$$("th button")) await button.click();
  await page.mouse.move(600, 500);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.$$eval("img", (all) => all.length), 0);
  assert.equal(await page.$$eval("body script:not([type])", (all) => all.length), 1);
  const text = await page.evaluate(() => document.body.innerText);
  assert.ok(text.includes("<script>window.hacked = 1</script><img src=x onerror=\"window.hacked=2\">'\"&amp; \\x1b[31m"));
  assert.ok(!/[\u202e\u001b]/.test(text), "control and bidirectional characters are shown as what they are");
  assert.ok((await page.textContent("#excluded-table pre")).includes("Traceback: <script>"));
  // Without scripts, too.
  const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await plain.goto(`file://${opened.html}`);
  assert.equal(await plain.$$eval("img", (all) => all.length), 0);
  assert.ok((await plain.textContent("noscript, body")).includes("the least energy"));
  nothingWrong(opened);
  await page.close();
});

test("before and after", async () => {
  const html = join(folder, "compare.html"), a = recorded("v3"), b = recorded("v4");
  program("compare", a, b, "--html", html);
  const json = JSON.parse(program("compare", a, b, "--json"));
  const opened = await openPage(html);
  const rows = series(await drawn(opened.page), "changes", "within the noise").rows;
  assert.deepEqual(rows.map((r) => r[1]), json.scenarios[0].points.filter((p) => p.energy && !p.energy.beyond_noise).map((p) => 100 * p.energy.value));
  assert.equal(await opened.page.textContent("#answer .sentence"), json.answer[0]);
  nothingWrong(opened);
  await opened.page.close();
});


test("nothing serious is found by axe-core, on any page, in any theme", async () => {
  const pages = [["v4", await open(recorded("v4"))], ["adaptive, dark", await open(recorded("adaptive"), { scheme: "dark" })], ["phone", await open(recorded("v3"), { width: 390, height: 844 })],
    ["two axes", await open(synthetic("two", "--core", "8", "--memory", "3"))]];
  const a = recorded("v3"), html = join(folder, "axe-compare.html");
  program("compare", a, recorded("v4"), "--html", html);
  pages.push(["compare", await openPage(html)]);
  for (const [what, opened] of pages) {
    for (const summary of await opened.page.$$("details.values > summary")) await summary.click();
    await accessible(opened, what);
    nothingWrong(opened);
    await opened.page.close();
  }
});

test("the first screen has the answer; an answer has a link of its own", async () => {
  writeFileSync(join(folder, "many.yaml"), `name: many
conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}
repeat: 3
workloads: [{name: quick, command: [sleep, "0.0{n}"]}, {name: slow, command: [sleep, "0.1{n}"]}]
axes: {n: [2, 5, 9]}
objective: {minimise: time, across: [n], same work: true}
`);
  program("many.yaml", "--quiet", "--no-html", "--state-folder", join(folder, "state"));
  const result = join(folder, "many.sqlite"), html = `${result}.html`;
  const json = JSON.parse(program("report", result, "--json"));
  program("report", result, "--html", html);
  const opened = await openPage(html, { width: 390, height: 844 });
  const { page } = opened;
  // On a phone: three numbers without scrolling.
  for (const tile of await page.$$("#answer .numbers .tile")) {
    const box = await tile.boundingBox();
    assert.ok(box.y + box.height <= 844, `a number lies below the screen: ${box.y}`);
  }
  assert.deepEqual(await page.$$eval("#all-answers tbody tr", (all) => all.map((r) => r.children[0].textContent)), json.scenarios.map((s) => s.scenario));
  assert.deepEqual(await page.$$eval("#all-answers tbody tr", (all) => all.map((r) => r.lastElementChild.textContent)), json.scenarios.map((s) => s.how_sure));
  await page.click('#all-answers tbody a >> text="slow"');
  await page.waitForFunction((s) => document.querySelector("#answer .sentence").textContent === s, json.answer[1]);
  assert.match(await page.evaluate(() => location.hash), /work=slow/);
  // A section's link keeps what was chosen; the theme is part of it; opened again it is the same.
  await page.click("nav >> text=Provenance");
  await page.click("#theme");
  const address = await page.evaluate(() => location.href);
  assert.match(address, /work=slow/);
  assert.match(address, /theme=light/);
  const again = await browser.newPage();
  await again.goto(address);
  await again.waitForSelector("html[data-complete]", { state: "attached" });
  assert.equal(await again.textContent("#answer .sentence"), json.answer[1]);
  assert.equal(await again.evaluate(() => document.documentElement.dataset.theme), "light");
  // On paper all answers are there.
  await again.emulateMedia({ media: "print" });
  const printed = await again.$$eval("#answer .sentence", (all) => all.filter((e) => e.checkVisibility()).map((e) => e.textContent));
  assert.deepEqual(printed.sort(), [...json.answer].sort());
  await again.close();
  nothingWrong(opened);
  await page.close();
});

test("asked otherwise on the page: what the report says when it is asked so", async () => {
  const result = recorded("v4");
  const opened = await open(result);
  const { page } = opened;
  const own = JSON.parse(program("report", result, "--json")).scenarios[0];
  assert.deepEqual(await page.$$eval("select[aria-label=Least] option", (all) => all.map((o) => o.textContent)), ["energy", "time", "energy-delay product", "energy-delay-squared product"]);
  const other = own.points.find((p) => !p.reference && p.point !== own.best);
  for (const [objective, label] of [["time", "time"], ["edp", "energy-delay product"]]) {
    await page.selectOption("select[aria-label=Least]", { label });
    await page.selectOption('select[aria-label="Compared with"]', { label: other.called });
    const asked = JSON.parse(program("report", result, "--json", "--objective", objective, ...Object.entries(other.settings).flatMap(([a, v]) => ["--reference", `${a}=${v}`])));
    assert.equal(await page.textContent("#answer .sentence"), asked.answer[0]);
    const scenario = asked.scenarios[0], rows = await page.$$eval("#points-table tbody tr", (all) => all.map((r) => [...r.children].map((c) => c.dataset.value)));
    const saving = (await page.$$eval("#points-table thead th", (all) => all.map((h) => h.textContent))).indexOf("saving");
    rows.forEach((row, i) => assert.equal(row[saving] === undefined ? null : Number(row[saving]), scenario.points[i].saving?.value ?? null));
    assert.equal(series(await drawn(page), "trade-off", "best").rows[0][0], scenario.points.find((p) => p.point === scenario.best).work_time_s.mean);
  }
  assert.match(await page.evaluate(() => location.hash), /objective=edp/);
  await page.selectOption("select[aria-label=Least]", { index: 0 });
  await page.selectOption('select[aria-label="Compared with"]', { label: `${own.points.find((p) => p.reference).called} (the reference)` });
  assert.equal(await page.textContent("#answer .sentence"), JSON.parse(program("report", result, "--json")).answer[0]);
  nothingWrong(opened);
  await page.close();
});

test("a year of it, a slowdown typed in, values for who cannot see a chart", async () => {
  const result = recorded("v4");
  const opened = await open(result);
  const { page } = opened;
  const scenario = JSON.parse(program("report", result, "--json")).scenarios[0], best = scenario.points.find((p) => p.point === scenario.best);
  await page.fill("#runs", "5000");
  await page.fill("#price", "0.3");
  const year = await page.textContent("#year-answer"), numbers = year.match(/-?[\d.]+/g).map(Number);
  const kwh = (5000 * 365.25) / 3.6e6;
  [best.saved_j.value * kwh, best.saved_j.low_95 * kwh, best.saved_j.high_95 * kwh, best.saved_j.value * kwh * 0.3].forEach((e, i) => assert.ok(Math.abs(numbers[i] / e - 1) < 0.006, `${year}: ${numbers[i]} and ${e}`));
  // The limit that is typed in, and a warning where the interval breaks it.
  const step = scenario.by_slowdown.at(-1), named = scenario.points.find((p) => p.point === step.point);
  await page.fill("#tolerated-entry", String(100 * step.from + 1e-6));
  assert.equal(await page.getAttribute("#tolerated-answer", "data-point"), step.point);
  assert.equal((await page.textContent("#tolerated-doubt")) !== "", named.slowdown.high_95 > step.from + 1e-8);
  await page.fill("#tolerated-entry", String(100 * named.slowdown.high_95 + 5));
  assert.equal(await page.textContent("#tolerated-doubt"), "");
  await page.click("#chart-energy ~ details.values > summary");
  await page.waitForSelector("#chart-energy ~ details.values tbody tr");
  const values = await page.$$eval("#chart-energy ~ details.values tbody tr", (all) => all.map((r) => [...r.children].map((c) => c.textContent)));
  assert.deepEqual(values.filter((r) => r[0] === "energy").map((r) => r[1]), scenario.points.map((p) => p.point));
  nothingWrong(opened);
  await page.close();
});

test("more than six lines: a panel each", async () => {
  const result = synthetic("panels", "--core", "9", "--memory", "8", "--repeat", "2");
  const opened = await open(result);
  const scenario = JSON.parse(program("report", result, "--json")).scenarios[0];
  const lines = (await drawn(opened.page)).energy.filter((s) => s.type === "line" && s.name !== "of the best");
  assert.equal(lines.length, 8);
  assert.deepEqual(lines.flatMap((s) => s.rows.map((r) => r[1])).sort(), scenario.points.map((p) => p.energy_level_j ?? p.energy_j.mean).sort());
  assert.deepEqual(await opened.page.$$eval("#axis-effects tbody tr", (all) => all.map((r) => r.children[0].textContent)), scenario.axis_effects.map((e) => e.axis));
  nothingWrong(opened);
  await opened.page.close();
});

test("an index of results: sorted, filtered, linked", async () => {
  const shelf = mkdtempSync(join(folder, "shelf."));
  for (const name of ["v4", "adaptive"]) writeFileSync(join(shelf, `${name}.sqlite`), gunzipSync(readFileSync(join(root, `tests/recorded/results/${name}.sqlite.gz`))));
  writeFileSync(join(shelf, "none.sqlite"), "this is no result");
  program("report", join(shelf, "v4.sqlite"), "--html", join(shelf, "v4.html"));
  const html = join(shelf, "index.html");
  program("index", shelf, "--html", html);
  const json = JSON.parse(program("index", shelf, "--json"));
  assert.deepEqual(json.results.map((r) => r.file), ["adaptive.sqlite", "v4.sqlite"]);
  assert.equal(json.unread.length, 1);
  const of_report = JSON.parse(program("report", join(shelf, "v4.sqlite"), "--json")).scenarios[0];
  assert.equal(json.results[1].gain.value, of_report.gain_of_best.value);
  assert.equal(json.results[1].best, Object.entries(of_report.best_settings).map(([a, v]) => `${a} = ${v}`).join(", "));
  const opened = await openPage(html);
  await accessible(opened, "index");
  assert.deepEqual(await opened.page.$$eval("#index-table tbody tr", (all) => all.map((r) => r.children[0].textContent)), ["adaptive.sqlite", "v4.sqlite"]);
  await opened.page.click("#index-table th >> text=better by");
  const gains = await opened.page.$$eval("#index-table tbody tr", (all) => all.map((r) => Number(r.children[8].dataset.value)));
  assert.deepEqual(gains, [...gains].sort((a, b) => a - b));
  nothingWrong(opened);
  await opened.page.click("#index-table >> text=its page");
  await opened.page.waitForSelector("html[data-ready]", { state: "attached" });
  assert.equal(await opened.page.textContent("#answer .sentence"), JSON.parse(program("report", join(shelf, "v4.sqlite"), "--json")).answer[0]);
  await opened.page.close();
});

test("phone and dark: nothing is wider than the screen", async () => {
  for (const [width, scheme] of [[390, "light"], [390, "dark"], [1280, "dark"]]) {
    const opened = await open(recorded("v4"), { width, height: 844, scheme });
    assert.ok((await opened.page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    if (shots) await opened.page.screenshot({ path: join(shots, `sweep-${width}-${scheme}.png`), fullPage: true });
    // Text against what is behind it: WCAG 2 AA asks for 4.5.
    const contrast = await opened.page.evaluate(() => {
      const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { const s = v / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const body = getComputedStyle(document.body), a = light(body.color), b = light(body.backgroundColor);
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
    assert.ok(contrast > 7, `contrast ${contrast}`);
    nothingWrong(opened);
    await opened.page.close();
  }
});

test("a night of 2000 trials with traces stays under 5 MB", async () => {
  const result = synthetic("large", "--repeat", "9", "--seconds", "60", "--hertz", "10", "--channels", "8");
  const opened = await open(result);
  assert.ok(JSON.parse(program("sql", result, "select count(*) n from trials", "--json"))[0].n >= 1989);
  assert.ok(statSync(opened.html).size < 5e6, `${statSync(opened.html).size} bytes`);
  console.log(`2000 trials: ${(statSync(opened.html).size / 1e6).toFixed(1)} MB, ready after ${opened.ready} ms, all drawn after ${opened.complete} ms`);
  assert.equal(series(await drawn(opened.page), "heat-map", "energy").rows.length, 220);
  // Of those that are looked at first every reading is there to be zoomed into, of the others the peaks.
  const readings = async () => {
    const trial = Number((await opened.page.textContent("#trace .choices select >> nth=1 >> option:checked")).split(":")[0]);
    return JSON.parse(program("sql", result, `select count(*) n from readings where trial = ${trial} and channel = 'nvidia:gpu-0/power'`, "--json"))[0].n;
  };
  const shown = async () => series(await drawn(opened.page), "trace", "nvidia:gpu-0/power").rows.length;
  await opened.page.selectOption("#trace .choices select >> nth=0", { index: 1 });
  assert.match(await opened.page.textContent("#trace-drawn"), /^Every reading of a gauge is drawn, and of a counter its mean power over each five of its updates,/);
  assert.equal(await shown(), await readings());
  assert.ok((await shown()) > 500);
  await opened.page.selectOption("#trace .choices select >> nth=0", { index: 0 });
  const last = (await opened.page.locator("#trace .choices select >> nth=1 >> option").count()) - 1;
  await opened.page.selectOption("#trace .choices select >> nth=1", { index: last });
  assert.match(await opened.page.textContent("#trace-drawn"), /^Of each stretch of time the least and the most are drawn/);
  assert.ok((await shown()) < (await readings()));
  nothingWrong(opened);
  await opened.page.close();
});
