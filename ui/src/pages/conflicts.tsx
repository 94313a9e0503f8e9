/** Work that is held in conflict, and pairs of subplans that are going to conflict. */
import { runPath } from "../api/client";
import type { ConflictPair, Conflicts } from "../api/types";
import { href } from "../live/navigation";
import { needs, run } from "../live/store";
import { subplanAddress } from "../logic/routes";
import { visible } from "../logic/words";
import { Load, useAnswer } from "../parts/load";
import { NeedCard } from "../parts/needs";

export function ConflictsPage() {
  const answer = useAnswer<Conflicts>(runPath(run.value, "conflicts"), {}, 3);
  const held = needs.value.filter(need => need.kind === "conflict");
  return (
    <div class="page">
      <h1>Conflicts</h1>
      {held.map(need => (
        <NeedCard key={`${need.path} ${need.step}`} need={need} />
      ))}
      <Load of={answer}>
        {({ pairs }) =>
          pairs.length ? (
            pairs.map(pair => <Pair key={`${pair.first} ${pair.second}`} pair={pair} />)
          ) : (
            <p class="soft none card">
              {held.length
                ? "No other conflict is forecast from the changes so far."
                : "No two subplans conflict, and none are going to as far as their changes show."}
            </p>
          )
        }
      </Load>
    </div>
  );
}

function Pair({ pair }: { pair: ConflictPair }) {
  const isHeld = pair.state === "conflict";
  return (
    <article class={`card need tone-${isHeld ? "bad" : "warn"}`}>
      <header>
        <span class="symbol" aria-hidden="true">
          !
        </span>
        <h3>{isHeld ? "In conflict" : "Will conflict"}</h3>
      </header>
      <ul class="plain-list">
        <Side path={pair.first} title={pair.first_title} />
        <Side path={pair.second} title={pair.second_title} />
      </ul>
      <p class="files">
        {pair.files.map(file => (
          <code key={file}>{visible(file)}</code>
        ))}
      </p>
    </article>
  );
}

function Side({ path, title }: { path: string; title: string }) {
  return (
    <li>
      <a class="mono" href={href(subplanAddress(run.value, path, { tab: "diff" }))}>
        {visible(path)}
      </a>{" "}
      {title && <span>{visible(title)}</span>}
    </li>
  );
}
