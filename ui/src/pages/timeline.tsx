/** What happened when: a canvas with a row for each slice or for each token of a pool. */
import { useEffect, useRef, useState } from "preact/hooks";
import { apiAddress, runPath } from "../api/client";
import type { Timeline } from "../api/types";
import { now } from "../live/clock";
import { useKeys } from "../live/keys";
import { go } from "../live/navigation";
import { currentReport } from "../live/report";
import { run, strip, table } from "../live/store";
import { theme } from "../live/theme";
import { subplanAddress } from "../logic/routes";
import {
  atRest,
  drawnBars,
  laneRows,
  moved,
  sliceRows,
  type TimelineRow,
  timeAt,
  type View,
  wholeView,
  zoomed,
} from "../logic/timeline";
import { span, visible } from "../logic/words";
import { Load, useAnswer } from "../parts/load";
import { useMedia } from "../parts/media";
import { AXIS, drawTimeline, ROW } from "../parts/timeline_canvas";
import { Choice } from "./diff";

type By = "slice" | "pool";

export function TimelinePage() {
  const [by, setBy] = useState<By>("slice");
  const answer = useAnswer<Timeline>(runPath(run.value, "timeline"), by === "pool" ? { by } : {}, 2);
  return (
    <div class="page wide">
      <div class="tools">
        <h1>Timeline</h1>
        <span class="spring" />
        {!currentReport() && (
          <Choice
            label="A row for each"
            value={by}
            choices={[
              ["slice", "Slices"],
              ["pool", "Pools"],
            ]}
            onChoose={setBy}
          />
        )}
        {!currentReport() && (
          <a
            class="button"
            href={apiAddress(runPath(run.value, "trace"))}
            download={`${run.value}.trace.json`}
          >
            Export trace
          </a>
        )}
      </div>
      <Load of={answer}>
        {data => <Chart timeline={strip.value?.is_active || data.is_over ? data : atRest(data)} by={by} />}
      </Load>
    </div>
  );
}

function Chart({ timeline, by }: { timeline: Timeline; by: By }) {
  const plan = table.value;
  const [order, setOrder] = useState<"plan" | "start">("start");
  if (!plan) return null;
  const rows = by === "pool" ? laneRows(timeline.lanes, plan) : sliceRows(timeline, plan, order);
  if (!rows.length) return <p class="soft none card">Nothing has started yet.</p>;
  return (
    <>
      <Legend timeline={timeline} order={order} onOrder={by === "slice" ? setOrder : null} />
      <Canvas timeline={timeline} rows={rows} />
      <AsTable rows={rows} timeline={timeline} />
    </>
  );
}

interface LegendProperties {
  timeline: Timeline;
  order: "plan" | "start";
  onOrder: ((order: "plan" | "start") => void) | null;
}

function Legend({ timeline, order, onOrder }: LegendProperties) {
  return (
    <div class="legend">
      <span class="swatch tone-dependency">waits for others</span>
      <span class="swatch tone-pool">waits for a pool</span>
      <span class="swatch tone-run">runs</span>
      <span class="swatch tone-retry">failed attempt</span>
      <span class="swatch tone-land">◆ landed</span>
      {timeline.critical.length > 0 && <span class="swatch tone-critical">longest chain</span>}
      {timeline.forecast && !timeline.is_over && (
        <span class="swatch tone-forecast">forecast end P50–P90</span>
      )}
      <span class="spring" />
      {onOrder && (
        <Choice
          label="Order"
          value={order}
          choices={[
            ["start", "By start"],
            ["plan", "By plan"],
          ]}
          onChoose={onOrder}
        />
      )}
    </div>
  );
}

const MOST_HEIGHT = 640;

function Canvas({ timeline, rows }: { timeline: Timeline; rows: readonly TimelineRow[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const isNarrow = useMedia("(max-width: 720px)");
  const labels = isNarrow ? 110 : 220;
  const [view, setView] = useState<View | null>(null);
  const [scrolled, setScrolled] = useState(0);
  const [width, setWidth] = useState(900);
  const [hint, setHint] = useState("");
  // Between two answers the line of "now" moves on.
  const time =
    timeline.is_over || currentReport()
      ? timeline.now
      : Math.max(timeline.now, now.value - timeline.started_at);
  const shown = view ?? wholeView({ ...timeline, now: time });
  const height = Math.min(MOST_HEIGHT, rows.length * ROW);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current)
      drawTimeline(canvas.current, { timeline, rows, view: shown, width, height, labels, scrolled, time });
  }, [timeline, rows, shown.from, shown.to, width, height, labels, scrolled, Math.floor(time), theme.value]);
  const bars = width - labels;
  const rowAt = (event: MouseEvent): TimelineRow | undefined => {
    const box = canvas.current?.getBoundingClientRect();
    return rows[Math.floor((event.clientY - (box?.top ?? 0) - AXIS + scrolled) / ROW)];
  };
  const xAt = (event: MouseEvent): number =>
    event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0) - labels;
  useKeys([
    { key: "0", does: "show the whole time", run: () => setView(null) },
    { key: "+", does: "zoom in", run: () => setView(zoomed(shown, 0.7, (shown.from + shown.to) / 2)) },
    { key: "-", does: "zoom out", run: () => setView(zoomed(shown, 1 / 0.7, (shown.from + shown.to) / 2)) },
    { key: "ArrowLeft", does: "earlier", run: () => setView(moved(shown, -0.2)) },
    { key: "ArrowRight", does: "later", run: () => setView(moved(shown, 0.2)) },
  ]);
  return (
    <div
      class="timeline card"
      ref={place}
      onScroll={event => setScrolled(event.currentTarget.scrollTop)}
      tabIndex={0}
      role="region"
      aria-label="Timeline; the table below has the same"
      style={{ maxHeight: `${MOST_HEIGHT + AXIS + 2}px` }}
    >
      <canvas
        ref={canvas}
        aria-hidden="true"
        onMouseMove={event => setHint(hintText(rowAt(event), timeAt(xAt(event), shown, bars), shown, bars))}
        onMouseLeave={() => setHint("")}
        onClick={event => {
          const bar = barAt(rowAt(event), xAt(event), shown, bars);
          if (bar !== null) go(subplanAddress(run.value, table.value?.path[bar] ?? ""));
        }}
        onWheel={event => {
          if (!event.ctrlKey && !event.shiftKey) return;
          event.preventDefault();
          if (event.ctrlKey)
            setView(zoomed(shown, event.deltaY > 0 ? 1.2 : 1 / 1.2, timeAt(xAt(event), shown, bars)));
          else setView(moved(shown, event.deltaY > 0 ? 0.1 : -0.1));
        }}
      />
      <div aria-hidden="true" style={{ height: `${Math.max(0, rows.length * ROW - height)}px` }} />
      <p class="timeline-hint soft" aria-hidden="true">
        {hint || "Ctrl and wheel zooms, Shift and wheel moves, 0 shows all"}
      </p>
    </div>
  );
}

function barAt(row: TimelineRow | undefined, x: number, view: View, width: number): number | null {
  if (!row) return null;
  if (row.row >= 0) return row.row;
  return drawnBars(row.bars, view, width).find(bar => x >= bar.x && x <= bar.x + bar.width)?.row ?? null;
}

function hintText(row: TimelineRow | undefined, at: number, view: View, width: number): string {
  if (!row) return "";
  const slack = (view.to - view.from) / Math.max(1, width);
  const bar = row.bars.find(candidate => at >= candidate.start - slack && at <= candidate.end + slack);
  if (!bar) return visible(row.label);
  const what = bar.tone === "running" ? bar.label.replace(/^@/, "") || "runs" : TONE_WORDS[bar.tone];
  const attempt = bar.attempt > 1 ? `, attempt ${bar.attempt}` : "";
  return visible(
    `${row.label}: ${what}${attempt}, ${span(bar.end - bar.start)}${bar.isBad ? ", failed" : ""}`,
  );
}

const TONE_WORDS = {
  dependency: "waits for others",
  pool: "waits for a pool",
  landing: "lands",
  person: "waits for you",
  running: "runs",
};

/** The same rows as a table, for people who cannot see the canvas. */
function AsTable({ rows, timeline }: { rows: readonly TimelineRow[]; timeline: Timeline }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="as-table" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div class="card scroll-x">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Row</th>
                <th scope="col">Start</th>
                <th scope="col">Waited</th>
                <th scope="col">Ran</th>
                <th scope="col">Landed after</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, 200).map(row => (
                <tr key={row.label}>
                  <td class="mono">{visible(row.label)}</td>
                  <td>{span(row.bars[0]?.start ?? 0)}</td>
                  <td>{span(total(row, false))}</td>
                  <td>{span(total(row, true))}</td>
                  <td>{row.landedAt === null ? "" : span(row.landedAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isOpen && rows.length > 200 && (
        <p class="soft">
          The first 200 of {rows.length}; at {span(timeline.now)}.
        </p>
      )}
    </details>
  );
}

function total(row: TimelineRow, isRunning: boolean): number {
  return row.bars.reduce(
    (sum, bar) => sum + ((bar.tone === "running") === isRunning ? bar.end - bar.start : 0),
    0,
  );
}
