/** A subplan: its state, and its log, changes, attempts, reasons and prompt. */

import { runPath } from "../api/client";
import type { SubplanDetail } from "../api/types";
import { now } from "../live/clock";
import { useKeys } from "../live/keys";
import { go, href } from "../live/navigation";
import { begin, canAct } from "../live/operations";
import { currentReport } from "../live/report";
import { run, table, version } from "../live/store";
import { landingWords } from "../logic/landing";
import { type Route, runAddress, subplanAddress, TABS, type Tab } from "../logic/routes";
import { span, spent, visible } from "../logic/words";
import { Actions } from "../parts/actions";
import { Load, useAnswer } from "../parts/load";
import { NeedCard } from "../parts/needs";
import { State } from "../parts/state";
import { AttemptsTab } from "./attempts";
import { DiffTab } from "./diff";
import { LogTab } from "./log";
import { PromptTab, WhyTab } from "./why";

const NAMES: Record<Tab, string> = {
  log: "Log",
  diff: "Diff",
  attempts: "Attempts",
  why: "Why",
  prompt: "Prompt",
};
const REPORT_TABS: readonly Tab[] = ["attempts", "why", "prompt"];

export function SubplanPage({ current }: { current: Extract<Route, { page: "subplan" }> }) {
  const detail = useAnswer<SubplanDetail>(runPath(current.run, "subplan"), { path: current.path }, 2);
  if (currentReport() && !detail.data) return <NotInReport path={current.path} />;
  return <Load of={detail}>{data => <Subplan detail={data} tab={current.tab ?? defaultTab(data)} />}</Load>;
}

/** Returns the tab that probably answers why the page was opened. */
function defaultTab(detail: SubplanDetail): Tab {
  if (currentReport()) return detail.attempts.length ? "attempts" : "why";
  if (!detail.leaf || (detail.state === "pending" && !detail.attempts.length)) return "why";
  return detail.attempts.some(attempt => attempt.has_output) ? "log" : "why";
}

function NotInReport({ path }: { path: string }) {
  const shown = table.value;
  const row = shown?.rowOf.get(path);
  return (
    <div class="page">
      <Crumbs path={path} />
      <h1 class="mono">{visible(path)}</h1>
      {shown && row !== undefined && <State state={shown.state[row] ?? "pending"} />}
      <p class="soft">
        The report has the details of what failed or needs a person; this subplan is neither.
      </p>
    </div>
  );
}

function Subplan({ detail, tab }: { detail: SubplanDetail; tab: Tab }) {
  const open = (name: Tab): void => go(subplanAddress(run.value, detail.path, { tab: name }));
  const act = (kind: string): void => {
    const actions = [...detail.needs.flatMap(need => need.actions), ...detail.actions];
    const action = actions.find(candidate => candidate.post === kind);
    if (action && canAct()) begin({ ...action, is_confirmed: true });
  };
  useKeys([
    { key: "L", does: "log", run: () => open("log") },
    { key: "D", does: "changes", run: () => open("diff") },
    { key: "a", does: "answer the question", run: () => act("answer") },
    { key: "m", does: "land held work", run: () => act("merge") },
    { key: "R", does: "retry", run: () => act("retry") },
    { key: "p", does: "pause or resume it", run: () => act(isPaused(detail) ? "resume" : "pause") },
  ]);
  const tabs = (currentReport() ? REPORT_TABS : TABS).filter(
    name => detail.leaf || name === "why" || name === "diff",
  );
  return (
    <div class="page">
      <Crumbs path={detail.path} />
      <Head detail={detail} />
      {detail.needs.map(need => (
        <NeedCard key={`${need.kind} ${need.step}`} need={need} isAlone />
      ))}
      <nav class="tabs inner" aria-label="About this subplan">
        {tabs.map(name => (
          <a
            key={name}
            href={href(subplanAddress(run.value, detail.path, { tab: name }))}
            aria-current={name === tab ? "page" : undefined}
          >
            {NAMES[name]}
            {name === "attempts" && detail.attempts.length > 0 && (
              <span class="soft"> {detail.attempts.length}</span>
            )}
          </a>
        ))}
      </nav>
      <TabContent detail={detail} tab={tabs.includes(tab) ? tab : "why"} />
    </div>
  );
}

function TabContent({ detail, tab }: { detail: SubplanDetail; tab: Tab }) {
  if (tab === "log") return <LogTab detail={detail} />;
  if (tab === "diff") return <DiffTab detail={detail} />;
  if (tab === "attempts") return <AttemptsTab detail={detail} />;
  return tab === "why" ? <WhyTab detail={detail} /> : <PromptTab detail={detail} />;
}

function isPaused(detail: SubplanDetail): boolean {
  return table.value?.paused.has(detail.row) ?? false;
}

function Crumbs({ path }: { path: string }) {
  const parts = path.split("/");
  return (
    <nav class="crumbs" aria-label="Where this is">
      <a href={href(runAddress(run.value))}>Overview</a>
      {parts.slice(0, -1).map((part, index) => (
        <span key={part}>
          <span class="soft">/</span>{" "}
          <a class="mono" href={href(subplanAddress(run.value, parts.slice(0, index + 1).join("/")))}>
            {visible(part)}
          </a>
        </span>
      ))}
    </nav>
  );
}

function Head({ detail }: { detail: SubplanDetail }) {
  // The table is fresher than the answer.
  const state = (version.value >= 0 && table.value?.state[detail.row]) || detail.state;
  const landing = state === "completed" && table.value ? landingWords(table.value, detail.row) : "";
  // The cards below have the others.
  const onCards = new Set(detail.needs.flatMap(need => need.actions).map(action => action.command));
  const actions = detail.actions.filter(action => !onCards.has(action.command));
  const isTitled = detail.title && detail.title !== detail.path.split("/").at(-1);
  return (
    <section class="strip" aria-label="The subplan">
      <div class="strip-head">
        <h1 class="mono">{visible(detail.path)}</h1>
        <State state={state} />
        {isPaused(detail) && <span class="tag">paused</span>}
        {landing && <span class="tag">{visible(landing)}</span>}
      </div>
      {isTitled && <p class="goal">{visible(detail.title)}</p>}
      {detail.message && detail.needs.length === 0 && <p class="reason">{visible(detail.message)}</p>}
      <dl class="facts">
        <Duration detail={detail} state={state} />
        {spent(detail.cost, detail.unknown_costs) && (
          <div>
            <dt>Cost</dt>
            <dd>{spent(detail.cost, detail.unknown_costs)}</dd>
          </div>
        )}
        {detail.branch && (
          <div>
            <dt>Branch</dt>
            <dd class="mono">{visible(detail.branch)}</dd>
          </div>
        )}
        {detail.commit && (
          <div>
            <dt>Landed as</dt>
            <dd class="mono">{detail.commit.slice(0, 7)}</dd>
          </div>
        )}
      </dl>
      {detail.steps.length > 0 && <Steps detail={detail} />}
      {actions.length > 0 && !currentReport() && <Actions actions={actions} />}
    </section>
  );
}

function Duration({ detail, state }: { detail: SubplanDetail; state: string }) {
  if (detail.started_at === null) return null;
  const seconds = span(Math.max(0, (detail.ended_at ?? now.value) - detail.started_at));
  const [name, value] =
    detail.ended_at !== null
      ? ["Took", seconds]
      : state === "running"
        ? ["Running for", seconds]
        : ["Started", `${seconds} ago`];
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const STEP_SIGNS = {
  done: ["✓", "good"],
  failed: ["✗", "bad"],
  pending: ["·", "soft"],
  running: ["▶", "running"],
  skipped: ["–", "soft"],
} as const;

function Steps({ detail }: { detail: SubplanDetail }) {
  return (
    <ol class="steps" aria-label="Steps">
      {detail.steps.map(step => {
        const [symbol, tone] = STEP_SIGNS[step.state];
        return (
          <li key={step.name} class={`is-${step.state}`}>
            <span class={`symbol tone-${tone}`} aria-hidden="true">
              {symbol}
            </span>
            {visible(step.name.replace(/^@/, ""))} <span class="soft">{visible(step.kind)}</span>
            <span class="hidden">, {step.state}</span>
          </li>
        );
      })}
    </ol>
  );
}
