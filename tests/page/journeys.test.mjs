// Three people's ways through the program, from a terminal of 80 and of 120 columns to the page on a phone and on a desk, light, dark and
// on paper: a researcher at first contact, who makes mistakes; an administrator the morning after; an analyst who was not there.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { accessible, bin, folder, nothingWrong, openPage, program, recorded } from "./browser.mjs";

// On a terminal of so many columns, as util-linux' script(1) makes one; what was said, without the terminal's own marks.
function onTerminal(columns, where, ...words) {
  const quoted = words.map((w) => `'${w.replaceAll("'", `'\\''`)}'`).join(" ");
  const beside = join(where, "stderr.txt");
  const run = spawnSync("script", ["-qec", `stty cols ${columns} rows 50; exec ${quoted} 2>'${beside}'`, "/dev/null"],
    { encoding: "utf8", cwd: where, env: { ...process.env, NO_COLOR: "1", TERM: "xterm", PATH: `${bin}:${process.env.PATH}` } });
  const text = run.stdout.replaceAll("\r\n", "\n").replace(/[^\n]*\r(?=[^\n])/g, "").replaceAll("\x1b[K", "");
  // What has no space stays whole, and so do commands that one copies and comments of what goes into a file.
  for (const line of text.split("\n")) assert.ok(line.length <= columns || !line.trim().slice(0, columns).includes(" ") || /^(#| *fix:)/.test(line), `wider than ${columns}: ${line}`);
  return { code: run.status, text, faults: readFileSync(beside, "utf8") };
}
const numbers = (text) => (text.match(/\d+(\.\d+)?/g) ?? []).length;

// Phone and desk, light, dark and on paper; `says`: sentences that stand there.
async function looksRight(html, says) {
  for (const [width, height] of [[390, 844], [1440, 900]]) {
    for (const scheme of ["light", "dark"]) {
      const opened = await openPage(html, { width, height, scheme });
      const { page } = opened;
      const what = `${html} at ${width}, ${scheme}`;
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${what}: wider than the screen`);
      const text = await page.innerText("body");
      for (const sentence of says) assert.ok(text.replace(/\s+/g, " ").includes(sentence), `${what} does not say: ${sentence}`);
      await accessible(opened, what);
      await page.emulateMedia({ media: "print" });
      const printed = (await page.innerText("body")).replace(/\s+/g, " ");
      for (const sentence of says) assert.ok(printed.includes(sentence), `${what}, on paper, does not say: ${sentence}`);
      // Paper is white, whatever the screen was.
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)", what);
      nothingWrong(opened);
      await page.close();
    }
  }
}

test("a researcher at first contact: an experiment of his own, with five mistakes, each mended by its message alone", async () => {
  const home = join(folder, "researcher");
  mkdirSync(home);
  writeFileSync(join(home, "pack.sh"), "i=0; while [ $i -lt ${1}000 ]; do i=$((i + 1)); done; echo files $1\n");
  writeFileSync(join(home, "pack.yaml"), `name: pack
workload: [{name: pack, command: [sh, pack.sh, "{sizes}"], metrics: [lines]}]
axes: {size: [2, 6, 20]}
repeats: 4
objective: {minimise: tmie, across: [size], same work: true}
conditions: {warm up: 0, idle: none, foreign load: off, temperature: off}
settle: 5 msec
`);
  const wrong = { workload: false, repeats: false, tmie: false, sizes: false, msec: false };
  let said;
  // What the message proposes is put where it points, and nothing else is touched.
  for (let tries = 0; tries < 12; ++tries) {
    said = onTerminal(80, home, "dvfs-plan", "check", "pack.yaml");
    const faults = said.faults.split("\n").filter((line) => line.startsWith("pack.yaml:") && line.includes(": error: "));
    if (faults.length === 0) break;
    const hinted = faults.map((fault) => /^pack\.yaml:(\d+):\d+: error: .*?['{]([^'}]*)['}][^'{]*\(did you mean (?:the unit )?'([^']+)'/.exec(fault)).find((found) => found !== null);
    assert.ok(hinted, `no next step in: ${said.faults}`);
    const lines = readFileSync(join(home, "pack.yaml"), "utf8").split("\n"), at = Number(hinted[1]) - 1, bad = hinted[2].replace(/[{}]/g, "").split(" ").at(-1);
    const found = [null, null, hinted[3].replace(/[{}]/g, "")];
    assert.ok(lines[at].includes(bad), `${bad} is not in line ${at + 1}: ${lines[at]}`);
    lines[at] = lines[at].replace(bad, found[2]);
    wrong[bad] = true;
    writeFileSync(join(home, "pack.yaml"), lines.join("\n"));
  }
  assert.deepEqual(wrong, { workload: true, repeats: true, tmie: true, sizes: true, msec: true }, said.faults);
  assert.equal(said.code, 0, said.faults);
  const run = onTerminal(80, home, "dvfs-plan", "pack.yaml", "--state-folder", join(home, "state"));
  assert.equal(run.code, 0, run.faults);
  // Which size is the quickest is the machine's to say: each form names the one that the result has.
  const answer = JSON.parse(execFileSync(join(bin, "dvfs-plan"), ["report", "pack.sqlite", "--json"], { cwd: home, encoding: "utf8" })).answer[0];
  const least = /^pack: the least time at size = (2|6|20)\b/.exec(answer)?.[0];
  assert.ok(least, answer);
  assert.ok(run.text.replace(/\s+/g, " ").includes(least), run.text);
  for (const columns of [80, 120]) {
    const report = onTerminal(columns, home, "dvfs-plan", "report", "pack.sqlite").text.replace(/\s+/g, " ");
    for (const words of ["size", "trials", "slowdown", least]) assert.ok(report.includes(words), `${columns}: ${words}`);
    assert.match(onTerminal(columns, home, "dvfs-plan", "status", "pack.sqlite").text, /\ndone\n/);
  }
  await looksRight(join(home, "pack.html"), [answer.replace(/\s+/g, " ")]);
});

test("an administrator the morning after: what there is, what changed, what to set", async () => {
  const before = recorded("v3"), after = recorded("v4");
  const index = join(folder, "index.html"), compared = join(folder, "compared.html");
  const said = {};
  for (const columns of [80, 120]) {
    said[columns] = [
      onTerminal(columns, folder, "dvfs-plan", "index", "."),
      onTerminal(columns, folder, "dvfs-plan", "status", after),
      onTerminal(columns, folder, "dvfs-plan", "compare", before, after),
      onTerminal(columns, folder, "dvfs-plan", "report", after),
      onTerminal(columns, folder, "dvfs-plan", "setting", after, "--as", "slurm"),
      onTerminal(columns, folder, "dvfs-plan", "doctor"),
    ];
    for (const one of said[columns].slice(0, 5)) assert.equal(one.code, 0, one.text);
    assert.match(said[columns][2].text.replace(/\s+/g, " "), /The best is the same: cpu\.frequency = 1\.8 GHz\./);
    assert.match(said[columns][4].text, /^#SBATCH --cpu-freq=1800000-1800000$/m);
  }
  // The narrow terminal is told as much as the wide one.
  said[80].slice(0, 4).forEach((one, i) => assert.equal(numbers(one.text), numbers(said[120][i].text), one.text));
  program("index", folder, "--html", index);
  program("compare", before, after, "--html", compared);
  await looksRight(index, ["cpu.frequency = 1.8 GHz"]);
  await looksRight(compared, ["The best is the same: cpu.frequency = 1.8 GHz."]);
});

test("an analyst who was not there: the answer, what it rests on, and the same numbers in every form", async () => {
  const result = recorded("v4"), html = `${result}.html`;
  program("report", result, "--html", html);
  const json = JSON.parse(program("report", result, "--json"));
  const best = JSON.parse(program("sql", result, "select * from best", "--json"))[0];
  assert.equal(best.point, json.scenarios[0].best);
  const point = json.scenarios[0].points.find((p) => p.point === best.point);
  const csv = program("export", result).trim().split("\n").map((line) => line.split(","));
  const column = (name) => csv[0].indexOf(name);
  const joules = csv.slice(1).filter((row) => row[column("point")] === best.point && row[column("counts")] === "1").map((row) => Number(row[column("energy_j")]));
  assert.equal(joules.length, point.counted);
  assert.ok(Math.abs(joules.reduce((a, b) => a + b) / joules.length / point.energy_j.mean - 1) < 1e-9);
  for (const columns of [80, 120]) {
    const text = onTerminal(columns, folder, "dvfs-plan", "report", result).text.replace(/\s+/g, " ");
    assert.ok(text.includes(json.answer[0].replace(/\s+/g, " ")), `${columns}: ${text}`);
  }
  await looksRight(html, [json.answer[0].replace(/\s+/g, " ")]);
});
