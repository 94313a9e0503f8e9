/** The state of a subplan: a sign and a word, never colour alone. */
import { signOf, signs } from "../live/store";

const RUN_SIGNS: Record<string, [string, string, string]> = {
  pending: ["·", "waiting", "dim"],
  running: ["▶", "running", "cyan"],
  waiting: ["!", "waiting for you", "yellow"],
  stopping: ["◼", "stopping", "yellow"],
  stopped: ["◼", "stopped", "yellow"],
  completed: ["✓", "completed", "green"],
  failed: ["✗", "failed", "red"],
  abandoned: ["✗", "abandoned", "dim"],
  blocked: ["✗", "blocked", "dim"],
  cancelled: ["✗", "cancelled", "dim"],
};

const TONES: Record<string, string> = {
  cyan: "running",
  green: "good",
  red: "bad",
  yellow: "warn",
  dim: "soft",
};

/** Returns the class of a colour that the server names. */
export function toneOf(state: string): string {
  const own = signs.value[state as keyof typeof signs.value];
  return TONES[own?.colour ?? RUN_SIGNS[state]?.[2] ?? "dim"] ?? "soft";
}

export function symbolOf(state: string): string {
  return signs.value[state as keyof typeof signs.value]?.symbol ?? RUN_SIGNS[state]?.[0] ?? "·";
}

export function wordOf(state: string): string {
  return signs.value[state as keyof typeof signs.value]?.word ?? RUN_SIGNS[state]?.[1] ?? signOf(state).word;
}

export function State({ state, isShort = false }: { state: string; isShort?: boolean }) {
  return (
    <span class={`state tone-${toneOf(state)}`}>
      <span class="symbol" aria-hidden="true">
        {symbolOf(state)}
      </span>
      <span class={isShort ? "hidden" : ""}>{wordOf(state)}</span>
    </span>
  );
}
