/** Starts the page: from the server, or from the data of a report. */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { get } from "./api/client";
import type { ServerInfo } from "./api/types";
import { startKeys } from "./live/keys";
import { go, route, startNavigation } from "./live/navigation";
import { info } from "./live/operations";
import { currentReport, loadReport } from "./live/report";
import { closeRun, openRun, problem, run } from "./live/store";
import { startTheme } from "./live/theme";
import { type Route, runAddress } from "./logic/routes";
import { ConflictsPage } from "./pages/conflicts";
import { CostPage } from "./pages/cost";
import { EventsPage } from "./pages/events";
import { GraphPage } from "./pages/graph";
import { PlanPage } from "./pages/plan";
import { PoolsPage } from "./pages/pools";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { SubplanPage } from "./pages/subplan";
import { TimelinePage } from "./pages/timeline";
import { Frame } from "./parts/frame";
import { Refused } from "./parts/load";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/run.css";
import "./style/detail.css";
import "./style/pictures.css";

function App() {
  const current = route.value;
  const name = "run" in current ? current.run : "";
  useEffect(() => (name ? openRun(name) : closeRun()), [name]);
  // The pages of a run ask about the run that is open.
  if (run.value !== name) return <Frame>{null}</Frame>;
  return (
    <Frame>{name && problem.value ? <Refused problem={problem.value} /> : <Page current={current} />}</Frame>
  );
}

function Page({ current }: { current: Route }) {
  switch (current.page) {
    case "runs":
      return <RunsPage />;
    case "plan":
      return <PlanPage />;
    case "run":
      return <RunPage />;
    case "subplan":
      return <SubplanPage key={current.path} current={current} />;
    case "timeline":
      return <TimelinePage />;
    case "graph":
      return <GraphPage query={current.query} />;
    case "cost":
      return <CostPage />;
    case "pools":
      return <PoolsPage />;
    case "conflicts":
      return <ConflictsPage />;
    case "events":
      return <EventsPage />;
    default:
      return <Refused problem={{ message: "There is no such page.", hint: current.address, nearest: [] }} />;
  }
}

/** The address `/` leads to the last run, or to the list of runs. */
async function openFirstPage(): Promise<void> {
  const report = currentReport();
  if (report) {
    if (!location.hash) location.hash = report.run ? runAddress(report.run.run.run) : "/plan";
    return;
  }
  const server = await get<ServerInfo>("info").catch(() => null);
  info.value = server;
  if (location.pathname !== "/") return;
  history.replaceState(null, "", "/runs");
  go(server?.last_run ? runAddress(server.last_run) : "/runs");
}

async function start(): Promise<void> {
  startTheme();
  await loadReport();
  startNavigation();
  await openFirstPage();
  startKeys();
  const place = document.getElementById("app");
  if (place) render(<App />, place);
}

void start();
