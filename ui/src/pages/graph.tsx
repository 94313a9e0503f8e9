/** The graph of a run, folded where it is large; the net with its tokens is the second mode. */
import { useState } from "preact/hooks";
import { runPath } from "../api/client";
import type { Graph, NetGraph } from "../api/types";
import { go } from "../live/navigation";
import { currentReport } from "../live/report";
import { run, table, version } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { visible } from "../logic/words";
import { Arrow, GraphView } from "../parts/graph_view";
import { Load, useAnswer } from "../parts/load";
import { Choice } from "./diff";

type Mode = "plan" | "net";

export function GraphPage() {
  const [mode, setMode] = useState<Mode>("plan");
  const [of, setOf] = useState("");
  return (
    <div class="page wide">
      <div class="tools">
        <h1>Graph</h1>
        {of && mode === "plan" && (
          <span>
            of <code>{visible(of)}</code>{" "}
            <button type="button" class="link" onClick={() => setOf("")}>
              Whole plan
            </button>
          </span>
        )}
        <span class="spring" />
        {!currentReport() && (
          <Choice
            label="Mode"
            value={mode}
            choices={[
              ["plan", "Plan"],
              ["net", "Net"],
            ]}
            onChoose={setMode}
          />
        )}
      </div>
      {mode === "plan" ? <PlanGraph of={of} onGroup={setOf} /> : <Net />}
    </div>
  );
}

function PlanGraph({ of, onGroup }: { of: string; onGroup: (path: string) => void }) {
  const answer = useAnswer<Graph>(runPath(run.value, "graph"), { of: of || undefined });
  const stateOf = (row: number, path: string): string => {
    const shown = table.value;
    const number = row >= 0 ? row : (shown?.rowOf.get(path) ?? -1);
    return (version.value >= 0 && shown?.state[number]) || "pending";
  };
  if (currentReport() && !answer.data)
    return <p class="soft none card">The plan is too large to be drawn in a report.</p>;
  return (
    <Load of={answer}>
      {graph => (
        <GraphView
          graph={graph}
          stateOf={stateOf}
          onOpen={node => {
            if (node.is_group && node.path && node.path !== of) onGroup(node.path);
            else if (node.path) go(subplanAddress(run.value, node.path));
          }}
        />
      )}
    </Load>
  );
}

function Net() {
  const slices = (table.value?.path ?? []).filter((_, row) => table.value?.leaf[row]);
  const [of, setOf] = useState(slices.find((_, index) => index === 0) ?? "");
  const answer = useAnswer<NetGraph>(runPath(run.value, "net"), { of }, 1);
  return (
    <>
      <label class="below">
        The net of{" "}
        <input
          class="field mono"
          list="slices"
          value={of}
          onChange={event => setOf(event.currentTarget.value)}
        />
        <datalist id="slices">
          {slices.slice(0, 500).map(path => (
            <option key={path} value={path} />
          ))}
        </datalist>
      </label>
      <Load of={answer}>{net => <NetView net={net} />}</Load>
    </>
  );
}

function NetView({ net }: { net: NetGraph }) {
  return (
    <div class="graph card" tabIndex={0} role="region" aria-label="Net">
      <svg
        viewBox={`0 0 ${net.width} ${net.height}`}
        width={net.width}
        height={net.height}
        role="group"
        aria-label="Places, transitions and tokens"
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" class="arrow" />
          </marker>
        </defs>
        {net.edges.map(edge => (
          <Arrow key={`${edge.source} ${edge.target}`} edge={edge} />
        ))}
        {net.places.map(place => (
          <g key={place.id} role="img" aria-label={`${visible(place.id)}, ${place.tokens} tokens`}>
            <circle
              cx={place.x}
              cy={place.y}
              r="14"
              class={`place ${place.is_pool ? "is-pool" : ""} ${place.tokens ? "has-tokens" : ""}`}
            />
            <text x={place.x} y={place.y + 4} text-anchor="middle">
              {place.tokens || ""}
            </text>
            <title>{visible(place.id)}</title>
          </g>
        ))}
        {net.transitions.map(transition => (
          <g
            key={transition.id}
            role="img"
            aria-label={`${visible(transition.label)}${transition.firing ? ", under way" : ""}`}
          >
            <rect
              x={transition.x - 46}
              y={transition.y - 12}
              width="92"
              height="24"
              rx="3"
              class={`transition ${transition.firing ? "is-firing" : ""}`}
            />
            <text x={transition.x} y={transition.y + 4} text-anchor="middle" class="small">
              {visible(transition.label).slice(0, 14)}
            </text>
            <title>{visible(transition.label)}</title>
          </g>
        ))}
      </svg>
    </div>
  );
}
