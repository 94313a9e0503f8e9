/** Which rows of a run are shown, in which order, folded and filtered. */
import { isDone } from "./landing";
import type { Table } from "./table";

export interface Filter {
  /** A state as the strip counts them: `running`, `failed`, `blocked`, `asking` …; empty for all. */
  state: string;
  /** A part of the path. */
  text: string;
  hidesDone: boolean;
}

export const NO_FILTER: Filter = { state: "", text: "", hidesDone: false };

export interface TreeRow {
  row: number;
  level: number;
  /** The place among the shown rows of the same group, from 1. */
  position: number;
  setSize: number;
  isFolded: boolean;
}

/** Returns the state by which a slice is counted: a failure because of others is counted apart. */
export function countedState(table: Table, row: number): string {
  const state = table.state[row] ?? "pending";
  const reason = state === "failed" ? table.reason.get(row) : undefined;
  return reason === "blocked" || reason === "cancelled" ? reason : state;
}

/** Returns the shown rows. A group is shown if a slice in it is, or if its own path matches. */
export function treeRows(table: Table, filter: Filter, folded: ReadonlySet<number>): TreeRow[] {
  const isShown = shownRows(table, filter);
  const rows: TreeRow[] = [];
  const isSearching = filter.text !== "" || filter.state !== "";
  const visit = (group: number, level: number): void => {
    const shown = (table.children[group] ?? []).filter(row => isShown[row]);
    shown.forEach((row, index) => {
      // What is searched for is shown, also in a group that was folded.
      const isFolded = !table.leaf[row] && !isSearching && folded.has(row);
      rows.push({ row, level, position: index + 1, setSize: shown.length, isFolded });
      if (!table.leaf[row] && !isFolded) visit(row, level + 1);
    });
  };
  visit(0, 1);
  return rows;
}

function shownRows(table: Table, filter: Filter): boolean[] {
  const shown: boolean[] = new Array(table.path.length).fill(false);
  const text = filter.text.toLowerCase();
  // The parts of a group follow it, so a walk from the end meets them first.
  for (let row = table.path.length - 1; row > 0; row--) {
    if (!shown[row] && table.leaf[row]) shown[row] = matches(table, row, filter, text);
    if (shown[row]) shown[table.parent[row] ?? 0] = true;
  }
  return shown;
}

function matches(table: Table, row: number, filter: Filter, text: string): boolean {
  if (filter.state && countedState(table, row) !== filter.state) return false;
  if (!filter.state && filter.hidesDone && isDone(table, row)) return false;
  return !text || (table.path[row] ?? "").toLowerCase().includes(text);
}

/** Returns how many slices are completed with nothing left to land. */
export function doneCount(table: Table): number {
  let done = 0;
  for (let row = 1; row < table.path.length; row++) if (table.leaf[row] && isDone(table, row)) done++;
  return done;
}

export interface GroupTally {
  slices: number;
  completed: number;
  failed: number;
  running: number;
}

/** Returns the slices of each group by state; entries of slices are undefined. */
export function groupTallies(table: Table): Array<GroupTally | undefined> {
  const tallies: Array<GroupTally | undefined> = table.leaf.map(leaf =>
    leaf ? undefined : { slices: 0, completed: 0, failed: 0, running: 0 },
  );
  for (let row = table.path.length - 1; row > 0; row--) {
    const around = tallies[table.parent[row] ?? 0];
    if (!around) continue;
    const own = tallies[row];
    if (own) add(around, own);
    else addSlice(around, table.state[row] ?? "pending");
  }
  return tallies;
}

function add(sum: GroupTally, part: GroupTally): void {
  sum.slices += part.slices;
  sum.completed += part.completed;
  sum.failed += part.failed;
  sum.running += part.running;
}

function addSlice(sum: GroupTally, state: string): void {
  sum.slices++;
  if (state === "completed") sum.completed++;
  else if (state === "failed" || state === "conflict") sum.failed++;
  else if (state !== "pending") sum.running++;
}

/** Returns the next or previous shown row for which `isWanted` holds, around the end; null if there is none. */
export function nextRow(
  rows: readonly TreeRow[],
  from: number,
  direction: 1 | -1,
  isWanted: (row: number) => boolean,
): number | null {
  const start = rows.findIndex(row => row.row === from);
  for (let step = 1; step <= rows.length; step++) {
    const at = (((start + direction * step) % rows.length) + rows.length) % rows.length;
    const row = rows[at]?.row;
    if (row !== undefined && isWanted(row)) return row;
  }
  return null;
}
