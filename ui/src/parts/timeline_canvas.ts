/** Draws the timeline. Colours come from the style sheet, so that both themes have them in one place. */
import type { Timeline, Tone } from "../api/types";
import { type Drawn, drawnBars, type TimelineRow, ticks, type View, xOf } from "../logic/timeline";
import { stopwatch, visible } from "../logic/words";
import { colourReader } from "./colours";

export const ROW = 26;
export const AXIS = 28;
const BAR = 14;

export interface Picture {
  timeline: Timeline;
  rows: readonly TimelineRow[];
  view: View;
  width: number;
  height: number;
  /** The width of the names. */
  labels: number;
  scrolled: number;
  /** Now, in seconds since the start. */
  time: number;
}

interface Pen {
  context: CanvasRenderingContext2D;
  colour: (name: string) => string;
  /** The width of the part with bars. */
  bars: number;
}

export function drawTimeline(canvas: HTMLCanvasElement, picture: Picture): void {
  const { width, height } = picture;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.floor(width * scale);
  canvas.height = Math.floor((height + AXIS) * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height + AXIS}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const read = colourReader(canvas);
  const pen: Pen = {
    context,
    colour: name => read(`--t-${name}`),
    bars: width - picture.labels,
  };
  context.scale(scale, scale);
  context.clearRect(0, 0, width, height + AXIS);
  context.font = `12px ${style.fontFamily}`;
  context.textBaseline = "middle";
  drawAxis(pen, picture);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height);
  context.clip();
  const first = Math.floor(picture.scrolled / ROW);
  const last = Math.min(picture.rows.length, first + Math.ceil(height / ROW) + 1);
  for (let index = first; index < last; index++) {
    const row = picture.rows[index];
    if (row) drawRow(pen, picture, row, AXIS + index * ROW - picture.scrolled);
  }
  context.restore();
  drawNow(pen, picture);
}

function drawAxis({ context, colour, bars }: Pen, { view, labels, height }: Picture): void {
  context.textAlign = "center";
  for (const at of ticks(view, bars)) {
    const x = labels + xOf(at, view, bars);
    context.fillStyle = colour("grid");
    context.fillRect(Math.round(x), AXIS, 1, height);
    context.fillStyle = colour("soft");
    if (x > labels + 20 && x < labels + bars - 20) context.fillText(stopwatch(at), x, AXIS / 2);
  }
}

function drawRow(pen: Pen, { view, labels }: Picture, row: TimelineRow, y: number): void {
  const { context, colour, bars } = pen;
  context.textAlign = "left";
  context.fillStyle = row.isCritical ? colour("critical") : colour("ink");
  context.fillText(shortened(context, visible(row.label), labels - 20), 12, y + ROW / 2);
  context.save();
  context.beginPath();
  context.rect(labels, y, bars, ROW);
  context.clip();
  const top = y + (ROW - BAR) / 2;
  for (const bar of drawnBars(row.bars, view, bars)) drawBar(pen, bar, labels, top);
  if (row.isCritical) drawUnderline(pen, row, view, labels, top);
  if (row.landedAt !== null) drawDiamond(pen, labels + xOf(row.landedAt, view, bars), y + ROW / 2);
  context.restore();
}

function drawBar(pen: Pen, bar: Drawn, labels: number, top: number): void {
  const { context, colour } = pen;
  const isThin = bar.tone !== "running" && bar.tone !== "landing";
  context.fillStyle = colour(bar.isBad ? "retry" : toneName(bar.tone));
  context.fillRect(labels + bar.x, isThin ? top + BAR / 2 - 2 : top, bar.width, isThin ? 4 : BAR);
  // A retry has a notch, so that it is seen without the colour.
  if (bar.attempt > 1) drawNotch(pen, labels + bar.x, top);
  if (!isThin && bar.width > 46) drawLabel(pen, bar.label, labels + bar.x, top, bar.width);
}

function toneName(tone: Tone): string {
  return { dependency: "dependency", pool: "pool", person: "person", landing: "land", running: "run" }[tone];
}

function drawNotch({ context, colour }: Pen, x: number, top: number): void {
  context.fillStyle = colour("card");
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x + 5, top + BAR / 2);
  context.lineTo(x, top + BAR);
  context.fill();
}

function drawLabel({ context, colour }: Pen, label: string, x: number, top: number, width: number): void {
  context.fillStyle = colour("on-run");
  context.fillText(
    shortened(context, visible(label.replace(/^@/, "")), width - 12),
    x + 7,
    top + BAR / 2 + 0.5,
  );
}

function drawUnderline(
  { context, colour, bars }: Pen,
  row: TimelineRow,
  view: View,
  labels: number,
  top: number,
): void {
  const start = xOf(row.bars[0]?.start ?? 0, view, bars);
  const end = xOf(row.bars.at(-1)?.end ?? 0, view, bars);
  context.fillStyle = colour("critical");
  context.fillRect(labels + start, top + BAR + 2, Math.max(1, end - start), 2);
}

function drawDiamond({ context, colour }: Pen, x: number, y: number): void {
  context.fillStyle = colour("land");
  context.beginPath();
  context.moveTo(x, y - 6);
  context.lineTo(x + 6, y);
  context.lineTo(x, y + 6);
  context.lineTo(x - 6, y);
  context.fill();
}

function drawNow({ context, colour, bars }: Pen, { timeline, view, labels, height, time }: Picture): void {
  if (timeline.is_over) return;
  const x = labels + xOf(time, view, bars);
  if (timeline.forecast) {
    const [early, late] = timeline.forecast.finish.map(
      at => labels + xOf(Math.max(time, at - timeline.started_at), view, bars),
    );
    drawHatching({ context, colour, bars }, early ?? x, late ?? x, height);
  }
  if (x < labels) return;
  context.fillStyle = colour("now");
  context.fillRect(Math.round(x), AXIS - 6, 2, height + 6);
}

function drawHatching({ context, colour }: Pen, left: number, right: number, height: number): void {
  context.save();
  context.beginPath();
  context.rect(left, AXIS, Math.max(2, right - left), height);
  context.clip();
  context.strokeStyle = colour("forecast");
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - height; x < right; x += 7) {
    context.moveTo(x, AXIS + height);
    context.lineTo(x + height, AXIS);
  }
  context.stroke();
  context.restore();
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let kept = Math.max(
    1,
    Math.floor((width / Math.max(1, context.measureText(text).width)) * text.length) - 1,
  );
  while (kept > 1 && context.measureText(`…${text.slice(-kept)}`).width > width) kept--;
  return `…${text.slice(-kept)}`;
}
