/** The plan before its start: what `weft check` says, the graph, and a simulation. */
import { useState } from "preact/hooks";
import type { Query } from "../api/client";
import type { Forecast, Graph, GraphNode, PlanAnswer } from "../api/types";
import { currentReport } from "../live/report";
import { dollars, grouped, percent, span, visible } from "../logic/words";
import { Command } from "../parts/actions";
import { GraphView } from "../parts/graph_view";
import { Load, useAnswer } from "../parts/load";

export function PlanPage() {
  const [isSimulated, setSimulated] = useState(false);
  const answer = useAnswer<PlanAnswer>("plan");
  const simulated = useAnswer<PlanAnswer>("plan", isSimulated ? { simulate: true } : {});
  const forecast = simulated.data?.forecast ?? answer.data?.forecast ?? null;
  return (
    <div class="page">
      <Load of={answer}>
        {plan => (
          <>
            <div class="strip-head">
              <h1>Plan</h1>
              {plan.plan && <strong>{visible(plan.plan)}</strong>}
              <code class="soft">{visible(plan.file)}</code>
              <span class="spring" />
              {!currentReport() && plan.problems.length === 0 && <Command text={plan.start_command} />}
            </div>
            {plan.problems.length > 0 && (
              <div class="card need tone-bad">
                <h3>This plan cannot run</h3>
                {plan.problems.map(problem => (
                  <pre key={problem} class="lines">
                    {visible(problem)}
                  </pre>
                ))}
              </div>
            )}
            {plan.sections.length > 0 && <Sections plan={plan} />}
            {forecast ? (
              <ForecastView forecast={forecast} />
            ) : (
              !currentReport() &&
              !plan.problems.length && (
                <p>
                  <button
                    type="button"
                    class="button"
                    disabled={isSimulated}
                    onClick={() => setSimulated(true)}
                  >
                    {isSimulated ? "Simulating …" : "Simulate"}
                  </button>
                </p>
              )
            )}
            {plan.problems.length === 0 && <PlanGraph />}
          </>
        )}
      </Load>
    </div>
  );
}

function PlanGraph() {
  const [query, setQuery] = useState<Query>({});
  const answer = useAnswer<Graph>("plan/graph", query);
  if (currentReport() && !answer.data) return null;
  const open = (node: GraphNode): void => {
    if (node.kind === "frame") setQuery({ path: node.path });
    else if (node.kind === "folded")
      setQuery({ path: answer.data?.of, first: node.span[0], last: node.span[1] });
  };
  return (
    <section>
      <h2>
        Graph{" "}
        {Object.keys(query).length > 0 && (
          <button type="button" class="link" onClick={() => setQuery({})}>
            Whole plan
          </button>
        )}
      </h2>
      <Load of={answer}>
        {graph => <GraphView graph={graph} stateOf={null} onOpen={currentReport() ? null : open} />}
      </Load>
    </section>
  );
}

function Sections({ plan }: { plan: PlanAnswer }) {
  return (
    <dl class="sections card padded">
      {plan.sections.map(section => (
        <div key={section.title}>
          <dt>{section.title}</dt>
          <dd>
            {section.lines.map((line, index) => (
              <p key={index}>{visible(line)}</p>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function ForecastView({ forecast }: { forecast: Forecast }) {
  const [early, middle, late] = forecast.seconds;
  const hasCost = forecast.cost[1] > 0;
  return (
    <section>
      <h2>Forecast</h2>
      <dl class="facts">
        <Fact name="Time" value={`${span(middle)} (P50), ${span(late)} (P90)`} />
        <Fact name="At best" value={`${span(early)} (P10)`} />
        {hasCost && (
          <Fact
            name="Cost"
            value={`${dollars(forecast.cost[0])} (P50), ${dollars(forecast.cost[1])} (P90)`}
          />
        )}
        {forecast.ceiling !== null && (
          <Fact name="Stopped by the ceiling" value={`in ${percent(forecast.ceiling_share)} of runs`} />
        )}
        <Fact name="Completes everything" value={`in ${percent(forecast.completed_share)} of runs`} />
        {forecast.enough !== null && <Fact name="Worth it up to" value={`max_parallel ${forecast.enough}`} />}
      </dl>
      <div class="columns">
        {forecast.widths.length > 0 && (
          <Rows
            title="With another max_parallel"
            rows={forecast.widths.map(width => [String(width.width), span(width.seconds)])}
          />
        )}
        {forecast.limits.length > 0 && (
          <Rows
            title="What limits it"
            rows={forecast.limits.map(limit => [
              `${limit.name} (${limit.size})`,
              `${percent(limit.used)} busy${limit.saving ? `; one more saves ${span(limit.saving)}` : ""}`,
            ])}
          />
        )}
        {forecast.chains.length > 0 && (
          <Rows
            title="Chains that end last"
            rows={forecast.chains.map(([chain, share]) => [chain, `${percent(share)} of runs`])}
          />
        )}
      </div>
      <p class="soft">
        {visible(forecast.basis)} {grouped(forecast.replications)} simulated runs.
      </p>
    </section>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Rows({ title, rows }: { title: string; rows: ReadonlyArray<readonly [string, string]> }) {
  return (
    <div>
      <h3>{title}</h3>
      <table class="plain card">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <td class="mono">{visible(name)}</td>
              <td>{visible(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
