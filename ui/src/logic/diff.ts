/** The change of one file as rows: unified, or side by side. */
import { parse } from "diff2html/lib-esm/diff-parser.js";
import { LineType } from "diff2html/lib-esm/types.js";

export type Mark = "added" | "removed" | "same";

export interface DiffLine {
  mark: Mark;
  before: number | null;
  after: number | null;
  text: string;
  /** The part that differs from the line it replaces: first and last character. */
  changed: [number, number] | null;
}

export interface Hunk {
  header: string;
  lines: DiffLine[];
}

export interface Pair {
  left: DiffLine | null;
  right: DiffLine | null;
}

/** Returns the hunks of a text that git wrote for one file. */
export function hunksOf(text: string): Hunk[] {
  const [file] = parse(text);
  return (file?.blocks ?? []).map(block => {
    const lines = block.lines.map(line => ({
      mark: markOf(line.type),
      before: line.oldNumber ?? null,
      after: line.newNumber ?? null,
      text: line.content.slice(1),
      changed: null,
    }));
    return { header: block.header, lines: withChangedParts(lines) };
  });
}

function markOf(type: LineType): Mark {
  if (type === LineType.INSERT) return "added";
  return type === LineType.DELETE ? "removed" : "same";
}

function withChangedParts(lines: DiffLine[]): DiffLine[] {
  for (const [removed, added] of replacements(lines)) {
    if (removed.length !== added.length) continue;
    removed.forEach((before, index) => {
      const after = added[index];
      if (after) [before.changed, after.changed] = changedParts(before.text, after.text);
    });
  }
  return lines;
}

function* replacements(lines: DiffLine[]): Generator<[DiffLine[], DiffLine[]]> {
  let at = 0;
  while (at < lines.length) {
    const removed = runOf(lines, at, "removed");
    const added = runOf(lines, at + removed.length, "added");
    if (removed.length || added.length) yield [removed, added];
    at += Math.max(1, removed.length + added.length);
  }
}

function runOf(lines: DiffLine[], from: number, mark: Mark): DiffLine[] {
  let end = from;
  while (lines[end]?.mark === mark) end++;
  return lines.slice(from, end);
}

/** Returns the parts of two lines between what they share at the start and at the end; null if they share little. */
export function changedParts(
  before: string,
  after: string,
): [[number, number] | null, [number, number] | null] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  if (start + end < Math.max(before.length, after.length) / 3) return [null, null];
  return [
    [start, before.length - end],
    [start, after.length - end],
  ];
}

/** Returns the lines of a hunk side by side: removed lines beside the added lines that replace them. */
export function pairsOf(lines: readonly DiffLine[]): Pair[] {
  const pairs: Pair[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line?.mark === "same") {
      pairs.push({ left: line, right: line });
      at++;
      continue;
    }
    const removed = runOf(lines as DiffLine[], at, "removed");
    const added = runOf(lines as DiffLine[], at + removed.length, "added");
    for (let index = 0; index < Math.max(removed.length, added.length); index++) {
      pairs.push({ left: removed[index] ?? null, right: added[index] ?? null });
    }
    at += Math.max(1, removed.length + added.length);
  }
  return pairs;
}
