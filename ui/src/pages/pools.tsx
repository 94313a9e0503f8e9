/** The pools of a run: use over time, and what holds them. */
import { runPath } from "../api/client";
import type { Pools, PoolTable } from "../api/types";
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

const SERIES = [
  { label: "in use", colour: "accent", isStepped: true, isFilled: true },
  { label: "size", colour: "ink-soft", isDashed: true },
];

function Pool({ pool }: { pool: PoolTable }) {
  const until = strip.value?.ended_at ?? now.value;
  return (
    <section class="card padded pool">
      <header>
        <h2 class="mono">{visible(pool.name)}</h2>
        <span>
          {grouped(pool.in_use)} of {grouped(pool.size)} in use
        </span>
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
        <List
          title="Held by"
          rows={pool.holders.map(holder => [
            holder.path,
            [holder.step.replace(/^@/, ""), holder.items.join(", "), stopwatch(now.value - holder.since)]
              .filter(Boolean)
              .join(" · "),
          ])}
        />
      </div>
    </section>
  );
}

function List({ title, rows }: { title: string; rows: ReadonlyArray<[string, string]> }) {
  if (!rows.length) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul class="plain-list">
        {rows.slice(0, 20).map(([path, note], index) => (
          <li key={index}>
            <a class="mono" href={href(subplanAddress(run.value, path))}>
              {visible(path)}
            </a>{" "}
            <span class="soft">{visible(note)}</span>
          </li>
        ))}
      </ul>
      {rows.length > 20 && <p class="soft">and {grouped(rows.length - 20)} more</p>}
    </div>
  );
}
