/**
 * How far completed work has come on its way to the target. A slice of a group is `merged` into the branch of the group when it
 * is completed; it is on the target only when the group around it has landed.
 */
import type { Table } from "./table";

/** Returns the words for the landing of a row; empty if it has nothing to land. */
export function landingWords(table: Table, row: number): string {
  const own = table.landing.get(row);
  if (own === undefined) return "";
  if (own === "unmerged") return "not landed yet";
  if (own !== "merged") return own;
  const group = table.parent[row] ?? 0;
  // The slices of such a group land on their own.
  if (group <= 0) return "";
  const landed = landedGroup(table, row);
  return landed === null
    ? `merged into ${table.path[group]}, not landed yet`
    : `landed with ${table.path[landed]}`;
}

/** Returns whether the work of a row is on the target, by itself or with a group around it. */
export function isLanded(table: Table, row: number): boolean {
  const own = table.landing.get(row);
  return own === "merged" ? landedGroup(table, row) !== null : isWhole(own);
}

/** Returns whether a slice has nothing left to do: it is completed, and its work, if there is any, is on the target. */
export function isDone(table: Table, row: number): boolean {
  return table.state[row] === "completed" && (!table.landing.has(row) || isLanded(table, row));
}

/** Returns the group with which merged work has landed; null if it has not landed. */
function landedGroup(table: Table, row: number): number | null {
  for (let at = table.parent[row] ?? 0; at > 0; at = table.parent[at] ?? 0) {
    const landing = table.landing.get(at);
    if (isWhole(landing)) return at;
    if (landing !== "merged") return null;
  }
  return null;
}

/** Returns whether a landing is `landed bd7e5b6`, and not `landed bd7e5b6 in part`. */
function isWhole(landing: string | undefined): boolean {
  return landing !== undefined && /^landed(?: [0-9a-f]+)?$/.test(landing);
}
