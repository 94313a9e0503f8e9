/** The time, as the server has it: the clock of a phone may differ. */
import { signal } from "@preact/signals";

let offset = 0;
let fixed: number | null = null;

/** Seconds since 1970; changes each second. */
export const now = signal(Date.now() / 1000);

export function setServerTime(at: number): void {
  const difference = at - Date.now() / 1000;
  // Below that it is the way of the message, and corrections would make clocks jump.
  if (Math.abs(difference - offset) > 2) offset = difference;
  tick();
}

/** In a report time has stopped. */
export function stopClock(at: number): void {
  fixed = at;
  now.value = at;
}

function tick(): void {
  now.value = fixed ?? Date.now() / 1000 + offset;
}

setInterval(tick, 1000);
