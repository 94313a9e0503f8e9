/** A log as it is shown: the lines that were loaded, with long thoughts folded. */
import type { LogLine, LogPage, LogPart } from "../api/types";

export interface LogText {
  lines: LogLine[];
  /** The byte of the first line, and the byte after the last. */
  start: number;
  end: number;
  size: number;
  isEnded: boolean;
}

/** The most lines that are kept; reading on drops them at the other end. */
export const MOST_LINES = 20_000;

export const EMPTY_LOG: LogText = { lines: [], start: 0, end: 0, size: 0, isEnded: false };

export function logOf(page: LogPage): LogText {
  return {
    lines: [...page.lines],
    start: page.start,
    end: page.end,
    size: page.size,
    isEnded: page.is_ended,
  };
}

/**
 * Returns the log with a page that follows it. The page may start before the end of the log: a tool call whose result has arrived
 * comes again, and replaces the lines from there on.
 */
export function appended(log: LogText, page: LogPage): LogText {
  const lines = page.lines.length
    ? [...log.lines.filter(line => line.at < page.start), ...page.lines]
    : log.lines;
  const dropped = Math.max(0, lines.length - MOST_LINES);
  const kept = dropped ? lines.slice(dropped) : lines;
  return {
    lines: kept,
    start: dropped ? (kept[0]?.at ?? log.start) : Math.min(log.start, page.start),
    end: Math.max(log.end, page.end),
    size: page.size,
    isEnded: page.is_ended,
  };
}

/** Returns the log with a page that precedes it. */
export function prepended(log: LogText, page: LogPage): LogText {
  const older = page.lines.filter(line => line.at < log.start);
  return { ...log, lines: [...older, ...log.lines], start: Math.min(log.start, page.start), size: page.size };
}

/** A shown row: a line, or a line that stands for folded ones below it. */
export interface LogRow {
  /** The index of the line. */
  line: number;
  /** How many lines below it belong to it. */
  folds: number;
  isOpen: boolean;
  isPart: boolean;
}

const FOLDS = new Set(["tool", "thinks"]);
const PARTS = new Set(["detail"]);

/**
 * Returns the rows of a log. The further lines of a thought belong to it, and are folded until a person opens it. Those with an error
 * are always shown.
 */
export function logRows(lines: readonly LogLine[], open: ReadonlySet<number>): LogRow[] {
  const rows: LogRow[] = [];
  for (let index = 0; index < lines.length; index++) {
    const parts = partCount(lines, index);
    const first = lines[index];
    const isOpen = parts > 0 && first !== undefined && (open.has(first.at) || hasError(lines, index, parts));
    rows.push({ line: index, folds: parts, isOpen, isPart: false });
    for (let part = 1; part <= parts; part++) {
      if (isOpen) rows.push({ line: index + part, folds: 0, isOpen: false, isPart: true });
    }
    index += parts;
  }
  return rows;
}

function partCount(lines: readonly LogLine[], index: number): number {
  if (!FOLDS.has(lines[index]?.kind ?? "")) return 0;
  let parts = 0;
  while (PARTS.has(lines[index + parts + 1]?.kind ?? "")) parts++;
  return parts;
}

function hasError(lines: readonly LogLine[], index: number, parts: number): boolean {
  return lines.slice(index + 1, index + parts + 1).some(line => line.is_error);
}

/** Returns the next or previous row with an error, seen from a row; null if there is none in that direction. */
export function errorRow(
  lines: readonly LogLine[],
  rows: readonly LogRow[],
  from: number,
  direction: 1 | -1,
): number | null {
  for (let at = from + direction; at >= 0 && at < rows.length; at += direction) {
    const row = rows[at];
    if (row && lines[row.line]?.is_error) return at;
  }
  return null;
}

/** Returns the index of the row that shows the line at a byte, or the last one before it; -1 without rows. */
export function rowAt(lines: readonly LogLine[], rows: readonly LogRow[], at: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row && (lines[row.line]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Returns the output that a page shows first: that of the step and attempt in its address, else the newest one of a step of the
 * plan, as Weft's own steps (merging, landing) rarely say what a person looks for. Undefined if the newest of all is right.
 */
export function preferredPart(
  parts: readonly LogPart[],
  step: string | null,
  attempt: number,
): string | undefined {
  const fitting = parts.filter(part => (step === null ? !part.step.startsWith("@") : part.step === step));
  const exact = fitting.findLast(part => part.attempt === attempt);
  return (exact ?? fitting.at(-1))?.part;
}
