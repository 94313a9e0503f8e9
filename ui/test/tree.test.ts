import { describe, expect, it } from "vitest";
import { isDone } from "../src/logic/landing";
import { applyChange, nameOf, waitsFor } from "../src/logic/table";
import { countedState, doneCount, groupTallies, NO_FILTER, nextRow, treeRows } from "../src/logic/tree";
import { MOST_ROWS, scrollTo, visibleSlice } from "../src/logic/virtual";
import { exampleTable } from "./example";

const paths = (
  table: ReturnType<typeof exampleTable>,
  filter = NO_FILTER,
  folded = new Set<number>(),
): string[] => treeRows(table, filter, folded).map(row => table.path[row.row] ?? "");

describe("treeRows", () => {
  it("shows every row below the plan, with its level and its place", () => {
    const table = exampleTable();
    expect(treeRows(table, NO_FILTER, new Set())).toEqual([
      { row: 1, level: 1, position: 1, setSize: 2, isFolded: false },
      { row: 2, level: 2, position: 1, setSize: 2, isFolded: false },
      { row: 3, level: 2, position: 2, setSize: 2, isFolded: false },
      { row: 4, level: 1, position: 2, setSize: 2, isFolded: false },
    ]);
  });

  it("hides what a folded group contains, except while something is searched for", () => {
    expect(paths(exampleTable(), NO_FILTER, new Set([1]))).toEqual(["store", "cli"]);
    expect(paths(exampleTable(), { ...NO_FILTER, text: "MODEL" }, new Set([1]))).toEqual([
      "store",
      "store/model",
    ]);
  });

  it("hides what is completed and landed, and groups that are empty then", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "completed", landing: "merged" });
    applyChange(table, { row: 3, state: "completed", landing: "unmerged" });
    expect(doneCount(table)).toBe(0);
    applyChange(table, { row: 2, state: "completed", landing: "landed bd7e5b6" });
    expect(paths(table, { ...NO_FILTER, hidesDone: true })).toEqual(["store", "store/disk", "cli"]);
    applyChange(table, { row: 3, state: "completed", landing: "landed" });
    expect(paths(table, { ...NO_FILTER, hidesDone: true })).toEqual(["cli"]);
    expect(doneCount(table)).toBe(2);
  });

  it("filters by state even if that state is hidden otherwise", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "completed", landing: "merged" });
    expect(paths(table, { state: "completed", text: "", hidesDone: true })).toEqual(["store", "store/model"]);
  });

  it("counts a failure because of others apart", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "failed", reason: "error" });
    applyChange(table, { row: 4, state: "failed", reason: "blocked" });
    expect([countedState(table, 2), countedState(table, 4)]).toEqual(["failed", "blocked"]);
    expect(paths(table, { ...NO_FILTER, state: "blocked" })).toEqual(["cli"]);
  });
});

describe("rows", () => {
  it("have defaults for what a change does not name", () => {
    const table = exampleTable();
    applyChange(table, {
      row: 2,
      state: "running",
      step: "code",
      attempt: 2,
      since: 5,
      note: "busy",
      paused: true,
    });
    expect([table.step.get(2), table.attempt.get(2), table.since[2], table.paused.has(2)]).toEqual([
      "code",
      2,
      5,
      true,
    ]);
    applyChange(table, { row: 2, state: "completed", cost: 7 });
    expect([
      table.step.has(2),
      table.attempt.has(2),
      table.since[2],
      table.note.has(2),
      table.paused.has(2),
      table.cost[2],
    ]).toEqual([false, false, null, false, false, 7]);
  });

  it("wait for their dependencies and those of the groups around them", () => {
    const table = exampleTable();
    expect([...waitsFor(table, 3)]).toEqual(["store/model"]);
    expect([...waitsFor(table, 4)]).toEqual(["store"]);
    applyChange(table, { row: 1, state: "completed" });
    expect([...waitsFor(table, 4)]).toEqual([]);
  });

  it("are done when completed, unless their work still waits to land", () => {
    const table = exampleTable();
    applyChange(table, { row: 4, state: "completed" });
    expect([isDone(table, 4), nameOf(table, 3)]).toEqual([true, "disk"]);
    applyChange(table, { row: 4, state: "completed", landing: "held" });
    expect(isDone(table, 4)).toBe(false);
  });

  it("are found in both directions, around the end", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "failed" });
    const rows = treeRows(table, NO_FILTER, new Set());
    const isFailed = (row: number): boolean => table.state[row] === "failed";
    expect(nextRow(rows, 3, 1, isFailed)).toBe(2);
    expect(nextRow(rows, 3, -1, isFailed)).toBe(2);
    expect(nextRow(rows, 3, 1, () => false)).toBeNull();
    expect(nextRow([], 3, 1, () => true)).toBeNull();
  });

  it("sum up in their groups", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "completed" });
    applyChange(table, { row: 3, state: "asking" });
    const tallies = groupTallies(table);
    expect(tallies[1]).toEqual({ slices: 2, completed: 1, failed: 0, running: 1 });
    expect(tallies[0]).toEqual({ slices: 3, completed: 1, failed: 0, running: 1 });
    expect(tallies[2]).toBeUndefined();
  });
});

describe("visibleSlice", () => {
  it("never has more than the allowed rows, wherever it is scrolled to", () => {
    for (const height of [100, 800, 5000]) {
      for (let scrolled = 0; scrolled < 400_000; scrolled += 9_973) {
        const { first, last } = visibleSlice(10_000, 36, scrolled, height);
        expect(last - first).toBeLessThanOrEqual(MOST_ROWS);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(last).toBeLessThanOrEqual(10_000);
      }
    }
  });

  it("holds all rows of a short list", () => {
    expect(visibleSlice(5, 36, 0, 800)).toEqual({ first: 0, last: 5 });
  });

  it("scrolls only as far as needed", () => {
    expect(scrollTo(2, 36, 0, 360)).toBe(0);
    expect(scrollTo(20, 36, 0, 360)).toBe(20 * 36 + 36 - 360);
    expect(scrollTo(1, 36, 360, 360)).toBe(36);
  });
});
