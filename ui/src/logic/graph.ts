/** States and lines of the graph. */
import type { GraphNode } from "../api/types";

/** States by what a person wants to see first. */
const ORDER = ["conflict", "failed", "asking", "held", "running", "pending", "completed"];

/** Returns the state of a box: that of its slices which matters most; a mixture of waiting and completed is running. */
export function boxState(node: GraphNode, stateOf: (row: number, path: string) => string): string {
  const states = new Set(node.rows.map(row => stateOf(row, node.path)));
  if (!states.size) return node.path ? stateOf(-1, node.path) : "pending";
  if (states.size === 2 && states.has("pending") && states.has("completed")) return "running";
  return ORDER.find(state => states.has(state)) ?? "pending";
}

/** Returns a line through points, as SVG writes it. */
export function pathOf(points: ReadonlyArray<readonly [number, number]>): string {
  return points.map(([x, y], index) => `${index ? "L" : "M"}${x} ${y}`).join("");
}
