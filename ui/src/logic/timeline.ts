/** The geometry of the timeline: from times and rows to rectangles, without a canvas. */
import type { Bars, Timeline, TimelineLane, Tone } from "../api/types";
import { nameOf, type Table } from "./table";

/** What is in view: seconds since the start of the run. */
export interface View {
  from: number;
  to: number;
}

export interface Bar {
  start: number;
  end: number;
  tone: Tone;
  label: string;
  attempt: number;
  isBad: boolean;
  /** The subplan. */
  row: number;
}

/** A row of the timeline: a slice, a group or a token of a pool. */
export interface TimelineRow {
  label: string;
  level: number;
  /** The subplan; -1 for a token. */
  row: number;
  bars: Bar[];
  isCritical: boolean;
  landedAt: number | null;
}

/** Returns the bars of each row of the plan that has any. */
export function barsByRow(timeline: Timeline): Map<number, Bar[]> {
  const bars: Bars = timeline.bars;
  const bad = new Set(bars.is_bad);
  const byRow = new Map<number, Bar[]>();
  bars.row.forEach((row, index) => {
    const bar: Bar = {
      row,
      start: bars.start[index] ?? 0,
      end: bars.end[index] ?? 0,
      tone: timeline.tones[bars.tone[index] ?? 0] ?? "running",
      label: timeline.labels[bars.label[index] ?? -1] ?? "",
      attempt: bars.attempt[index] ?? 0,
      isBad: bad.has(index),
    };
    const own = byRow.get(row);
    if (own) own.push(bar);
    else byRow.set(row, [bar]);
  });
  return byRow;
}

export type Order = "plan" | "start";

/** Returns a row for each slice with bars, in the order of the plan or by start. */
export function sliceRows(timeline: Timeline, table: Table, order: Order): TimelineRow[] {
  const critical = new Set(timeline.critical);
  const rows = [...barsByRow(timeline)]
    .filter(([row]) => table.leaf[row])
    .map(([row, bars]) => ({
      label: table.path[row] ?? "",
      level: 0,
      row,
      bars,
      isCritical: critical.has(row),
      landedAt: timeline.landed[row] ?? null,
    }));
  rows.sort(order === "plan" ? (a, b) => a.row - b.row : (a, b) => startOf(a) - startOf(b) || a.row - b.row);
  return rows;
}

function startOf(row: TimelineRow): number {
  return row.bars.find(bar => bar.tone === "running")?.start ?? row.bars[0]?.start ?? 0;
}

/** Returns a row for each token of a pool, with what used it. */
export function laneRows(lanes: readonly TimelineLane[], table: Table): TimelineRow[] {
  return lanes.map(lane => ({
    label: lane.token ? `${lane.pool} ${lane.token}` : lane.pool,
    level: 0,
    row: -1,
    bars: lane.bars.map(([row, start, end]) => ({
      row,
      start,
      end,
      tone: "running" as const,
      label: nameOf(table, row),
      attempt: 0,
      isBad: false,
    })),
    isCritical: false,
    landedAt: null,
  }));
}

/** Returns a view of everything: from the start to the forecast end, with a little room. */
export function wholeView(timeline: Timeline): View {
  const forecast =
    timeline.forecast && !timeline.is_over ? timeline.forecast.finish[1] - timeline.started_at : 0;
  const end = Math.max(timeline.now, forecast, 1);
  return { from: 0, to: end * 1.02 };
}

/** Returns the timeline of a run without a coordinator: it ends with what happened last, however long ago that is. */
export function atRest(timeline: Timeline): Timeline {
  const ends = timeline.bars.end.filter(end => end < timeline.now);
  const landed = Object.values(timeline.landed).filter(at => at !== undefined);
  const last = [...timeline.bars.start, ...ends, ...landed].reduce((most, at) => Math.max(most, at), 1);
  const end = timeline.bars.end.map(at => Math.min(at, last));
  return { ...timeline, is_over: true, now: last, bars: { ...timeline.bars, end } };
}

/** Returns the view zoomed by a factor around a time. */
export function zoomed(view: View, factor: number, around: number): View {
  const from = around - (around - view.from) * factor;
  const to = around + (view.to - around) * factor;
  return to - from < 0.5 ? view : { from, to };
}

export function moved(view: View, share: number): View {
  const by = (view.to - view.from) * share;
  return { from: view.from + by, to: view.to + by };
}

export function xOf(at: number, view: View, width: number): number {
  return ((at - view.from) / (view.to - view.from)) * width;
}

export function timeAt(x: number, view: View, width: number): number {
  return view.from + (x / width) * (view.to - view.from);
}

export interface Drawn extends Bar {
  x: number;
  width: number;
}

/** Returns the bars in view as rectangles. Bars that would be thinner than a pixel are drawn as one. */
export function drawnBars(bars: readonly Bar[], view: View, width: number): Drawn[] {
  const drawn: Drawn[] = [];
  for (const bar of bars) {
    if (bar.end < view.from || bar.start > view.to) continue;
    const x = Math.max(0, xOf(bar.start, view, width));
    const right = Math.min(width, xOf(bar.end, view, width));
    const last = drawn.at(-1);
    if (last && right - (last.x + last.width) < 1 && right - x < 1 && last.width < 2) {
      last.width = right - last.x;
      continue;
    }
    drawn.push({ ...bar, x, width: Math.max(1, right - x) });
  }
  return drawn;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** Returns the times of the axis, at most one in about 90 pixels. */
export function ticks(view: View, width: number): number[] {
  const wanted = (view.to - view.from) / Math.max(1, width / 90);
  const step = STEPS.find(size => size >= wanted) ?? 86400;
  const times: number[] = [];
  for (let at = Math.ceil(Math.max(0, view.from) / step) * step; at <= view.to; at += step) times.push(at);
  return times;
}
