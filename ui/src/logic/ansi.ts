/**
 * Lines of a log as pieces of text with classes. Colours and weights of ANSI sequences become classes of the style sheet; all other
 * sequences (titles, links, cursor moves) are removed. The result is text, never markup, so a log cannot put anything into the page.
 */
import { visible } from "./words";

export interface Piece {
  text: string;
  /** Class names, separated by spaces; empty for plain text. */
  style: string;
}

interface Look {
  colour: string;
  background: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const PLAIN: Look = { colour: "", background: "", bold: false, dim: false, italic: false, underline: false };
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// An operating-system command (titles, links), a control sequence, or another escape of two characters.
const SEQUENCE = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b\[([0-9;:]*)([ -/]*[@-~])|\x1b[ -/]*[0-~]?/g;

export function ansiPieces(line: string): Piece[] {
  if (!line.includes("\x1b")) return line ? [{ text: visible(line), style: "" }] : [];
  const pieces: Piece[] = [];
  let look = PLAIN;
  let end = 0;
  const push = (text: string): void => {
    if (text) pieces.push({ text: visible(text), style: classes(look) });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    push(line.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] === "m") look = applyCodes(look, (match[1] ?? "").split(/[;:]/).map(Number));
  }
  push(line.slice(end));
  return pieces;
}

function applyCodes(look: Look, codes: number[]): Look {
  let result = look;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [name, used] = extended(codes.slice(at + 1));
      result = code === 38 ? { ...result, colour: name } : { ...result, background: name };
      at += used;
    } else result = applyCode(result, code);
  }
  return result;
}

function applyCode(look: Look, code: number): Look {
  if (code >= 30 && code <= 37) return { ...look, colour: NAMES[code - 30] ?? "" };
  if (code >= 90 && code <= 97) return { ...look, colour: NAMES[code - 90] ?? "" };
  if (code >= 40 && code <= 47) return { ...look, background: NAMES[code - 40] ?? "" };
  if (code >= 100 && code <= 107) return { ...look, background: NAMES[code - 100] ?? "" };
  return { ...look, ...(SINGLE[code] ?? {}) };
}

const SINGLE: Record<number, Partial<Look>> = {
  0: PLAIN,
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  39: { colour: "" },
  49: { background: "" },
};

/** Returns the nearest of the eight colours, and how many numbers describe it. */
function extended(codes: number[]): [string, number] {
  const [kind, first = 0, green = 0, blue = 0] = codes;
  if (kind === 2) return [nearest(first, green, blue), 4];
  if (kind !== 5) return ["", 0];
  if (first < 16) return [NAMES[first % 8] ?? "", 2];
  if (first >= 232) return ["", 2];
  const cube = first - 16;
  const part = (number: number): number => number * 51;
  return [nearest(part(Math.floor(cube / 36)), part(Math.floor(cube / 6) % 6), part(cube % 6)), 2];
}

function nearest(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 32) return "";
  const isOn = (part: number): number => (part > (most + least) / 2 ? 1 : 0);
  return NAMES[isOn(red) + 2 * isOn(green) + 4 * isOn(blue)] ?? "";
}

function classes(look: Look): string {
  const names = [
    look.colour && `ansi-${look.colour}`,
    look.background && `ansi-on-${look.background}`,
    look.bold && "ansi-bold",
    look.dim && "ansi-dim",
    look.italic && "ansi-italic",
    look.underline && "ansi-underline",
  ];
  return names.filter(Boolean).join(" ");
}
