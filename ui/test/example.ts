/** A small run: a group `store` with `model` and `disk`, and `cli`, which waits for the group. */
import type { SubplanColumns } from "../src/api/types";
import { type Table, tableOf } from "../src/logic/table";

export const COLUMNS: SubplanColumns = {
  path: ["", "store", "store/model", "store/disk", "cli"],
  parent: [-1, 0, 1, 1, 0],
  leaf: [false, false, true, true, true],
  depends_on: [[], [], [], [2], [1]],
  step_total: [0, 0, 3, 3, 3],
  state: ["running", "running", "running", "pending", "pending"],
  reason: {},
  step: {},
  step_number: [0, 0, 0, 0, 0],
  attempt: {},
  attempt_limit: {},
  since: [null, null, null, null, null],
  started_at: [null, null, null, null, null],
  ended_at: [null, null, null, null, null],
  cost: [0, 0, 0, 0, 0],
  unknown_costs: {},
  tokens: [0, 0, 0, 0, 0],
  landing: {},
  note: {},
  carried: [],
  paused: [],
};

export function exampleTable(): Table {
  return tableOf(COLUMNS);
}
