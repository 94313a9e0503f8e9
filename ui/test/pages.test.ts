import { describe, expect, it } from "vitest";
import type { LogLine, LogPage, Timeline } from "../src/api/types";
import { feedbackText, withComment } from "../src/logic/comments";
import { changedParts, hunksOf, pairsOf } from "../src/logic/diff";
import { appended, errorRow, logOf, logRows, preferredPart, rowAt } from "../src/logic/log";
import { parseRoute, subplanAddress } from "../src/logic/routes";
import { atRest, drawnBars, ticks } from "../src/logic/timeline";

describe("addresses", () => {
  it("name a subplan with its path, and come back", () => {
    const address = subplanAddress("r 1", "store/a b", { tab: "diff" });
    expect(address).toBe("/r/r%201/s/store/a%20b?tab=diff");
    expect(parseRoute(address)).toMatchObject({
      page: "subplan",
      run: "r 1",
      path: "store/a b",
      tab: "diff",
    });
    expect(parseRoute("/r/last/timeline")).toEqual({ page: "timeline", run: "last" });
    expect(parseRoute("/what/ever").page).toBe("unknown");
  });
});

describe("a log that grows", () => {
  const page = (start: number, end: number, lines: LogLine[]): LogPage => ({
    ...{ path: "a", part: "1-1", parts: [], stream: "out", size: 90, left_out: null, gap_at: null },
    ...{ is_ended: false, is_raw: false, start, end, lines },
  });

  it("replaces a tool call whose result has arrived", () => {
    const said = { at: 0, text: "says: Hello" };
    const log = logOf(page(0, 10, [said, { at: 10, text: "runs make" }, { at: 20, text: "reads a" }]));
    const next = page(10, 40, [
      { at: 10, text: "runs make → ok" },
      { at: 20, text: "reads a" },
    ]);
    expect(appended(log, next)).toMatchObject({ lines: [said, ...next.lines], start: 0, end: 40 });
    expect(appended(log, page(10, 10, [])).lines).toEqual(log.lines);
  });
});

describe("a log", () => {
  const lines: LogLine[] = [
    { at: 0, text: "runs pytest", kind: "tool" },
    { at: 12, text: "1 passed", kind: "detail" },
    { at: 21, text: "runs ruff", kind: "tool" },
    { at: 31, text: "E501", kind: "detail", is_error: true },
    { at: 36, text: "done" },
  ];

  it("folds what a tool returned, unless it has an error", () => {
    expect(logRows(lines, new Set()).map(row => row.line)).toEqual([0, 2, 3, 4]);
    expect(logRows(lines, new Set([0])).map(row => row.line)).toEqual([0, 1, 2, 3, 4]);
  });

  it("finds errors in both directions, and the row of a byte", () => {
    const rows = logRows(lines, new Set());
    expect([errorRow(lines, rows, -1, 1), errorRow(lines, rows, 2, 1), errorRow(lines, rows, 4, -1)]).toEqual(
      [2, null, 2],
    );
    expect([rowAt(lines, rows, 31), rowAt(lines, rows, 33), rowAt(lines, [], 3)]).toEqual([2, 2, -1]);
  });

  it("starts with the newest step of the plan, or with the one that is asked for", () => {
    const part = (step: string, attempt: number) => ({
      step,
      attempt,
      part: `${step}${attempt}`,
      outcome: "done",
      started_at: 0,
      bytes: 1,
    });
    const parts = [part("code", 1), part("code", 2), part("@merge", 1)];
    expect(preferredPart(parts, null, 0)).toBe("code2");
    expect(preferredPart(parts, "code", 1)).toBe("code1");
    expect(preferredPart([part("@merge", 1)], null, 0)).toBeUndefined();
  });
});

describe("a diff", () => {
  const text =
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n-two = 1\n+two = 2\n+three\n";

  it("has lines with numbers, and pairs side by side", () => {
    const [hunk] = hunksOf(text);
    expect(hunk?.lines.map(line => [line.mark, line.before, line.after, line.text])).toEqual([
      ["same", 1, 1, "one"],
      ["removed", 2, null, "two = 1"],
      ["added", null, 2, "two = 2"],
      ["added", null, 3, "three"],
    ]);
    expect(pairsOf(hunk?.lines ?? []).map(pair => [pair.left?.text, pair.right?.text])).toEqual([
      ["one", "one"],
      ["two = 1", "two = 2"],
      [undefined, "three"],
    ]);
  });

  it("marks what differs between two similar lines", () => {
    expect(changedParts("two = 1", "two = 2")).toEqual([
      [6, 7],
      [6, 7],
    ]);
    expect(changedParts("abc", "xyz")).toEqual([null, null]);
  });

  it("collects comments as a feedback with places", () => {
    const first = { file: "a.py", line: 2, isRemoved: false, code: "two = 2", text: "Why 2?" };
    const comments = withComment(withComment([], { ...first, file: "b.py" }), first);
    expect(feedbackText(comments, "Almost.")).toBe(
      "Almost.\n\na.py:2\n    two = 2\n  Why 2?\n\nb.py:2\n    two = 2\n  Why 2?",
    );
    expect(withComment(comments, { ...first, text: " " })).toHaveLength(1);
  });
});

describe("the timeline", () => {
  const bar = { tone: "running" as const, label: "", attempt: 1, isBad: false, row: 1 };

  it("draws bars that are thinner than a pixel as one", () => {
    const bars = Array.from({ length: 1000 }, (_, index) => ({ ...bar, start: index, end: index + 1 }));
    expect(drawnBars(bars, { from: 0, to: 1000 }, 100).length).toBeLessThanOrEqual(100);
    expect(drawnBars(bars, { from: 2000, to: 3000 }, 100)).toEqual([]);
  });

  it("has an axis that is not crowded", () => {
    expect(ticks({ from: 0, to: 600 }, 900)).toEqual([0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600]);
  });

  it("ends with the last event if no coordinator runs the run", () => {
    const timeline = {
      now: 1500,
      landed: { 1: 6 },
      bars: {
        row: [1, 2],
        start: [0, 4],
        end: [5, 1500],
        tone: [0, 0],
        label: [0, 0],
        attempt: [1, 1],
        is_bad: [],
      },
    } as unknown as Timeline;
    const rested = atRest(timeline);
    expect([rested.now, rested.is_over, rested.bars.end]).toEqual([6, true, [5, 6]]);
  });
});
