// Fails if the page has grown above its limit, counted as a browser loads it: gzipped.
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const LIMIT = 90_000;
let total = 0;
for (const name of ["app.js", "app.css"]) {
  const size = gzipSync(await readFile(new URL(`../src/weft/web/static/${name}`, import.meta.url))).length;
  console.log(`${name} ${(size / 1000).toFixed(1)} KB gzipped`);
  total += size;
}
if (total > LIMIT) {
  console.error(`the page is ${total} bytes gzipped; the limit is ${LIMIT}`);
  process.exit(1);
}
