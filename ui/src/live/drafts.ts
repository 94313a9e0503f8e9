/** Comments that have not been sent back yet. The browser stores them, so that a reload loses none. */
import type { Comment } from "../logic/comments";

function keyOf(run: string, path: string): string {
  return `weft-comments ${run} ${path}`;
}

export function storedComments(run: string, path: string): Comment[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(run, path)) ?? "[]");
    return Array.isArray(stored) ? (stored as Comment[]) : [];
  } catch {
    return [];
  }
}

export function storeComments(run: string, path: string, comments: readonly Comment[]): void {
  try {
    if (comments.length) localStorage.setItem(keyOf(run, path), JSON.stringify(comments));
    else localStorage.removeItem(keyOf(run, path));
  } catch {
    // Without storage the comments last as long as the page.
  }
}
