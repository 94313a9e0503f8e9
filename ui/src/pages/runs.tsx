/** The runs of the project. */
import type { RunList, RunRow } from "../api/types";
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { runAddress } from "../logic/routes";
import { dollars, grouped, span, spent, timeOfDay, visible } from "../logic/words";
import { Command } from "../parts/actions";
import { Load, useAnswer } from "../parts/load";
import { State, toneOf } from "../parts/state";

export function RunsPage() {
  const runs = useAnswer<RunList>("runs", {}, 5);
  return (
    <div class="page">
      <h1>Runs</h1>
      <Load of={runs}>{list => (list.runs.length ? <RunTable list={list} /> : <NoRuns list={list} />)}</Load>
    </div>
  );
}

function NoRuns({ list }: { list: RunList }) {
  return (
    <div class="empty">
      <h2>No runs yet in {visible(list.project)}</h2>
      {list.start_command === "weft init" ? (
        <p class="soft">There is no plan yet. This command finds agents and tests, and writes one.</p>
      ) : (
        <p class="soft">
          A run appears here as soon as it starts. <a href={href("/plan")}>The plan</a> shows what it would
          do.
        </p>
      )}
      <Command text={list.start_command} />
    </div>
  );
}

function RunTable({ list }: { list: RunList }) {
  return (
    <>
      <div class="card scroll-x">
        <table class="plain runs">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Plan</th>
              <th scope="col">Slices</th>
              <th scope="col" class="number">
                Cost
              </th>
              <th scope="col" class="number">
                Time
              </th>
              <th scope="col">Forecast P50–P90</th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {list.runs.map(row => (
              <RunLine key={row.run} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {list.more > 0 && (
        <p class="soft below">
          {grouped(list.more)} older runs; <code>weft runs</code> lists all.
        </p>
      )}
    </>
  );
}

function RunLine({ row }: { row: RunRow }) {
  const done = row.counts["completed"] ?? 0;
  const seconds = row.seconds ?? (row.is_active ? now.value - row.created_at : null);
  return (
    <tr>
      <td>
        <State state={row.state} />
      </td>
      <td>
        <a class="strong" href={href(runAddress(row.run))}>
          {visible(row.plan)}
        </a>
        <div class="soft mono small">{visible(row.run)}</div>
      </td>
      <td>
        <span class="group-bar wide">
          <span class="progress" aria-hidden="true">
            {["completed", "running", "failed"].map(state => (
              <span
                key={state}
                class={`fill tone-${toneOf(state)}`}
                style={{ width: `${((row.counts[state] ?? 0) / Math.max(1, row.slices)) * 100}%` }}
              />
            ))}
          </span>
          {grouped(done)}/{grouped(row.slices)}
        </span>
      </td>
      <td class="number">{spent(row.cost, row.unknown_costs) || "–"}</td>
      <td class="number">{seconds === null ? "–" : span(seconds)}</td>
      <td>
        <ForecastText row={row} />
      </td>
      <td class="soft nowrap">{timeOfDay(row.created_at, now.value)}</td>
    </tr>
  );
}

function ForecastText({ row }: { row: RunRow }) {
  if (!row.forecast) return <span class="soft">–</span>;
  const [early, late] = row.forecast.seconds;
  const cost = row.forecast.cost[1]
    ? `, ${dollars(row.forecast.cost[0])}–${dollars(row.forecast.cost[1])}`
    : "";
  return (
    <span class="nowrap">
      {span(early)}–{span(late)}
      {cost} <Verdict row={row} />
    </span>
  );
}

function Verdict({ row }: { row: RunRow }) {
  if (!row.forecast || row.seconds === null || row.state !== "completed") return null;
  if (row.seconds <= row.forecast.seconds[0]) return <span class="good">earlier</span>;
  return row.seconds <= row.forecast.seconds[1] ? (
    <span class="soft">as forecast</span>
  ) : (
    <span class="warn">later</span>
  );
}
