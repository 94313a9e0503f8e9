/** The addresses of the page. A report from disk has no paths, so there the same address stands behind `#`. */

export const RUN_PAGES = ["timeline", "graph", "cost", "pools", "conflicts", "events"] as const;
export type RunPage = (typeof RUN_PAGES)[number];
/** The pages that exist. The graph is not among them, as the server does not answer `graph` yet. */
export const OFFERED_PAGES: readonly RunPage[] = ["timeline", "cost", "pools", "conflicts", "events"];
export const TABS = ["log", "diff", "attempts", "why", "prompt"] as const;
export type Tab = (typeof TABS)[number];

export type Route =
  | { page: "runs" }
  | { page: "plan" }
  | { page: "run"; run: string }
  | { page: RunPage; run: string }
  | { page: "subplan"; run: string; path: string; tab: Tab | null; query: URLSearchParams }
  | { page: "unknown"; address: string };

/** Returns what an address shows; `address` is a path with its query. */
export function parseRoute(address: string): Route {
  const [path = "", query = ""] = splitQuery(address);
  const [first = "", run = "", section = "", ...rest] = path.split("/").slice(1).map(decode);
  if (first === "runs" && !run) return { page: "runs" };
  if (first === "plan" && !run) return { page: "plan" };
  if (first !== "r" || !run) return first === "" ? { page: "runs" } : { page: "unknown", address };
  if (!section) return { page: "run", run };
  if (section === "s" && rest.length) return subplanRoute(run, rest.join("/"), new URLSearchParams(query));
  const page = OFFERED_PAGES.find(name => name === section);
  return page && !rest.length ? { page, run } : { page: "unknown", address };
}

function subplanRoute(run: string, path: string, query: URLSearchParams): Route {
  const tab = TABS.find(name => name === query.get("tab")) ?? null;
  return { page: "subplan", run, path, tab, query };
}

function splitQuery(address: string): [string, string] {
  const at = address.indexOf("?");
  return at < 0 ? [address, ""] : [address.slice(0, at), address.slice(at + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function runAddress(run: string, page?: RunPage): string {
  return `/r/${encodeURIComponent(run)}${page ? `/${page}` : ""}`;
}

/** Returns the address of a subplan; the whole plan is the page of its run. */
export function subplanAddress(run: string, path: string, query: Record<string, string> = {}): string {
  if (!path) return runAddress(run);
  const parameters = new URLSearchParams(query).toString();
  const steps = path.split("/").map(encodeURIComponent).join("/");
  return `/r/${encodeURIComponent(run)}/s/${steps}${parameters ? `?${parameters}` : ""}`;
}
