/** An event of the journal as a line of a table. */

export interface EventText {
  seq: number;
  at: number;
  kind: string;
  subplan: string;
  data: string;
}

const SHOWN_APART = new Set(["seq", "ts", "run", "event", "subplan"]);
const MOST = 400;

export function eventText(event: Readonly<Partial<Record<string, unknown>>>): EventText {
  const rest = Object.entries(event).filter(([name, value]) => !SHOWN_APART.has(name) && !isNothing(value));
  const data = rest
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");
  return {
    seq: Number(event["seq"] ?? 0),
    at: Date.parse(String(event["ts"] ?? "")) / 1000 || 0,
    kind: String(event["event"] ?? ""),
    subplan: String(event["subplan"] ?? ""),
    data: data.length > MOST ? `${data.slice(0, MOST)} …` : data,
  };
}

function isNothing(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
