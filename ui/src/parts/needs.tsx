/** The cards of what needs a person. */
import type { Need } from "../api/types";
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { needs, run } from "../live/store";
import { ansiPieces } from "../logic/ansi";
import { subplanAddress } from "../logic/routes";
import { capital, span, visible } from "../logic/words";
import { Actions } from "./actions";

const SYMBOLS: Record<Need["kind"], [string, string]> = {
  question: ["?", "warn"],
  conflict: ["!", "bad"],
  held: ["!", "warn"],
  landing: ["!", "warn"],
  verify: ["✗", "bad"],
  failed: ["✗", "bad"],
  budget: ["$", "warn"],
  limit: ["◷", "soft"],
  stopped: ["◼", "warn"],
};

/** How many cards are shown at once; at 10,000 slices there may be hundreds. */
const MOST = 20;

export function Needs() {
  const urgent = needs.value.filter(need => need.is_urgent);
  const others = needs.value.filter(need => !need.is_urgent);
  if (!needs.value.length) return null;
  return (
    <section class="needs" aria-labelledby="needs-title">
      <h2 id="needs-title" aria-live="polite">
        {urgent.length
          ? `${urgent.length} need${urgent.length === 1 ? "s" : ""} you`
          : "For your information"}
      </h2>
      {[...urgent, ...others].slice(0, MOST).map(need => (
        <NeedCard key={`${need.kind} ${need.path} ${need.step}`} need={need} />
      ))}
      {needs.value.length > MOST && (
        <p class="soft">{needs.value.length - MOST} more; settle these first, or use the filter below.</p>
      )}
    </section>
  );
}

/** A card. On the page of its subplan it is alone, and the log is below it. */
export function NeedCard({ need, isAlone = false }: { need: Need; isAlone?: boolean }) {
  const [symbol, tone] = SYMBOLS[need.kind];
  const name = need.path
    ? `${need.path}${need.step && !need.step.startsWith("@") ? `:${need.step}` : ""}`
    : "";
  return (
    <article class={`card need tone-${tone}`} data-need={need.kind} data-path={need.path}>
      <header>
        <span class="symbol" aria-hidden="true">
          {symbol}
        </span>
        <h3>
          {capital(visible(need.title))}
          {name && !isAlone && (
            <a class="mono" href={href(subplanAddress(run.value, need.path))}>
              {visible(name)}
            </a>
          )}
        </h3>
        {need.since !== null && <span class="soft since">{span(Math.max(0, now.value - need.since))}</span>}
      </header>
      {need.reason && <p class="reason">{capital(visible(need.reason))}</p>}
      {need.files.length > 0 && (
        <p class="files">
          {need.files.slice(0, 6).map(file => (
            <code key={file}>{visible(file)}</code>
          ))}
          {need.files.length > 6 && <span class="soft">and {need.files.length - 6} more</span>}
        </p>
      )}
      {need.lines.length > 0 && !(isAlone && need.kind === "failed") && <Lines lines={need.lines} />}
      <Actions actions={need.actions} />
    </article>
  );
}

/** Some lines of output. */
export function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <pre class="lines" tabIndex={0} role="region" aria-label="Last lines of the output">
      {lines.map((line, index) => (
        <span key={index} class="line">
          {ansiPieces(line).map(piece => (
            <span class={piece.style}>{piece.text}</span>
          ))}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
