/** The command palette: pages, slices and actions by name. */
import { useState } from "preact/hooks";
import { go, route } from "../live/navigation";
import { canAct, perform, plainAction } from "../live/operations";
import { run, strip, table } from "../live/store";
import { nextTheme, setTheme, theme } from "../live/theme";
import { bestEntries, type Entry } from "../logic/palette";
import { RUN_PAGES, runAddress, subplanAddress, TABS } from "../logic/routes";
import { capital, visible } from "../logic/words";
import { Dialog } from "./dialog";

export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const entries = bestEntries(allEntries(typed), typed);
  const choose = (entry: Entry | undefined): void => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, entries.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") choose(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" onClose={onClose} class="palette">
      <input
        class="field"
        type="text"
        role="combobox"
        list={undefined}
        aria-label="Find a page, a slice or an action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length ? `palette-${chosen}` : undefined}
        placeholder="Find a page, a slice or an action"
        value={typed}
        onKeyDown={onKeyDown}
        onInput={event => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
      />
      <div id="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <div
            key={`${entry.kind} ${entry.label}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => choose(entry)}
            onKeyDown={onKeyDown}
          >
            <span>{visible(entry.label)}</span>
            <span class="soft">{entry.kind}</span>
          </div>
        ))}
        {entries.length === 0 && <p class="soft none">Nothing has that name.</p>}
      </div>
    </Dialog>
  );
}

function* allEntries(typed: string): Generator<Entry> {
  yield { label: "Runs", kind: "page", run: () => go("/runs") };
  yield { label: "Plan", kind: "page", run: () => go("/plan") };
  const name = run.value;
  if (name) yield* runEntries(name, typed);
  yield {
    label: "Switch between dark and light",
    kind: "action",
    run: () => setTheme(nextTheme(theme.value)),
  };
}

function* runEntries(name: string, typed: string): Generator<Entry> {
  yield { label: "Overview", kind: "page", run: () => go(runAddress(name)) };
  for (const page of RUN_PAGES) {
    yield {
      label: capital(page),
      kind: "page",
      run: () => go(runAddress(name, page)),
    };
  }
  yield* actionEntries();
  const current = route.value;
  if (current.page === "subplan") {
    for (const tab of TABS) {
      yield {
        label: `${tab} of ${current.path}`,
        kind: "page",
        run: () => go(subplanAddress(name, current.path, { tab })),
      };
    }
  }
  if (!typed) return;
  for (const path of table.value?.path ?? []) {
    if (path) yield { label: path, kind: "slice", run: () => go(subplanAddress(name, path)) };
  }
}

function* actionEntries(): Generator<Entry> {
  if (!canAct() || !strip.value?.is_active) return;
  const kind = strip.value.is_paused ? "resume" : "pause";
  yield {
    label: `${kind === "pause" ? "Pause" : "Resume"} the run`,
    kind: "action",
    run: () => void perform(plainAction(kind, []), ""),
  };
}
