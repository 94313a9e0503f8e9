import { describe, expect, it } from "vitest";
import { bytes, count, dollars, percent, roughly, span, spent, stopwatch, visible } from "../src/logic/words";

describe("words", () => {
  it("says durations as the commands do", () => {
    expect([7.24, 9.99, 10, 12 * 60 + 40, 3600, 3900, 0].map(span)).toEqual([
      "7.2 s",
      "10.0 s",
      "10 s",
      "12 min 40 s",
      "1 h",
      "1 h 5 min",
      "0.0 s",
    ]);
  });

  it("shows a stopwatch", () => {
    expect([7, 760, 3900, -1].map(stopwatch)).toEqual(["0:07", "12:40", "1:05:00", "0:00"]);
  });

  it("shows money to the cent, and less than a cent as that", () => {
    expect([0, 1, 7_500, 10_000, 14_999, 15_000, 1_234_567_890_000].map(dollars)).toEqual([
      "$0.00",
      "<$0.01",
      "<$0.01",
      "$0.01",
      "$0.01",
      "$0.02",
      "$1,234,567.89",
    ]);
  });

  it("never shows an unknown cost as nothing", () => {
    expect([spent(0), spent(0, 2), spent(20_000, 2), spent(20_000)]).toEqual([
      "",
      "unknown",
      "$0.02 + 2 unknown",
      "$0.02",
    ]);
  });

  it("rounds large numbers", () => {
    expect([950, 1000, 12_400, 1_200_000].map(roughly)).toEqual(["950", "1k", "12.4k", "1.2M"]);
    expect([512, 3400, 1e9].map(bytes)).toEqual(["512 B", "3.4 KB", "1.0 GB"]);
    expect([count(1, "slice"), count(10_000, "slice"), percent(0.784)]).toEqual([
      "1 slice",
      "10,000 slices",
      "78 %",
    ]);
  });

  it("makes marks of direction and control characters visible", () => {
    expect(visible("a\u202egnp.exe")).toBe("a⟨U+202E⟩gnp.exe");
    expect(visible("bell\u0007 and \u200bzero")).toBe("bell␇ and ⟨U+200B⟩zero");
    expect(visible("tab\tand ünï")).toBe("tab\tand ünï");
  });
});
