/** What a report says on top: forecast against actual, and how much each subplan has changed. */
import type { DiffStat, RunRow } from "../api/types";
import { href } from "../live/navigation";
import { currentReport } from "../live/report";
import { run, strip } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { count, dollars, grouped, span, timeOfDay, visible } from "../logic/words";

export function ReportSummary() {
  const report = currentReport();
  if (!report?.run) return null;
  const landed = report.run.diffs.filter(stat => stat.commit);
  const waiting = report.run.diffs.filter(stat => !stat.commit);
  return (
    <>
      <p class="soft">
        A report of {timeOfDay(report.made_at, 0)} by Weft {report.version}. {forecastText(report.run.run)}
      </p>
      <Diffs title={`Landed: ${count(landed.length, "subplan")}`} stats={landed} />
      <Diffs title={`Not landed: ${count(waiting.length, "subplan")} with work`} stats={waiting} />
    </>
  );
}

function forecastText(row: RunRow): string {
  if (!row.forecast) return "";
  const [early, late] = row.forecast.seconds;
  const cost = row.forecast.cost[1]
    ? ` and cost ${dollars(row.forecast.cost[0])}–${dollars(row.forecast.cost[1])}; it cost ${dollars(row.cost)}`
    : "";
  const taken =
    row.seconds === null
      ? `has run for ${span(strip.value?.seconds ?? 0)} so far`
      : `took ${span(row.seconds)}`;
  return `The run was expected to take ${span(early)}–${span(late)}${cost}, and ${taken}.`;
}

/** Longer tables are folded at first. */
const MOST_OPEN_ROWS = 8;

function Diffs({ title, stats }: { title: string; stats: readonly DiffStat[] }) {
  if (!stats.length) return null;
  return (
    <details class="diff-stats" open={stats.length <= MOST_OPEN_ROWS}>
      <summary>{title}</summary>
      <div class="card scroll-x">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Subplan</th>
              <th scope="col" class="number">
                Files
              </th>
              <th scope="col" class="number">
                Lines
              </th>
              <th scope="col">Commit</th>
            </tr>
          </thead>
          <tbody>
            {stats.map(stat => (
              <tr key={stat.path}>
                <td>
                  <a class="mono" href={href(subplanAddress(run.value, stat.path))}>
                    {visible(stat.path)}
                  </a>
                </td>
                <td class="number">{grouped(stat.files)}</td>
                <td class="number">
                  <span class="good">+{grouped(stat.added)}</span>{" "}
                  <span class="bad">−{grouped(stat.removed)}</span>
                </td>
                <td class="mono">{stat.commit.slice(0, 7)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
