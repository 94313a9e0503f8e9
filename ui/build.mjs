// Bundles the page: `node build.mjs [DIRECTORY]`. `bundle.py` calls it, and notes the hash of the sources beside the result.
import { mkdir } from "node:fs/promises";
import { build } from "esbuild";

const directory = process.argv[2] ?? "../src/weft/web/static";
await mkdir(directory, { recursive: true });
await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: directory,
  bundle: true,
  minify: true,
  // One classic script: `weft report` puts the same text into its file, where a module could not be loaded from disk.
  format: "iife",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "linked",
  logLevel: "warning",
});
