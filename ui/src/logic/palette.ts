/** Which entries of the command palette match what was typed, best first. */

export interface Entry {
  label: string;
  /** What kind of thing it is: `page`, `slice`, `action`. */
  kind: string;
  run: () => void;
}

/** Returns how well a label matches: 0 for not at all; a whole word is better than letters in order. */
export function matchScore(label: string, typed: string): number {
  const text = label.toLowerCase();
  const wanted = typed.toLowerCase();
  if (!wanted) return 1;
  const at = text.indexOf(wanted);
  if (at >= 0) return 1000 - at - text.length / 1000 + (at === 0 || /\W/.test(text[at - 1] ?? "") ? 100 : 0);
  return hasLettersInOrder(text, wanted) ? 100 - text.length / 1000 : 0;
}

function hasLettersInOrder(text: string, wanted: string): boolean {
  let at = 0;
  for (const letter of wanted) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

export function bestEntries(entries: Iterable<Entry>, typed: string, most = 12): Entry[] {
  const scored: Array<[number, Entry]> = [];
  for (const entry of entries) {
    const score = matchScore(entry.label, typed);
    if (score > 0) scored.push([score, entry]);
  }
  return scored
    .sort((a, b) => b[0] - a[0])
    .slice(0, most)
    .map(([, entry]) => entry);
}
