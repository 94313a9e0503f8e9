/** A graph with places that the server has chosen, drawn as SVG. */
import type { ComponentChildren } from "preact";
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import type { BoxState } from "../logic/graph";
import { grouped, visible } from "../logic/words";
import { symbolOf, toneOf, wordOf } from "./state";

interface Properties {
  graph: Graph;
  /** Returns the state of a box; null before the run. */
  stateOf: ((node: GraphNode) => BoxState) | null;
  onOpen: ((node: GraphNode) => void) | null;
}

export function GraphView({ graph, stateOf, onOpen }: Properties) {
  return (
    <Drawing label="What depends on what" width={graph.width} height={graph.height}>
      {groupsFirst(graph.nodes).map(node => (
        <Box key={node.id} node={node} state={stateOf?.(node) ?? null} onOpen={onOpen} />
      ))}
      {graph.edges.map(edge => (
        <Arrow key={`${edge.source} ${edge.target}`} edge={edge} />
      ))}
    </Drawing>
  );
}

interface DrawingProperties {
  label: string;
  width: number;
  height: number;
  children: ComponentChildren;
}

/** A picture with arrow heads, which scrolls if it is larger than its place. */
export function Drawing({ label, width, height, children }: DrawingProperties) {
  return (
    <div class="graph card" tabIndex={0} role="region" aria-label={label}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label={label}>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path d="M0 0L8 4L0 8z" class="arrow" />
          </marker>
        </defs>
        {children}
      </svg>
    </div>
  );
}

/** Returns the boxes with large ones first, so that a frame does not cover what is in it. */
function groupsFirst(nodes: readonly GraphNode[]): GraphNode[] {
  return [...nodes].sort((a, b) => b.width * b.height - a.width * a.height);
}

export function Arrow({ edge }: { edge: GraphEdge }) {
  return (
    <path
      class={`edge ${edge.is_order ? "is-order" : ""}`}
      d={edge.line}
      marker-start={edge.is_claim ? "url(#arrow)" : undefined}
      marker-end="url(#arrow)"
    />
  );
}

interface BoxProperties {
  node: GraphNode;
  state: BoxState | null;
  onOpen: ((node: GraphNode) => void) | null;
}

function Box({ node, state, onOpen }: BoxProperties) {
  const tone = toneOf(state?.state ?? "pending");
  const progress =
    state && node.kind === "folded"
      ? `${grouped(state.completed)} of ${grouped(state.slices)} completed`
      : "";
  const note = progress || node.note;
  const name = [node.path, state && wordOf(state.state), progress].filter(Boolean).join(", ");
  const content = (
    <>
      <title>{visible(name)}</title>
      {node.kind === "folded" && (
        <rect
          x={node.x + 4}
          y={node.y + 4}
          width={node.width}
          height={node.height}
          rx="6"
          class="box behind"
        />
      )}
      <rect
        x={node.x}
        y={node.y}
        width={node.width}
        height={node.height}
        rx="6"
        class={`box is-${node.kind} tone-${tone}`}
      />
      {state && state.slices > 1 && state.completed > 0 && <Progress node={node} state={state} />}
      <Label node={node} state={state} note={note} />
    </>
  );
  if (!onOpen) {
    return (
      <g role="img" aria-label={visible(name)}>
        {content}
      </g>
    );
  }
  return (
    <g
      role="button"
      // In SVG the names of attributes are taken as they are written.
      tabindex={0}
      class="node"
      aria-label={visible(name)}
      onClick={() => onOpen(node)}
      onKeyDown={event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onOpen(node);
      }}
    >
      {content}
    </g>
  );
}

function Label({ node, state, note }: { node: GraphNode; state: BoxState | null; note: string }) {
  const isFrame = node.kind === "frame";
  const x = node.x + 11;
  const y = isFrame ? node.y + 17 : note ? node.y + node.height / 2 - 3 : node.y + node.height / 2 + 4.5;
  return (
    <>
      <text x={x} y={y} class={isFrame ? "heading" : ""}>
        {state && (
          <tspan class={`symbol tone-${toneOf(state.state)}`} aria-hidden="true">
            {symbolOf(state.state)}{" "}
          </tspan>
        )}
        {visible(node.label)}
      </text>
      {note && !isFrame && (
        <text x={x} y={y + 15.5} class="small">
          {visible(note)}
        </text>
      )}
    </>
  );
}

function Progress({ node, state }: { node: GraphNode; state: BoxState }) {
  const width = (node.width - 16) * (state.completed / state.slices);
  return <rect x={node.x + 8} y={node.y + node.height - 5} width={width} height="2" class="progress" />;
}
