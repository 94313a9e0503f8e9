/** The overview of a run: the strip, what needs a person, and the tree. */
import { useState } from "preact/hooks";
import { useKeys } from "../live/keys";
import { go } from "../live/navigation";
import { begin, canAct, perform, plainAction } from "../live/operations";
import { currentReport } from "../live/report";
import { needs, run, strip, table, version } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { doneCount, type Filter, nextRow, type TreeRow, treeRows } from "../logic/tree";
import { count } from "../logic/words";
import { Needs } from "../parts/needs";
import { Counts, Strip } from "../parts/strip";
import { Tree } from "../parts/tree";
import { ReportSummary } from "./report";

export function RunPage() {
  const shown = table.value;
  const [filter, setFilter] = useState<Omit<Filter, "hidesDone">>({ state: "", text: "" });
  const [hidden, setHidden] = useState<boolean | null>(null);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [chosen, setChosen] = useState(-1);
  const isOver = ["completed", "failed", "abandoned"].includes(strip.value?.state ?? "");
  const hidesDone = hidden ?? !(isOver || currentReport());
  const rows = shown && version.value >= 0 ? treeRows(shown, { ...filter, hidesDone }, folded) : [];
  const fold = (row: number, wanted?: boolean): void => {
    const next = new Set(folded);
    if (wanted ?? !folded.has(row)) next.add(row);
    else next.delete(row);
    setFolded(next);
  };
  useKeys(treeKeys({ rows, chosen, setChosen, fold }));
  if (!shown) return <p class="soft loading">Loading …</p>;
  const done = doneCount(shown);
  return (
    <div class="page">
      <Strip />
      {currentReport() && <ReportSummary />}
      <Needs />
      <section aria-label="Tree" class="tree-part">
        <div class="tools">
          <Counts chosen={filter.state} onChoose={state => setFilter({ ...filter, state })} />
          <span class="spring" />
          <input
            id="filter"
            class="field"
            type="search"
            placeholder="Filter by path"
            aria-label="Filter by path"
            value={filter.text}
            onInput={event => setFilter({ ...filter, text: event.currentTarget.value })}
          />
          <label class="check">
            <input type="checkbox" checked={!hidesDone} onChange={() => setHidden(!hidesDone)} /> Show
            finished
          </label>
        </div>
        {rows.length > 0 ? (
          <Tree rows={rows} chosen={chosen} onChoose={setChosen} onFold={fold} />
        ) : (
          <NoRows
            done={done}
            isFiltered={filter.text !== "" || filter.state !== ""}
            onShow={() => setHidden(false)}
          />
        )}
        {rows.length > 0 && hidesDone && done > 0 && !filter.state && (
          <p class="soft below">
            {count(done, "slice")} with nothing left to do or to land {done === 1 ? "is" : "are"} not shown.{" "}
            <button type="button" class="link" onClick={() => setHidden(false)}>
              Show
            </button>
          </p>
        )}
      </section>
    </div>
  );
}

function NoRows({ done, isFiltered, onShow }: { done: number; isFiltered: boolean; onShow: () => void }) {
  if (isFiltered) return <p class="soft none card">No slice matches the filter.</p>;
  return (
    <p class="soft none card">
      {done ? "Every slice is completed, with nothing left to land. " : "The plan has no slices. "}
      {done > 0 && (
        <button type="button" class="link" onClick={onShow}>
          Show them
        </button>
      )}
    </p>
  );
}

interface TreeKeys {
  rows: readonly TreeRow[];
  chosen: number;
  setChosen: (row: number) => void;
  fold: (row: number, wanted?: boolean) => void;
}

function treeKeys({ rows, chosen, setChosen, fold }: TreeKeys) {
  const current = table.value;
  const move = (direction: 1 | -1, isWanted: (row: number) => boolean = () => true): void => {
    const next = nextRow(rows, chosen, direction, isWanted);
    if (next !== null) setChosen(next);
  };
  const open = (tab?: string): void => {
    const path = current?.path[chosen];
    if (path) go(subplanAddress(run.value, path, tab ? { tab } : {}));
  };
  const needing = new Set(needs.value.map(need => need.row));
  const down = { does: "next row", run: () => move(1) };
  const up = { does: "previous row", run: () => move(-1) };
  return [
    { key: "j", ...down },
    { key: "k", ...up },
    { key: "ArrowDown", ...down },
    { key: "ArrowUp", ...up },
    { key: "h", does: "fold the group", run: () => foldOrLeave(chosen, fold, setChosen) },
    { key: "l", does: "unfold the group", run: () => fold(chosen, false) },
    { key: "ArrowLeft", does: "fold the group", run: () => foldOrLeave(chosen, fold, setChosen) },
    { key: "ArrowRight", does: "unfold the group", run: () => fold(chosen, false) },
    { key: "Enter", does: "open the chosen row", run: () => open() },
    { key: "L", does: "its log", run: () => open("log") },
    { key: "D", does: "its changes", run: () => open("diff") },
    { key: "/", does: "filter by path", run: () => document.getElementById("filter")?.focus() },
    { key: "n", does: "next row that needs you", run: () => move(1, row => needing.has(row)) },
    { key: "e", does: "next failure", run: () => move(1, row => current?.state[row] === "failed") },
    ...operationKeys(chosen),
  ];
}

function foldOrLeave(row: number, fold: TreeKeys["fold"], setChosen: (row: number) => void): void {
  const shown = table.value;
  if (!shown || row < 0) return;
  if (!shown.leaf[row]) fold(row, true);
  else if ((shown.parent[row] ?? 0) > 0) setChosen(shown.parent[row] ?? row);
}

/** The keys that change the run: for the chosen row, or for the first card. */
function operationKeys(chosen: number) {
  if (!canAct()) return [];
  const act = (kind: string): void => {
    const fitting = needs.value.filter(need => chosen <= 0 || need.row === chosen);
    for (const need of fitting) {
      const action = need.actions.find(candidate => candidate.post === kind);
      if (action) {
        begin({ ...action, is_confirmed: true });
        return;
      }
    }
  };
  return [
    { key: "a", does: "answer the question", run: () => act("answer") },
    { key: "m", does: "land held work", run: () => act("merge") },
    { key: "R", does: "retry", run: () => act("retry") },
    { key: "p", does: "pause or resume the run", run: pauseOrResume },
  ];
}

function pauseOrResume(): void {
  if (!strip.value?.is_active) return;
  void perform(plainAction(strip.value.is_paused ? "resume" : "pause", []), "");
}
