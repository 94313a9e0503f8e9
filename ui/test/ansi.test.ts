import { describe, expect, it } from "vitest";
import { ansiPieces } from "../src/logic/ansi";

const text = (line: string): string =>
  ansiPieces(line)
    .map(piece => piece.text)
    .join("");

describe("ansiPieces", () => {
  it("keeps plain text as one piece", () => {
    expect(ansiPieces("all good")).toEqual([{ text: "all good", style: "" }]);
    expect(ansiPieces("")).toEqual([]);
  });

  it("turns colours and weights into classes, until they are reset", () => {
    expect(ansiPieces("\x1b[1;31mfailed\x1b[0m in \x1b[92m2 s\x1b[39m.")).toEqual([
      { text: "failed", style: "ansi-red ansi-bold" },
      { text: " in ", style: "" },
      { text: "2 s", style: "ansi-green" },
      { text: ".", style: "" },
    ]);
  });

  it("maps other palettes to the nearest of eight colours", () => {
    expect(ansiPieces("\x1b[38;5;196mred\x1b[0m\x1b[38;2;20;200;30mgreen")).toEqual([
      { text: "red", style: "ansi-red" },
      { text: "green", style: "ansi-green" },
    ]);
    expect(ansiPieces("\x1b[38;2;10;10;10;1mgrey and bold")).toEqual([
      { text: "grey and bold", style: "ansi-bold" },
    ]);
  });

  it("removes titles, links and cursor moves", () => {
    expect(
      text("\x1b]0;a title\x07one\x1b[2K\x1b[1Gtwo\x1b]8;;http://evil.example\x1b\\three\x1b]8;;\x1b\\"),
    ).toBe("onetwothree");
    expect(text("cut \x1b]0;never closed")).toBe("cut ");
    expect(text("cut \x1b[")).not.toContain("\x1b");
  });

  it("leaves markup as text and shows marks of direction", () => {
    expect(text("<img src=x onerror=alert(1)>\u202e")).toBe("<img src=x onerror=alert(1)>⟨U+202E⟩");
  });
});
