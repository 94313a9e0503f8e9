/** Times, money and numbers in words, by the same rules as `weft.app.views.wording`. */

const CENT = 10_000;

/** Returns a duration in words: 7.2 s, 12 min 40 s, 1 h 5 min. */
export function span(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = whole % 60;
  const parts = hours
    ? [[hours, "h"] as const, [minutes, "min"] as const]
    : [[minutes, "min"] as const, [rest, "s"] as const];
  const shown = parts.filter(([number]) => number > 0).map(([number, unit]) => `${grouped(number)} ${unit}`);
  return shown.join(" ") || `0 ${hours ? "min" : "s"}`;
}

/** Returns the time as a stopwatch shows it: 0:07, 12:40, 1:05:00. */
export function stopwatch(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** Returns an amount of millionths of a dollar to the cent, and `<$0.01` for less than one. */
export function dollars(micros: number): string {
  if (micros > 0 && micros < CENT) return "<$0.01";
  const cents = Math.floor((micros + CENT / 2) / CENT);
  return `$${grouped(Math.floor(cents / 100))}.${pad(cents % 100)}`;
}

/** Returns reported money with the number of calls that reported none; empty if there is neither. */
export function spent(micros: number, unknown = 0): string {
  if (!unknown) return micros ? dollars(micros) : "";
  return micros ? `${dollars(micros)} + ${grouped(unknown)} unknown` : "unknown";
}

/** Returns a rounded number: 950, 12.4k, 1.2M. */
export function roughly(number: number): string {
  for (const [size, unit] of [
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (number >= size) return `${(number / size).toFixed(1).replace(/\.0$/, "")}${unit}`;
  }
  return String(number);
}

/** Returns a whole number with commas: 10,000. */
export function grouped(number: number): string {
  return number.toLocaleString("en-US");
}

/** Returns a phrase as the start of a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns `1 slice` or `12 slices`. */
export function count(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Returns the size of a file or a log: 512 B, 3.4 KB, 1.0 GB. */
export function bytes(number: number): string {
  if (number < 1000) return `${number} B`;
  let size = number;
  for (const unit of ["KB", "MB", "GB"]) {
    size /= 1000;
    if (size < 1000) return `${size.toFixed(1)} ${unit}`;
  }
  return `${(size / 1000).toFixed(1)} TB`;
}

/** Returns a share as a percentage: 78 %. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Returns the time of day, with the day if it is not today's. */
export function timeOfDay(at: number, now: number): string {
  const date = new Date(at * 1000);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  if (date.toDateString() === new Date(now * 1000).toDateString()) return time;
  return `${date.getDate()} ${date.toLocaleString("en-GB", { month: "short" })} ${time}`;
}

/** Returns the time of day with seconds. */
export function exactTime(at: number): string {
  const date = new Date(at * 1000);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** Returns the P50 and P90 of an end: `05:12–07:44`, or one time if they agree to the minute. */
export function timeRange(range: readonly [number, number], now: number): string {
  const early = timeOfDay(range[0], now);
  const late = timeOfDay(range[1], now);
  return early === late ? early : `${early}–${late}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Returns a text of others with its invisible characters made visible. Marks of direction could make a path or a line of a diff
 * look like another one.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, character => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
