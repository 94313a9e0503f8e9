/** The subplans of a run as a tree grid. */
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { activity, run, table, version } from "../live/store";
import { landingWords } from "../logic/landing";
import { subplanAddress } from "../logic/routes";
import { nameOf, type Table, waitsFor } from "../logic/table";
import { type GroupTally, groupTallies, type TreeRow } from "../logic/tree";
import { grouped, spent, stopwatch, visible } from "../logic/words";
import { useMedia } from "./media";
import { State } from "./state";
import { VirtualRows } from "./virtual";

/** After so long without output an agent is called silent. */
const SILENT_SECONDS = 60;
const DAY = 24 * 3600;
const HEADINGS = ["State", "Subplan", "Step", "Attempt", "Time", "Cost", "Now"];

interface Properties {
  rows: readonly TreeRow[];
  chosen: number;
  onChoose: (row: number) => void;
  onFold: (row: number) => void;
}

export function Tree({ rows, chosen, onChoose, onFold }: Properties) {
  const shown = table.value;
  const isNarrow = useMedia("(max-width: 720px)");
  if (!shown || version.value < 0) return null;
  const tallies = groupTallies(shown);
  const focus = rows.findIndex(row => row.row === chosen);
  const rowHeight = isNarrow ? 60 : 38;
  return (
    <div class="tree card" role="treegrid" aria-label="Subplans" aria-rowcount={rows.length + 1}>
      <div class="tree-row tree-head" role="row" aria-rowindex={1}>
        {HEADINGS.map(heading => (
          <span key={heading} role="columnheader" class={`cell cell-${heading.toLowerCase()}`}>
            {heading}
          </span>
        ))}
      </div>
      <VirtualRows total={rows.length} rowHeight={rowHeight} focus={focus} class="tree-rows">
        {index => {
          const row = rows[index];
          if (!row) return null;
          return (
            <TreeLine
              key={row.row}
              index={index}
              row={row}
              table={shown}
              tally={tallies[row.row]}
              isChosen={row.row === chosen}
              isFirst={chosen < 0 && index === 0}
              onChoose={onChoose}
              onFold={onFold}
            />
          );
        }}
      </VirtualRows>
    </div>
  );
}

interface LineProperties {
  index: number;
  row: TreeRow;
  table: Table;
  tally: GroupTally | undefined;
  isChosen: boolean;
  isFirst: boolean;
  onChoose: (row: number) => void;
  onFold: (row: number) => void;
}

function TreeLine({ index, row, table, tally, isChosen, isFirst, onChoose, onFold }: LineProperties) {
  const number = row.row;
  const isGroup = tally !== undefined;
  return (
    <div
      class={`tree-row ${isChosen ? "is-chosen" : ""} ${isGroup ? "is-group" : ""}`}
      role="row"
      tabIndex={isChosen || isFirst ? 0 : -1}
      aria-rowindex={index + 2}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.setSize}
      aria-expanded={isGroup ? !row.isFolded : undefined}
      aria-selected={isChosen}
      onClick={() => onChoose(number)}
      onFocus={() => onChoose(number)}
    >
      <span class="cell cell-state" role="gridcell">
        <State state={table.state[number] ?? "pending"} />
      </span>
      <span class="cell cell-subplan" role="gridcell" style={{ paddingLeft: `${(row.level - 1) * 18}px` }}>
        <FoldButton isGroup={isGroup} isFolded={row.isFolded} onFold={() => onFold(number)} />
        <a
          class="mono"
          tabIndex={-1}
          href={href(subplanAddress(run.value, table.path[number] ?? ""))}
          title={visible(table.path[number] ?? "")}
        >
          {visible(nameOf(table, number))}
        </a>
        {table.paused.has(number) && <span class="tag">paused</span>}
      </span>
      <span class="cell cell-step" role="gridcell">
        {tally ? <GroupBar tally={tally} /> : stepText(table, number)}
      </span>
      <span class="cell cell-attempt" role="gridcell">
        {attemptText(table, number)}
      </span>
      <span class="cell cell-time" role="gridcell">
        {timeText(table, number)}
      </span>
      <span class="cell cell-cost" role="gridcell">
        {spent(table.cost[number] ?? 0, table.unknownCosts.get(number))}
      </span>
      <span class="cell cell-now" role="gridcell">
        <NowText table={table} row={number} />
      </span>
    </div>
  );
}

function FoldButton({
  isGroup,
  isFolded,
  onFold,
}: {
  isGroup: boolean;
  isFolded: boolean;
  onFold: () => void;
}) {
  if (!isGroup) return <span class="fold" />;
  return (
    <button
      type="button"
      class="fold"
      tabIndex={-1}
      aria-label={isFolded ? "Unfold" : "Fold"}
      onClick={onFold}
    >
      {isFolded ? "▸" : "▾"}
    </button>
  );
}

function GroupBar({ tally }: { tally: GroupTally }) {
  const share = (part: number): string => `${(part / Math.max(1, tally.slices)) * 100}%`;
  return (
    <span class="group-bar">
      <span class="progress" aria-hidden="true">
        <span class="fill tone-good" style={{ width: share(tally.completed) }} />
        <span class="fill tone-running" style={{ width: share(tally.running) }} />
        <span class="fill tone-bad" style={{ width: share(tally.failed) }} />
      </span>
      <span class="soft">
        {grouped(tally.completed)}/{grouped(tally.slices)}
      </span>
    </span>
  );
}

function stepText(table: Table, row: number): string {
  const total = table.stepTotal[row] ?? 0;
  const step = table.step.get(row)?.replace(/^@/, "");
  if (!step) return "";
  const number = Math.min(total, (table.stepNumber[row] ?? 0) + 1);
  return total > 1 && !table.step.get(row)?.startsWith("@") ? `${step} ${number}/${total}` : step;
}

function attemptText(table: Table, row: number): string {
  const attempt = table.attempt.get(row) ?? 0;
  if (attempt < 2) return "";
  const limit = table.attemptLimit.get(row);
  return limit ? `${attempt} of ${limit}` : String(attempt);
}

function timeText(table: Table, row: number): string {
  const started = table.startedAt[row];
  if (started === null || started === undefined) return "";
  const ended = table.endedAt[row];
  const seconds = (ended ?? now.value) - started;
  if (seconds < DAY) return stopwatch(seconds);
  return `${grouped(Math.floor(seconds / DAY))} d ${Math.floor((seconds % DAY) / 3600)} h`;
}

function NowText({ table, row }: { table: Table; row: number }) {
  const state = table.state[row];
  const note = table.note.get(row);
  const doing = activity.value[row];
  if (note && (state !== "running" || !doing)) return <span title={visible(note)}>{visible(note)}</span>;
  if (doing) {
    const silent = now.value - doing.at;
    return (
      <span title={visible(doing.text)}>
        {silent > SILENT_SECONDS && <span class="warn">silent {stopwatch(silent)} · </span>}
        {visible(doing.text)}
      </span>
    );
  }
  if (state === "pending") return <Waits table={table} row={row} />;
  if (state !== "completed" || !table.leaf[row]) return null;
  const words = table.carried.has(row) ? "completed by an earlier run" : visible(landingWords(table, row));
  return (
    <span class="soft" title={words}>
      {words}
    </span>
  );
}

function Waits({ table, row }: { table: Table; row: number }) {
  const waiting: string[] = [];
  let more = 0;
  for (const path of waitsFor(table, row)) {
    if (waiting.length < 2) waiting.push(path);
    else more++;
  }
  if (!waiting.length) return <span class="soft">{table.leaf[row] ? "waits for its turn" : ""}</span>;
  return (
    <span class="soft">
      waits for {visible(waiting.join(", "))}
      {more > 0 && ` and ${grouped(more)} more`}
    </span>
  );
}
