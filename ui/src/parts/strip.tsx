/** The line above a run: state, time, forecast, money, and the counts, each of which is a filter. */
import type { FinishForecast, RunCosts, Strip as StripData } from "../api/types";
import { now } from "../live/clock";
import { canAct, perform, plainAction, underWay } from "../live/operations";
import { currentReport } from "../live/report";
import { strip } from "../live/store";
import { dollars, grouped, roughly, span, spent, timeOfDay, timeRange, visible } from "../logic/words";
import { State, symbolOf, toneOf, wordOf } from "./state";

/** The order in which counts are shown. */
const COUNTED = [
  "asking",
  "conflict",
  "held",
  "failed",
  "running",
  "pending",
  "completed",
  "blocked",
  "cancelled",
];

export function Strip() {
  const shown = strip.value;
  if (!shown) return null;
  return (
    <section class="strip" aria-label="The run">
      <div class="strip-head">
        <h1>{visible(shown.plan)}</h1>
        <State state={shown.state} />
        {shown.is_paused && <span class="tag">paused</span>}
        {!shown.is_active && ["running", "stopping"].includes(shown.state) && (
          <span class="tag warn">no coordinator runs it</span>
        )}
        <span class="spring" />
        <PauseButton shown={shown} />
      </div>
      {shown.goal && <p class="goal soft">{visible(shown.goal)}</p>}
      <dl class="facts">
        <Fact name={isOver(shown) ? "Took" : "Elapsed"} value={span(secondsOf(shown))} />
        <Finish shown={shown} />
        <Money costs={shown.costs} forecast={shown.forecast} />
        {shown.target && <Fact name="Lands on" value={visible(shown.target)} isMono />}
      </dl>
      <Progress shown={shown} />
    </section>
  );
}

function isOver(shown: StripData): boolean {
  return ["completed", "failed", "abandoned"].includes(shown.state);
}

function secondsOf(shown: StripData): number {
  const isCounting = shown.is_active && shown.ended_at === null && !currentReport();
  return shown.seconds + (isCounting ? Math.max(0, now.value - shown.at) : 0);
}

function PauseButton({ shown }: { shown: StripData }) {
  if (!canAct() || !shown.is_active) return null;
  const kind = shown.is_paused ? "resume" : "pause";
  return (
    <button
      type="button"
      class="button"
      title={`weft ${kind}`}
      disabled={underWay.value !== null}
      onClick={() => void perform(plainAction(kind, []), "")}
    >
      {kind === "pause" ? "Pause" : "Resume"}
    </button>
  );
}

function Fact({
  name,
  value,
  note = "",
  isMono = false,
}: {
  name: string;
  value: string;
  note?: string;
  isMono?: boolean;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isMono ? "mono" : ""}>
        {value}
        {note && <span class="soft"> {note}</span>}
      </dd>
    </div>
  );
}

function Finish({ shown }: { shown: StripData }) {
  if (shown.ended_at !== null) return <Fact name="Ended" value={timeOfDay(shown.ended_at, now.value)} />;
  if (!shown.forecast) return <Fact name="Started" value={timeOfDay(shown.started_at, now.value)} />;
  return <Fact name="Finish" value={timeRange(shown.forecast.finish, now.value)} note="P50–P90" />;
}

function Money({ costs, forecast }: { costs: RunCosts; forecast: FinishForecast | null }) {
  if (costs.ceiling === null) {
    const value =
      spent(costs.spent, costs.unknown) || (costs.tokens ? `${roughly(costs.tokens)} tokens` : "");
    return value ? <Fact name="Spent" value={value} /> : null;
  }
  const share = (amount: number): number => Math.min(100, (amount / Math.max(1, costs.ceiling ?? 1)) * 100);
  const reserved = costs.reserved ? `, ${dollars(costs.reserved)} reserved` : "";
  const note = `of ${dollars(costs.ceiling)}${reserved}${costs.unknown ? `, ${grouped(costs.unknown)} unknown` : ""}`;
  return (
    <div class="money">
      <dt>Spent</dt>
      <dd>
        {dollars(costs.spent)}
        <span class="soft"> {note}</span>
        <span class="meter" aria-hidden="true">
          <span class="meter-spent" style={{ width: `${share(costs.spent)}%` }} />
          <span class="meter-reserved" style={{ width: `${share(costs.reserved)}%` }} />
          {forecast && forecast.cost[1] > 0 && (
            <span class="meter-mark" style={{ left: `${share(forecast.cost[1])}%` }} />
          )}
        </span>
      </dd>
    </div>
  );
}

function Progress({ shown }: { shown: StripData }) {
  const done = shown.counts["completed"] ?? 0;
  const total = Math.max(1, shown.slices);
  return (
    <div
      class="progress"
      role="img"
      aria-label={`${grouped(done)} of ${grouped(shown.slices)} slices completed`}
    >
      {["completed", "running", "held", "asking", "conflict", "failed"].map(state => (
        <span
          key={state}
          class={`fill tone-${toneOf(state)}`}
          style={{ width: `${((shown.counts[state] ?? 0) / total) * 100}%` }}
        />
      ))}
    </div>
  );
}

interface CountsProperties {
  chosen: string;
  onChoose: (state: string) => void;
}

/** The counts by state; each is a filter of the tree. */
export function Counts({ chosen, onChoose }: CountsProperties) {
  const shown = strip.value;
  if (!shown) return null;
  const counted = COUNTED.filter(state => shown.counts[state]);
  return (
    <fieldset class="counts">
      <legend class="hidden">Show only</legend>
      {counted.map(state => (
        <button
          key={state}
          type="button"
          class="count"
          aria-pressed={chosen === state}
          onClick={() => onChoose(chosen === state ? "" : state)}
        >
          <span class={`symbol tone-${toneOf(state)}`} aria-hidden="true">
            {symbolOf(state)}
          </span>
          {grouped(shown.counts[state] ?? 0)} {wordOf(state)}
        </button>
      ))}
    </fieldset>
  );
}
