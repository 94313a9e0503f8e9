/** The money of a run: over time, and by agent, model, group and slice. */
import { runPath } from "../api/client";
import type { CostRow, CostTables } from "../api/types";
import { run } from "../live/store";
import { costColumns } from "../logic/charts";
import { dollars, grouped, roughly, spent, visible } from "../logic/words";
import { Chart } from "../parts/chart";
import { Load, useAnswer } from "../parts/load";

export function CostPage() {
  const answer = useAnswer<CostTables>(runPath(run.value, "cost"), {}, 3);
  return (
    <div class="page">
      <h1>Cost</h1>
      <Load of={answer}>{tables => <Tables tables={tables} />}</Load>
    </div>
  );
}

function Tables({ tables }: { tables: CostTables }) {
  const { costs } = tables;
  const isFree = !costs.spent && !costs.reserved && !costs.tokens && !costs.unknown;
  if (isFree && costs.ceiling === null) return <p class="soft none card">No agent has reported a cost.</p>;
  const hasCone = tables.cone.length > 0;
  const columns = costColumns(tables);
  const series = [
    { label: "spent", colour: "accent", isStepped: true, isFilled: true },
    { label: "with reservations", colour: "warn", isStepped: true, isDashed: true },
    ...(hasCone
      ? [
          { label: "forecast P50", colour: "ink-soft" },
          { label: "forecast P90", colour: "ink-soft", isDashed: true },
        ]
      : []),
    ...(costs.ceiling === null ? [] : [{ label: "ceiling", colour: "bad", isDashed: true }]),
  ];
  const [times, spending, reserved, middle, high, ceiling] = columns;
  const data = [
    times,
    spending,
    reserved,
    ...(hasCone ? [middle, high] : []),
    ...(costs.ceiling === null ? [] : [ceiling]),
  ];
  return (
    <>
      <dl class="facts">
        <Fact
          name="Spent"
          value={spent(costs.spent, costs.unknown) || dollars(0)}
          note={costs.earlier ? `${dollars(costs.earlier)} by earlier runs` : ""}
        />
        {costs.ceiling !== null && <Fact name="Ceiling" value={dollars(costs.ceiling)} note="" />}
        {costs.reserved > 0 && <Fact name="Reserved" value={dollars(costs.reserved)} note="" />}
        {costs.tokens > 0 && (
          <Fact
            name="Tokens"
            value={roughly(costs.tokens)}
            note={costs.token_ceiling ? `of ${roughly(costs.token_ceiling)}` : ""}
          />
        )}
      </dl>
      {tables.points.length > 1 && (
        <div class="card padded">
          <Chart
            label="Spending over time; the tables below have the sums"
            series={series}
            data={data}
            height={260}
            format={dollars}
          />
        </div>
      )}
      <CostTable title="By agent" rows={tables.agents} />
      <CostTable title="By model" rows={tables.models} />
      <CostTable title="By group" rows={tables.groups} />
      <CostTable title="By slice" rows={tables.slices} />
    </>
  );
}

function Fact({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {note && <span class="soft">{note}</span>}
      </dd>
    </div>
  );
}

function CostTable({ title, rows }: { title: string; rows: readonly CostRow[] }) {
  if (!rows.length) return null;
  return (
    <section>
      <h2>{title}</h2>
      <div class="card scroll-x">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Name</th>
              {["Cost", "Of it in failed attempts", "Calls", "Tokens"].map(heading => (
                <th key={heading} scope="col" class="number">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.name}>
                <td class="mono">{visible(row.name)}</td>
                <td class="number">{spent(row.cost, row.unknown) || "–"}</td>
                <td class="number">{row.failed ? dollars(row.failed) : "–"}</td>
                <td class="number">{grouped(row.calls)}</td>
                <td class="number">{row.tokens ? roughly(row.tokens) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
