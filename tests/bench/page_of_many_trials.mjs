// node --test page_of_many_trials.mjs: what the page of 10 000 trials of 60 s with 8 channels at 10 Hz weighs, and how long Debian's Chromium
// takes to show and to draw all of it (median of five).
import { statSync } from "node:fs";
import { test } from "node:test";
import { open, openPage, synthetic } from "../page/browser.mjs";

test("the page of 10 000 trials", { timeout: 900_000 }, async () => {
  const result = synthetic("many", "--core", "25", "--memory", "20", "--repeat", "20", "--seconds", "60", "--hertz", "10", "--channels", "8");
  const first = await open(result), seen = [first];
  await first.page.close();
  for (let i = 0; i < 4; ++i) {
    const again = await openPage(first.html);
    await again.page.close();
    seen.push(again);
  }
  const median = (values) => values.sort((a, b) => a - b)[2];
  console.log(`page of 10 000 trials: ${(statSync(first.html).size / 1e6).toFixed(1)} MB, ready after ${median(seen.map((s) => s.ready))} ms, all drawn after ${median(seen.map((s) => s.complete))} ms`);
});
