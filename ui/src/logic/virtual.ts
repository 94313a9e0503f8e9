/** Which of many rows of one height are in the document: those in view and a few around them. */

export interface Slice {
  /** The first row, and the row after the last. */
  first: number;
  last: number;
}

export const MOST_ROWS = 80;
const AROUND = 8;

export function visibleSlice(total: number, rowHeight: number, scrolled: number, viewHeight: number): Slice {
  const inView = Math.min(MOST_ROWS - 2 * AROUND, Math.ceil(viewHeight / rowHeight) + 1);
  const top = Math.min(Math.max(0, Math.floor(scrolled / rowHeight)), Math.max(0, total - inView));
  return { first: Math.max(0, top - AROUND), last: Math.min(total, top + inView + AROUND) };
}

/** Returns where to scroll so that a row is in view; the same place if it is. */
export function scrollTo(index: number, rowHeight: number, scrolled: number, viewHeight: number): number {
  const top = index * rowHeight;
  if (top < scrolled) return top;
  if (top + rowHeight > scrolled + viewHeight) return top + rowHeight - viewHeight;
  return scrolled;
}
