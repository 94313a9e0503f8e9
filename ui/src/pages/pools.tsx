/** The pools of a run: use over time, and what holds them. */
import { runPath } from "../api/client";
import type { PoolHolder, Pools, PoolTable, PoolWaiter } from "../api/types";
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { run, strip } from "../live/store";
import { poolColumns } from "../logic/charts";
import { subplanAddress } from "../logic/routes";
import { grouped, percent, stopwatch, visible } from "../logic/words";
import { Chart } from "../parts/chart";
import { Load, useAnswer } from "../parts/load";

export function PoolsPage() {
  const answer = useAnswer<Pools>(runPath(run.value, "pools"), {}, 2);
  return (
    <div class="page">
      <h1>Pools</h1>
      <Load of={answer}>
        {({ pools }) =>
          pools.length ? (
            pools.map(pool => <Pool key={pool.name} pool={pool} />)
          ) : (
            <p class="soft none card">The plan limits nothing.</p>
          )
        }
      </Load>
    </div>
  );
}

const MOST_LISTED = 20;
const SERIES = [
  { label: "in use", colour: "accent", isStepped: true, isFilled: true },
  { label: "size", colour: "ink-soft", isDashed: true },
];

function Pool({ pool }: { pool: PoolTable }) {
  // Without a coordinator no time passes for the run.
  const until = strip.value?.is_active ? now.value : (pool.history.at(-1)?.[0] ?? now.value);
  return (
    <section class="card padded pool">
      <header>
        <h2 class="mono">{visible(pool.name)}</h2>
        <span>
          {grouped(pool.in_use)} of {grouped(pool.size)} in use
        </span>
        {pool.waiting > 0 && <span class="tone-warn">{grouped(pool.waiting)} waiting</span>}
        <span class="soft">{percent(pool.used)} busy since the start</span>
      </header>
      {pool.history.length > 1 && (
        <Chart
          label={`Use of ${pool.name} over time`}
          series={SERIES}
          data={poolColumns(pool, until)}
          height={150}
          format={value => (Number.isInteger(value) ? String(value) : "")}
        />
      )}
      <div class="columns">
        <List title="Held by" rows={pool.holders.map(holderRow)} total={pool.holders.length} />
        <List title="Waiting" rows={pool.waiters.map(waiterRow)} total={pool.waiting} />
      </div>
    </section>
  );
}

function holderRow(holder: PoolHolder): [string, string] {
  const parts = [holder.step.replace(/^@/, ""), holder.items.join(", "), stopwatch(now.value - holder.since)];
  return [holder.path, parts.filter(Boolean).join(" · ")];
}

function waiterRow(waiter: PoolWaiter): [string, string] {
  const parts = [waiter.step.replace(/^@/, ""), `for ${stopwatch(now.value - waiter.since)}`];
  return [waiter.path, parts.filter(Boolean).join(" · ")];
}

interface ListProperties {
  title: string;
  rows: ReadonlyArray<[string, string]>;
  total: number;
}

function List({ title, rows, total }: ListProperties) {
  if (!rows.length) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul class="plain-list">
        {rows.slice(0, MOST_LISTED).map(([path, note], index) => (
          <li key={index}>
            <a class="mono" href={href(subplanAddress(run.value, path))}>
              {visible(path)}
            </a>{" "}
            <span class="soft">{visible(note)}</span>
          </li>
        ))}
      </ul>
      {total > MOST_LISTED && <p class="soft">and {grouped(total - MOST_LISTED)} more</p>}
    </div>
  );
}
