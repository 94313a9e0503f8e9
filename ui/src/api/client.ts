/** Requests to the server, or to the data of a report. */
import { reportAnswer } from "../live/report";
import type { ActionKind, CommandResult, Problem } from "./types";

/** A request that was refused, or that found no server. */
export class RequestError extends Error {
  constructor(
    readonly problem: Problem,
    /** 0 if there was no answer. */
    readonly status: number,
  ) {
    super(problem.message);
  }
}

export type Query = Record<string, string | number | boolean | undefined>;

export function apiAddress(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== false) parameters.set(name, value === true ? "1" : String(value));
  }
  const text = parameters.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

export function runPath(run: string, rest: string): string {
  return `runs/${encodeURIComponent(run)}/${rest}`;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const stored = reportAnswer(path, query);
  if (stored !== undefined) return stored as T;
  return request<T>(apiAddress(path, query), signal ? { signal } : {});
}

/** Does what the command of the same name does. */
export function post(run: string, action: ActionKind, body: object): Promise<CommandResult> {
  return request<CommandResult>(apiAddress(runPath(run, action)), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function request<T>(address: string, options: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError(
      { message: "The server does not answer.", hint: "Is `weft ui` still running?", nearest: [] },
      0,
    );
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer.data as T;
  const problem: Problem = answer?.error ?? {
    message: `The server answered ${response.status}.`,
    hint: "",
    nearest: [],
  };
  throw new RequestError(problem, response.status);
}
