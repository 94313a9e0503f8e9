/** Why a subplan is where it is, and what its agent is asked. */
import type { LackedPool, SubplanDetail } from "../api/types";
import { now } from "../live/clock";
import { href } from "../live/navigation";
import { run } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { count, stopwatch, visible } from "../logic/words";
import { State } from "../parts/state";

export function WhyTab({ detail }: { detail: SubplanDetail }) {
  const { why } = detail;
  return (
    <div class="why">
      <p class="sentence">{visible(why.sentence) || "Nothing holds it."}</p>
      {why.chain.length > 0 && (
        <section>
          <h2>Waits for</h2>
          <ol class="chain card">
            {why.chain.map(link => (
              <li key={link.path} style={{ paddingLeft: `${14 + link.depth * 18}px` }}>
                <State state={link.state} />
                <a class="mono" href={href(subplanAddress(run.value, link.path))}>
                  {visible(link.path)}
                </a>
                <span class="soft">{visible(link.why)}</span>
              </li>
            ))}
          </ol>
          {why.more > 0 && <p class="soft">and {count(why.more, "other")}</p>}
        </section>
      )}
      {why.pools.map(pool => (
        <Pool key={`${pool.name} ${pool.step}`} pool={pool} />
      ))}
      <Relations title="Depends on" paths={detail.depends_on} />
      <Relations title="Needed by" paths={detail.needed_by} />
      {detail.files.length > 0 && (
        <section>
          <h2>Files it declares</h2>
          <p class="files">
            {detail.files.map(file => (
              <code key={file}>{visible(file)}</code>
            ))}
          </p>
        </section>
      )}
    </div>
  );
}

function Pool({ pool }: { pool: LackedPool }) {
  return (
    <section>
      <h2>
        No room in <span class="mono">{visible(pool.name)}</span>
        {pool.step && ` for ${visible(pool.step)}`}
      </h2>
      {pool.holders.length > 0 && (
        <ul class="plain-list" aria-label={`Held by`}>
          {pool.holders.map(holder => (
            <li key={`${holder.path} ${holder.step}`}>
              <a class="mono" href={href(subplanAddress(run.value, holder.path))}>
                {visible(holder.path)}
              </a>{" "}
              <span class="soft">
                {[holder.step.replace(/^@/, ""), holder.items.join(", "), stopwatch(now.value - holder.since)]
                  .filter(Boolean)
                  .map(visible)
                  .join(" · ")}
              </span>
            </li>
          ))}
        </ul>
      )}
      {pool.more > 0 && <p class="soft">and {count(pool.more, "other")}</p>}
    </section>
  );
}

function Relations({ title, paths }: { title: string; paths: readonly string[] }) {
  if (!paths.length) return null;
  return (
    <section>
      <h2>{title}</h2>
      <p class="files">
        {paths.map(path => (
          <a key={path} class="mono" href={href(subplanAddress(run.value, path))}>
            {visible(path)}
          </a>
        ))}
      </p>
    </section>
  );
}

export function PromptTab({ detail }: { detail: SubplanDetail }) {
  if (!detail.prompt) return <p class="soft none card">No step of it has a prompt.</p>;
  return <pre class="card prompt">{visible(detail.prompt)}</pre>;
}
