/** What a person does to a run: requests that do the same as commands, and the answer as a message. */
import { signal } from "@preact/signals";
import { post, RequestError } from "../api/client";
import type { Action, CommandResult, ServerInfo } from "../api/types";
import { currentReport } from "./report";
import { askAgain, run } from "./store";

export const info = signal<ServerInfo | null>(null);

export interface Message {
  text: string;
  isBad: boolean;
}

export const message = signal<Message | null>(null);
/** The action that is being done. */
export const underWay = signal<Action | null>(null);
/** The action that asks for a text or a confirmation first. */
export const asked = signal<Action | null>(null);

export function canAct(): boolean {
  return !currentReport() && !info.value?.read_only;
}

export function takesText(action: Action): boolean {
  return action.takes_text;
}

/** Does an action, after a question if it needs one. */
export function begin(action: Action): void {
  if (action.is_confirmed || takesText(action)) asked.value = action;
  else void perform(action, "");
}

/** Does an action; returns the result of its command, or null if that failed. */
export async function perform(action: Action, text: string): Promise<CommandResult | null> {
  if (!action.post || underWay.value) return null;
  asked.value = null;
  underWay.value = action;
  try {
    const result = await post(run.value, action.post, text ? { ...action.body, text } : action.body);
    const isBad = result.exit_code !== null && result.exit_code !== 0;
    message.value = { text: result.messages.join("\n") || `Done: ${result.command}`, isBad };
    return isBad ? null : result;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    message.value = {
      text: [error.problem.message, error.problem.hint].filter(Boolean).join("\n"),
      isBad: true,
    };
    return null;
  } finally {
    underWay.value = null;
    void askAgain();
  }
}

/** Returns an action on the whole run or a subplan that the server did not list. */
export function plainAction(kind: "pause" | "resume" | "retry", names: string[], text = ""): Action {
  const label = { pause: "Pause", resume: "Resume", retry: "Retry" }[kind];
  const words = ["weft", kind, ...names];
  return {
    label,
    command: words.join(" "),
    post: kind,
    body: text ? { names, text } : { names },
    is_confirmed: false,
    takes_text: false,
  };
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    message.value = { text: `Copied: ${text}`, isBad: false };
  } catch {
    message.value = { text: "This browser does not let the page copy.", isBad: true };
  }
}
