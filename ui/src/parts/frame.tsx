/** What is around every page: the name, the run, its pages, the theme, help and the command palette. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { now } from "../live/clock";
import { activeKeys, type KeyBinding, useKeys } from "../live/keys";
import { go, href, route } from "../live/navigation";
import { info } from "../live/operations";
import { currentReport } from "../live/report";
import { connection, heardAt, needs, run, strip } from "../live/store";
import { nextTheme, setTheme, theme } from "../live/theme";
import { RUN_PAGES, type RunPage, runAddress } from "../logic/routes";
import { capital, exactTime, span, visible } from "../logic/words";
import { ActionDialog, MessageBar } from "./actions";
import { Dialog } from "./dialog";
import { Palette } from "./palette";

const REPORT_PAGES: readonly RunPage[] = ["timeline", "graph", "cost", "pools", "conflicts"];
const THEME_NAMES = { system: "◐ System", light: "○ Light", dark: "● Dark" };

export function Frame({ children }: { children: ComponentChildren }) {
  const [shown, setShown] = useState<"" | "help" | "palette">("");
  useKeys(frameKeys(setShown), true);
  useTitle();
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={href("/runs")}>
          <Mark />
          weft
        </a>
        <RunName />
        <span class="spring" />
        {!currentReport() && (
          <button type="button" class="button plain small" onClick={() => setShown("palette")}>
            Find <kbd>Ctrl K</kbd>
          </button>
        )}
        <button
          type="button"
          class="button plain small"
          aria-label={`Theme: ${theme.value}`}
          onClick={() => setTheme(nextTheme(theme.value))}
        >
          {THEME_NAMES[theme.value]}
        </button>
        <button
          type="button"
          class="button plain small keys-button"
          aria-label="Keys"
          onClick={() => setShown("help")}
        >
          <kbd>?</kbd>
        </button>
      </header>
      <PageTabs />
      <ConnectionBar />
      <main id="content">{children}</main>
      <MessageBar />
      <ActionDialog />
      {shown === "help" && <Help onClose={() => setShown("")} />}
      {shown === "palette" && <Palette onClose={() => setShown("")} />}
    </>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
      <path
        d="M3 2v16M8 2v16M13 2v16M18 2v16M1 6h5M11 6h8M1 11h2M6 11h9M1 16h5M11 16h8"
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
      />
    </svg>
  );
}

function RunName() {
  const shown = strip.value;
  if (!run.value) return info.value ? <span class="run-name soft">{visible(info.value.project)}</span> : null;
  return (
    <span class="run-name">
      <span class="soft" aria-hidden="true">
        /
      </span>
      <a href={href(runAddress(run.value))}>{visible(shown?.plan ?? run.value)}</a>
      <span class="soft mono run-id">{visible(shown?.run ?? run.value)}</span>
    </span>
  );
}

function PageTabs() {
  const page = route.value.page;
  // On a phone the page that is shown may be beyond the edge.
  useEffect(() => {
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [page]);
  const pages = currentReport() ? REPORT_PAGES : RUN_PAGES;
  if (!run.value) {
    if (currentReport()) return null;
    return (
      <nav class="tabs" aria-label="Pages">
        <Tab to="/runs" label="Runs" isCurrent={page === "runs"} />
        <Tab to="/plan" label="Plan" isCurrent={page === "plan"} />
      </nav>
    );
  }
  return (
    <nav class="tabs" aria-label="Pages of the run">
      {!currentReport() && <Tab to="/runs" label="Runs" isCurrent={false} />}
      <Tab
        to={runAddress(run.value)}
        label="Overview"
        isCurrent={page === "run"}
        badge={needs.value.filter(need => need.is_urgent).length}
      />
      {pages.map(name => (
        <Tab key={name} to={runAddress(run.value, name)} label={capital(name)} isCurrent={page === name} />
      ))}
    </nav>
  );
}

function Tab({
  to,
  label,
  isCurrent,
  badge = 0,
}: {
  to: string;
  label: string;
  isCurrent: boolean;
  badge?: number;
}) {
  return (
    <a href={href(to)} aria-current={isCurrent ? "page" : undefined}>
      {label}
      {badge > 0 && (
        <span class="badge">
          {badge}
          <span class="hidden"> need you</span>
        </span>
      )}
    </a>
  );
}

/** Says that what is shown may be old: a wrong state is worse than none. */
function ConnectionBar() {
  if (!run.value || connection.value === "live") return null;
  const silent = now.value && Date.now() / 1000 - heardAt.value;
  return (
    <div class="connection" role="status">
      <strong>
        {connection.value === "lost" ? "The server does not answer." : "Nothing was heard from the server."}
      </strong>{" "}
      The page shows the run as it was at {exactTime(heardAt.value)}, {span(silent)} ago. It keeps trying;{" "}
      <code>weft ui</code> starts the server again.
    </div>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const keys = activeKeys().filter(key =>
    `${key.key} ${key.does}`.toLowerCase().includes(typed.toLowerCase()),
  );
  return (
    <Dialog title="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <input
        class="field"
        type="search"
        aria-label="Search the keys"
        placeholder="Search"
        value={typed}
        onInput={event => setTyped(event.currentTarget.value)}
      />
      <dl class="keys">
        {keys.map(key => (
          <div key={key.key}>
            <dt>
              <kbd>{key.key}</kbd>
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function back(): void {
  if (run.value && route.value.page !== "run") go(runAddress(run.value));
}

function frameKeys(show: (what: "help" | "palette") => void): KeyBinding[] {
  return [
    { key: "?", does: "show the keys", run: () => show("help") },
    { key: "Ctrl-K", does: "find a page, a slice or an action", run: () => show("palette") },
    { key: "Escape", does: "back to the run", run: back },
    ...goKeys(),
  ];
}

function goKeys(): KeyBinding[] {
  const name = run.value;
  const runs = [{ key: "g r", does: "go to the runs", run: () => go("/runs") }];
  if (!name) return runs;
  const pages: Array<[string, RunPage | undefined, string]> = [
    ["g o", undefined, "overview"],
    ["g t", "timeline", "timeline"],
    ["g g", "graph", "graph"],
    ["g c", "cost", "cost"],
    ["g p", "pools", "pools"],
    ["g e", "events", "events"],
  ];
  return [
    ...runs,
    ...pages.map(([key, page, label]) => ({
      key,
      does: `go to the ${label}`,
      run: () => go(runAddress(name, page)),
    })),
  ];
}

function useTitle(): void {
  const urgent = needs.value.filter(need => need.is_urgent).length;
  const name = strip.value?.plan ?? info.value?.project ?? "";
  useEffect(() => {
    const called = urgent ? `(${urgent}) ${urgent} need${urgent === 1 ? "s" : ""} you · ` : "";
    document.title = `${called}${name ? `${visible(name)} · ` : ""}weft`;
  }, [urgent, name]);
}
