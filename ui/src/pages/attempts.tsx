/** Every try at the steps of a slice. */
import type { Attempt, SubplanDetail } from "../api/types";
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { currentReport } from "../live/report";
import { run } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { dollars, exactTime, roughly, span, visible } from "../logic/words";
import { Lines } from "../parts/needs";

export function AttemptsTab({ detail }: { detail: SubplanDetail }) {
  if (!detail.attempts.length) return <p class="soft none card">Nothing has run yet.</p>;
  return (
    <ol class="attempts">
      {detail.attempts.toReversed().map(attempt => (
        <li key={`${attempt.firing} ${attempt.execution}`}>
          <AttemptCard attempt={attempt} path={detail.path} />
        </li>
      ))}
    </ol>
  );
}

const GOOD = new Set(["done", "skipped"]);

function AttemptCard({ attempt, path }: { attempt: Attempt; path: string }) {
  const isRunning = attempt.ended_at === null;
  const tone = isRunning ? "running" : GOOD.has(attempt.outcome) ? "good" : "bad";
  return (
    <article class="card attempt">
      <header>
        <h3>
          <span class={`symbol tone-${tone}`} aria-hidden="true">
            {isRunning ? "▶" : tone === "good" ? "✓" : "✗"}
          </span>{" "}
          {visible(attempt.step.replace(/^@/, ""))}
          {attempt.attempt > 1 && <span class="soft"> attempt {attempt.attempt}</span>}
          {attempt.execution > 1 && <span class="soft"> continued</span>}
        </h3>
        <span class={`tone-${tone}`}>{attempt.outcome}</span>
        <span class="spring" />
        <span class="soft">
          {exactTime(attempt.started_at)},{" "}
          {span(Math.max(0, (attempt.ended_at ?? now.value) - attempt.started_at))}
        </span>
      </header>
      <dl class="facts small">
        <Fact name="Agent" value={[attempt.agent, attempt.model].filter(Boolean).join(" · ")} />
        <Fact name="Command" value={attempt.command} isMono />
        <Fact name="Exit code" value={attempt.exit_code ? String(attempt.exit_code) : ""} />
        <Fact name="Cost" value={costText(attempt)} />
        <Fact name="Session" value={attempt.session} isMono />
      </dl>
      {attempt.message && <p class="reason">{visible(attempt.message)}</p>}
      {attempt.feedback && (
        <details>
          <summary>Feedback from the attempt before</summary>
          <pre class="lines">{visible(attempt.feedback)}</pre>
        </details>
      )}
      {attempt.tail.length > 0 && <Lines lines={attempt.tail} />}
      {attempt.has_output && !currentReport() && (
        <a
          href={href(
            subplanAddress(run.value, path, {
              tab: "log",
              step: attempt.step,
              attempt: String(attempt.attempt),
            }),
          )}
        >
          Log
        </a>
      )}
    </article>
  );
}

function costText(attempt: Attempt): string {
  if (!attempt.agent) return "";
  if (attempt.cost === null) return attempt.ended_at === null ? "" : "unknown";
  const tokens = attempt.tokens ? `, ${roughly(attempt.tokens)} tokens` : "";
  return `${dollars(attempt.cost)}${tokens}`;
}

function Fact({ name, value, isMono = false }: { name: string; value: string; isMono?: boolean }) {
  if (!value) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isMono ? "mono" : ""}>{visible(value)}</dd>
    </div>
  );
}
