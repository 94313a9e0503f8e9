/**
 * The data of a report. `weft report` writes the page, its script and its data into one file, which opens from disk: nothing is requested
 * then, and requests are answered from the data.
 */
import type { Query } from "../api/client";
import type { ReportFile, RunReport } from "../api/types";

let report: ReportFile | null = null;

export function currentReport(): ReportFile | null {
  return report;
}

/** Reads the data from the file; returns whether this page is a report. */
export async function loadReport(): Promise<boolean> {
  const element = document.getElementById("weft-report");
  if (!element?.textContent) return false;
  const isPacked = element.getAttribute("type") === "application/gzip";
  const text = isPacked ? await unpacked(element.textContent.trim()) : element.textContent;
  report = JSON.parse(text) as ReportFile;
  return true;
}

async function unpacked(base64: string): Promise<string> {
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Returns the answer to a request; undefined if there is no report, null if the report has no such data. */
export function reportAnswer(path: string, query: Query): unknown {
  if (!report) return undefined;
  if (path === "plan") return report.plan;
  if (path === "plan/graph") return report.plan?.graph ?? null;
  const last = path.split("/").at(-1) ?? "";
  return report.run ? runAnswer(report.run, last, query) : null;
}

function runAnswer(run: RunReport, name: string, query: Query): unknown {
  const answers: Record<string, unknown> = {
    snapshot: run.snapshot,
    timeline: run.timeline,
    cost: run.costs,
    pools: run.pools,
    conflicts: run.conflicts,
    graph: query["path"] ? null : run.graph,
    subplan: run.details[String(query["path"])] ?? null,
  };
  return answers[name] ?? null;
}
