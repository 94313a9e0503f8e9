/** The graph of a run, folded where it is large; the net of a subplan with its tokens is the second mode. */
import { runPath } from "../api/client";
import type { Graph, GraphNode } from "../api/types";
import { go, href } from "../live/navigation";
import { currentReport } from "../live/report";
import { run, table, version } from "../live/store";
import { boxState, insideOf } from "../logic/graph";
import { graphAddress, subplanAddress } from "../logic/routes";
import { visible } from "../logic/words";
import { GraphView } from "../parts/graph_view";
import { Load, useAnswer } from "../parts/load";
import { Choice } from "./diff";
import { Net } from "./net";

export function GraphPage({ query }: { query: URLSearchParams }) {
  const of = query.get("of") ?? "";
  const isNet = query.get("mode") === "net";
  const isPart = query.has("first");
  return (
    <div class="page wide">
      <div class="tools">
        <h1>Graph</h1>
        {(of || isPart) && !isNet && <Trail of={of} isPart={isPart} />}
        <span class="spring" />
        {!currentReport() && (
          <Choice
            label="Mode"
            value={isNet ? "net" : "plan"}
            choices={[
              ["plan", "Plan"],
              ["net", "Net"],
            ]}
            onChoose={mode => go(graphAddress(run.value, { mode: mode === "net" ? mode : "" }))}
          />
        )}
      </div>
      {isNet ? <Net of={of} /> : <PlanGraph query={query} />}
    </div>
  );
}

/** The groups around what is drawn. */
function Trail({ of, isPart }: { of: string; isPart: boolean }) {
  const parts = of ? of.split("/") : [];
  return (
    <nav class="crumbs" aria-label="What is drawn">
      <a href={href(graphAddress(run.value, {}))}>Whole plan</a>
      {parts.map((part, index) => (
        <span key={part}>
          <span class="soft">/</span>{" "}
          <a class="mono" href={href(graphAddress(run.value, { of: parts.slice(0, index + 1).join("/") }))}>
            {visible(part)}
          </a>
        </span>
      ))}
      {isPart && <span class="soft">some of its parts</span>}
    </nav>
  );
}

function PlanGraph({ query }: { query: URLSearchParams }) {
  const of = query.get("of") ?? "";
  const answer = useAnswer<Graph>(runPath(run.value, "graph"), {
    path: of || undefined,
    first: query.get("first") ?? undefined,
    last: query.get("last") ?? undefined,
  });
  const shown = version.value >= 0 ? table.value : null;
  const open = (node: GraphNode): void => {
    if (!shown) return;
    const isGroup = node.kind === "frame" && node.path !== of;
    if (isGroup || (node.kind === "folded" && !currentReport())) {
      go(graphAddress(run.value, isGroup ? { of: node.path } : insideOf(node, shown, of)));
    } else if (node.kind === "slice") go(subplanAddress(run.value, node.path));
  };
  if (currentReport() && !answer.data)
    return <p class="soft none card">A report has the graph of the whole plan only.</p>;
  return (
    <Load of={answer}>
      {graph => (
        <>
          <GraphView graph={graph} stateOf={shown && (node => boxState(node, shown))} onOpen={open} />
          <p class="soft">
            {graph.is_folded
              ? "Many slices share a box; a click shows what is in it. "
              : "A click opens a slice. "}
            An arrow leads from a subplan to those that wait for it.
            {graph.edges.some(edge => edge.is_order) &&
              " A dashed arrow is for the sake of order only: both declare the same files."}
          </p>
        </>
      )}
    </Load>
  );
}
