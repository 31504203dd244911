// node build.mjs OUT: bundles the page's script and style, and the Parquet writer, into OUT.
import { build } from "esbuild";
const out = process.argv[2] ?? "out";
const common = { bundle: true, minify: true, legalComments: "inline", charset: "ascii", logLevel: "warning" };
await build({ ...common, entryPoints: ["src/main.ts"], outfile: `${out}/page.js`, format: "iife", target: ["chrome90", "firefox90", "safari15"] });
await build({ ...common, entryPoints: ["src/page.css"], outfile: `${out}/page.css` });
await build({ ...common, entryPoints: ["parquet/write_parquet.mjs"], outfile: `${out}/write_parquet.mjs`, format: "esm", platform: "node", target: "node18" });
