/**
 * The subplans of a run in memory: the columns of a snapshot, changed in place by increments. A row is a number; row 0 is the whole
 * plan, and the rows of a group follow it, as in the plan.
 */
import type { RowChange, ShownState, SubplanColumns } from "../api/types";

export interface Table {
  path: readonly string[];
  parent: readonly number[];
  leaf: readonly boolean[];
  dependsOn: ReadonlyArray<readonly number[]>;
  stepTotal: readonly number[];
  depth: number[];
  children: number[][];
  rowOf: Map<string, number>;
  state: ShownState[];
  reason: Map<number, string>;
  step: Map<number, string>;
  stepNumber: number[];
  attempt: Map<number, number>;
  attemptLimit: Map<number, number>;
  since: Array<number | null>;
  startedAt: Array<number | null>;
  endedAt: Array<number | null>;
  cost: number[];
  unknownCosts: Map<number, number>;
  tokens: number[];
  landing: Map<number, string>;
  note: Map<number, string>;
  carried: Set<number>;
  paused: Set<number>;
}

export function tableOf(columns: SubplanColumns): Table {
  return {
    path: columns.path,
    parent: columns.parent,
    leaf: columns.leaf,
    dependsOn: columns.depends_on,
    stepTotal: columns.step_total,
    ...shapeOf(columns),
    state: [...columns.state],
    reason: mapOf(columns.reason),
    step: mapOf(columns.step),
    stepNumber: [...columns.step_number],
    attempt: mapOf(columns.attempt),
    attemptLimit: mapOf(columns.attempt_limit),
    since: [...columns.since],
    startedAt: [...columns.started_at],
    endedAt: [...columns.ended_at],
    cost: [...columns.cost],
    unknownCosts: mapOf(columns.unknown_costs),
    tokens: [...columns.tokens],
    landing: mapOf(columns.landing),
    note: mapOf(columns.note),
    carried: new Set(columns.carried),
    paused: new Set(columns.paused),
  };
}

function shapeOf(columns: SubplanColumns): Pick<Table, "depth" | "children" | "rowOf"> {
  const depth: number[] = [];
  const children: number[][] = columns.path.map(() => []);
  const rowOf = new Map<string, number>();
  columns.path.forEach((path, row) => {
    const parent = columns.parent[row] ?? -1;
    depth.push(parent < 0 ? 0 : (depth[parent] ?? 0) + 1);
    children[parent]?.push(row);
    rowOf.set(path, row);
  });
  return { depth, children, rowOf };
}

function mapOf<T>(column: Readonly<Partial<Record<number, T>>>): Map<number, T> {
  return new Map(Object.entries(column).map(([row, value]) => [Number(row), value as T]));
}

/** Changes a row. A field that the change lacks has its default. */
export function applyChange(table: Table, change: RowChange): void {
  const row = change.row;
  table.state[row] = change.state ?? "pending";
  table.stepNumber[row] = change.step_number ?? 0;
  table.since[row] = change.since ?? null;
  table.startedAt[row] = change.started_at ?? null;
  table.endedAt[row] = change.ended_at ?? null;
  table.cost[row] = change.cost ?? 0;
  table.tokens[row] = change.tokens ?? 0;
  setOrDelete(table.reason, row, change.reason);
  setOrDelete(table.step, row, change.step);
  setOrDelete(table.attempt, row, change.attempt);
  setOrDelete(table.attemptLimit, row, change.attempt_limit);
  setOrDelete(table.unknownCosts, row, change.unknown_costs);
  setOrDelete(table.landing, row, change.landing);
  setOrDelete(table.note, row, change.note);
  mark(table.carried, row, change.carried);
  mark(table.paused, row, change.paused);
}

function setOrDelete<T>(column: Map<number, T>, row: number, value: T | undefined): void {
  if (value === undefined || value === "" || value === 0) column.delete(row);
  else column.set(row, value);
}

function mark(column: Set<number>, row: number, value: boolean | undefined): void {
  if (value) column.add(row);
  else column.delete(row);
}

/** Returns the last part of the path of a row. */
export function nameOf(table: Table, row: number): string {
  const path = table.path[row] ?? "";
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Yields the paths of what a row waits for: uncompleted dependencies of it and of the groups around it. */
export function* waitsFor(table: Table, row: number): Generator<string> {
  for (let at = row; at > 0; at = table.parent[at] ?? -1) {
    for (const other of table.dependsOn[at] ?? []) {
      if (table.state[other] !== "completed") yield table.path[other] ?? "";
    }
  }
}
