/** Why a subplan is where it is, and what its agent is asked. */
import type { SubplanDetail } from "../api/types";
import { href } from "../live/navigation";
import { run } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { count, visible } from "../logic/words";
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
