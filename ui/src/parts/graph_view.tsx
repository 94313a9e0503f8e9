/** A graph with places that the server has chosen, drawn as SVG. */
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import { boxState, pathOf } from "../logic/graph";
import { visible } from "../logic/words";
import { symbolOf, toneOf, wordOf } from "./state";

interface Properties {
  graph: Graph;
  /** Returns the state of a row. */
  stateOf: (row: number, path: string) => string;
  onOpen: ((node: GraphNode) => void) | null;
}

export function GraphView({ graph, stateOf, onOpen }: Properties) {
  return (
    <div class="graph card" tabIndex={0} role="region" aria-label="Graph">
      <svg
        viewBox={`0 0 ${graph.width} ${graph.height}`}
        width={graph.width}
        height={graph.height}
        role="group"
        aria-label="What depends on what"
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
        {groupsFirst(graph.nodes).map(node => (
          <Box key={node.id} node={node} state={boxState(node, stateOf)} onOpen={onOpen} />
        ))}
        {graph.edges.map(edge => (
          <Arrow key={`${edge.source} ${edge.target}`} edge={edge} />
        ))}
      </svg>
    </div>
  );
}

/** Returns the boxes with large ones first, so that a group does not cover what is in it. */
function groupsFirst(nodes: readonly GraphNode[]): GraphNode[] {
  return [...nodes].sort((a, b) => b.width * b.height - a.width * a.height);
}

export function Arrow({ edge }: { edge: GraphEdge }) {
  return <path class="edge" d={pathOf(edge.points)} marker-end="url(#arrow)" />;
}

function Box({
  node,
  state,
  onOpen,
}: {
  node: GraphNode;
  state: string;
  onOpen: ((node: GraphNode) => void) | null;
}) {
  const label = visible(node.label);
  const isFrame = node.is_group && node.rows.length === 0;
  const content = (
    <>
      <rect
        x={node.x}
        y={node.y}
        width={node.width}
        height={node.height}
        rx="8"
        class={`box ${node.is_group ? "is-group" : ""} tone-${isFrame ? "soft" : toneOf(state)}`}
      />
      <text x={node.x + 10} y={node.is_group && isFrame ? node.y + 16 : node.y + node.height / 2 + 4}>
        {!isFrame && (
          <tspan class={`symbol tone-${toneOf(state)}`} aria-hidden="true">
            {symbolOf(state)}{" "}
          </tspan>
        )}
        {label}
      </text>
    </>
  );
  if (!onOpen) {
    return (
      <g role="img" aria-label={`${label}, ${wordOf(state)}`}>
        {content}
      </g>
    );
  }
  return (
    <g
      role="button"
      tabIndex={0}
      class="node"
      aria-label={`${label}, ${wordOf(state)}`}
      onClick={() => onOpen(node)}
      onKeyDown={event => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          onOpen(node);
        }
      }}
    >
      {content}
    </g>
  );
}
