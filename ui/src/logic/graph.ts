/** The states of boxes, from those of the rows that they stand for. */
import type { GraphNode } from "../api/types";
import type { Table } from "./table";

/** States by what a person wants to see first. */
const ORDER = ["conflict", "failed", "asking", "held", "running", "pending", "completed"];

export interface BoxState {
  state: string;
  /** The slices in the box, and how many of them are completed. */
  slices: number;
  completed: number;
}

/** Returns the state of a box: that of its slices which matters most; a mixture of waiting and completed is running. */
export function boxState(node: GraphNode, table: Table): BoxState {
  const [first, last] = node.span;
  if (node.kind !== "folded") return { state: table.state[first] ?? "pending", slices: 1, completed: 0 };
  const states = new Set<string>();
  let slices = 0;
  let completed = 0;
  for (let row = first; row <= last; row++) {
    if (!table.leaf[row]) continue;
    const state = table.state[row] ?? "pending";
    slices += 1;
    if (state === "completed") completed += 1;
    states.add(state);
  }
  const isMixed = states.size === 2 && states.has("pending") && states.has("completed");
  const state = isMixed ? "running" : (ORDER.find(name => states.has(name)) ?? "pending");
  return { state, slices, completed };
}

/** Returns the query of the graph that shows what is in a folded box. */
export function insideOf(node: GraphNode, table: Table, group: string): Record<string, string> {
  const [first, last] = node.span;
  if (table.path[first] === node.path) return { of: node.path };
  return { of: group, first: String(first), last: String(last) };
}
