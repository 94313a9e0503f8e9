/**
 * The run that the page shows: a snapshot, then the increments of the stream. Components read signals; the table of subplans is
 * changed in place, and `version` says that it has changed.
 */
import { batch, computed, signal } from "@preact/signals";
import { apiAddress, get, RequestError, runPath } from "../api/client";
import type {
  Activity,
  ActivityUpdate,
  EventPage,
  Increment,
  Need,
  Problem,
  Sign,
  Snapshot,
  Strip,
} from "../api/types";
import { applyChange, type Table, tableOf } from "../logic/table";
import { type Channel, openChannel, type StreamMessage } from "./channel";
import { now, setServerTime, stopClock } from "./clock";
import { currentReport } from "./report";

/** How long nothing may be heard before the page says so. */
const QUIET_SECONDS = 30;
const POLL_SECONDS = 5;

export const run = signal("");
export const table = signal<Table | null>(null);
export const version = signal(0);
export const strip = signal<Strip | null>(null);
export const needs = signal<readonly Need[]>([]);
export const activity = signal<Readonly<Partial<Record<number, Activity>>>>({});
export const signs = signal<Snapshot["signs"]>({});
/** Why the run cannot be shown. */
export const problem = signal<Problem | null>(null);
/** When something was last heard from the server, on the clock of this machine. */
export const heardAt = signal(Date.now() / 1000);
const isBroken = signal(false);

/** `live`; `quiet` if nothing was heard for a while; `lost` if the server does not answer. */
export const connection = computed<"live" | "quiet" | "lost">(() => {
  if (currentReport()) return "live";
  // Reads the clock, so that silence is noticed.
  const silent = now.value && Date.now() / 1000 - heardAt.value;
  if (silent > QUIET_SECONDS) return isBroken.value ? "lost" : "quiet";
  return isBroken.value && silent > POLL_SECONDS ? "lost" : "live";
});

let seq = 0;
let channel: Channel | null = null;
let waiting: StreamMessage[] | null = null;
let generation = 0;
let poll: ReturnType<typeof setInterval> | null = null;

/** Shows a run; the one that was shown is left. */
export function openRun(name: string): void {
  if (run.value === name) return;
  closeRun();
  run.value = name;
  void load();
}

export function closeRun(): void {
  generation++;
  channel?.close();
  channel = null;
  if (poll) clearInterval(poll);
  poll = null;
  batch(() => {
    run.value = "";
    table.value = null;
    strip.value = null;
    needs.value = [];
    activity.value = {};
    problem.value = null;
  });
}

export function signOf(state: string): Sign {
  return (
    signs.value[state as keyof Snapshot["signs"]] ?? { symbol: "·", ascii: ".", word: state, colour: "dim" }
  );
}

/** Reads the snapshot again. Messages that arrive meanwhile are applied to it. */
async function load(): Promise<void> {
  const own = ++generation;
  waiting = [];
  listen();
  try {
    const snapshot = await get<Snapshot>(runPath(run.value, "snapshot"));
    if (own !== generation) return;
    show(snapshot);
  } catch (error) {
    if (own !== generation || !(error instanceof RequestError)) return;
    isBroken.value = error.status === 0;
    if (!table.value || error.status === 404) problem.value = error.problem;
  }
  const missed = waiting ?? [];
  waiting = null;
  missed.forEach(receive);
}

function show(snapshot: Snapshot): void {
  seq = snapshot.seq;
  batch(() => {
    signs.value = snapshot.signs;
    table.value = tableOf(snapshot.subplans);
    strip.value = snapshot.strip;
    needs.value = snapshot.needs;
    activity.value = snapshot.activity;
    problem.value = null;
    version.value++;
    heard();
    if (currentReport()) stopClock(currentReport()?.made_at ?? snapshot.strip.at);
    else setServerTime(snapshot.strip.at);
  });
  // A run without a coordinator changes rarely, and is asked about now and then: so any number of them can be open.
  if (snapshot.strip.is_active) channel?.join();
}

function heard(): void {
  heardAt.value = Date.now() / 1000;
  isBroken.value = false;
}

/** Listens before the snapshot is read, so that nothing falls between them. */
function listen(): void {
  if (currentReport() || channel) return;
  const name = run.value;
  channel = openChannel(name, after => apiAddress(runPath(name, "stream"), { after }), {
    seq: () => seq,
    receive,
  });
  poll ??= setInterval(() => void askAgain(), POLL_SECONDS * 1000);
}

/** Asks whether something has happened, if no stream says it. */
export async function askAgain(): Promise<void> {
  if (document.visibilityState === "hidden" || currentReport()) return;
  if (problem.value || !table.value) return load();
  const isSilent = Date.now() / 1000 - heardAt.value > QUIET_SECONDS;
  if (channel?.isJoined() && !isBroken.value && !isSilent) return;
  try {
    const page = await get<EventPage>(runPath(run.value, "events"), { after: seq, limit: 1 });
    heard();
    if (page.events.length) await load();
  } catch {
    isBroken.value = true;
  }
}

function receive(message: StreamMessage): void {
  if (message.kind === "broken") {
    isBroken.value = true;
    return;
  }
  heard();
  if (waiting) {
    waiting.push(message);
    return;
  }
  if (message.kind === "resync") void load();
  else if (message.kind === "activity")
    activity.value = (JSON.parse(message.data) as ActivityUpdate).activity;
  else if (message.kind === "change") change(message.after, JSON.parse(message.data) as Increment);
}

function change(after: number, increment: Increment): void {
  const current = table.value;
  if (!current || increment.seq < seq) return;
  if (after > seq) {
    void load();
    return;
  }
  seq = increment.seq;
  batch(() => {
    for (const row of increment.rows) applyChange(current, row);
    strip.value = increment.strip;
    if (increment.needs) needs.value = increment.needs;
    setServerTime(increment.strip.at);
    version.value++;
  });
}
