/** The addresses of the page. A report from disk has no paths, so there the same address stands behind `#`. */

export const RUN_PAGES = ["timeline", "graph", "cost", "pools", "conflicts", "events"] as const;
export type RunPage = (typeof RUN_PAGES)[number];
export const TABS = ["log", "diff", "attempts", "why", "prompt"] as const;
export type Tab = (typeof TABS)[number];

export type Route =
  | { page: "runs" }
  | { page: "plan" }
  | { page: "run"; run: string }
  | { page: Exclude<RunPage, "graph">; run: string }
  | { page: "graph"; run: string; query: URLSearchParams }
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
  const page = RUN_PAGES.find(name => name === section);
  if (!page || rest.length) return { page: "unknown", address };
  return page === "graph" ? { page, run, query: new URLSearchParams(query) } : { page, run };
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

/** Returns the address of a graph; an empty value is left out. */
export function graphAddress(run: string, query: Record<string, string>): string {
  const chosen = Object.entries(query).filter(([, value]) => value);
  const parameters = new URLSearchParams(chosen).toString();
  return `${runAddress(run, "graph")}${parameters ? `?${parameters}` : ""}`;
}

/** Returns the address of a subplan; the whole plan is the page of its run. */
export function subplanAddress(run: string, path: string, query: Record<string, string> = {}): string {
  if (!path) return runAddress(run);
  const parameters = new URLSearchParams(query).toString();
  const steps = path.split("/").map(encodeURIComponent).join("/");
  return `/r/${encodeURIComponent(run)}/s/${steps}${parameters ? `?${parameters}` : ""}`;
}
