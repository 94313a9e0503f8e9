import { describe, expect, it } from "vitest";
import { isDone, isLanded, landingWords } from "../src/logic/landing";
import { applyChange } from "../src/logic/table";
import { exampleTable } from "./example";

describe("work of a slice", () => {
  it("that is merged into its group is not on the target", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "completed", landing: "merged" });
    for (const landing of ["unmerged", "held", "queued to land", "landed bd7e5b6 in part"]) {
      applyChange(table, { row: 1, state: "completed", landing });
      expect([isLanded(table, 2), isDone(table, 2)]).toEqual([false, false]);
      expect(landingWords(table, 2)).toBe("merged into store, not landed yet");
    }
  });

  it("lands with its group", () => {
    const table = exampleTable();
    applyChange(table, { row: 2, state: "completed", landing: "merged" });
    applyChange(table, { row: 1, state: "completed", landing: "landed bd7e5b6" });
    expect([isLanded(table, 2), isDone(table, 2)]).toEqual([true, true]);
    expect(landingWords(table, 2)).toBe("landed with store");
  });

  it("that lands by itself says so", () => {
    const table = exampleTable();
    applyChange(table, { row: 4, state: "completed", landing: "unmerged" });
    expect([isDone(table, 4), landingWords(table, 4)]).toEqual([false, "not landed yet"]);
    applyChange(table, { row: 4, state: "completed", landing: "landed bd7e5b6" });
    expect([isDone(table, 4), landingWords(table, 4)]).toEqual([true, "landed bd7e5b6"]);
  });

  it("that has no branch has nothing to land", () => {
    const table = exampleTable();
    applyChange(table, { row: 4, state: "completed" });
    expect([isDone(table, 4), isLanded(table, 4), landingWords(table, 4)]).toEqual([true, false, ""]);
  });
});
