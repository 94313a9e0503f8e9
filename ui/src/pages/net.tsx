/** The net of one subplan: where its tokens are, and what is under way. */
import { useEffect, useRef, useState } from "preact/hooks";
import { runPath } from "../api/client";
import type { NetGraph, NetPlace, NetTransition } from "../api/types";
import { go } from "../live/navigation";
import { run, table } from "../live/store";
import { graphAddress } from "../logic/routes";
import { grouped, visible } from "../logic/words";
import { Arrow, Drawing } from "../parts/graph_view";
import { Load, useAnswer } from "../parts/load";

const MOST_OFFERED = 500;

export function Net({ of }: { of: string }) {
  const shown = of || firstRunning();
  return (
    <>
      <Chooser of={shown} />
      {shown && <NetOf key={shown} path={shown} />}
    </>
  );
}

function NetOf({ path }: { path: string }) {
  const answer = useAnswer<NetGraph>(runPath(run.value, "net"), { path }, 1);
  return <Load of={answer}>{net => <NetView net={net} />}</Load>;
}

/** Returns the slice that probably is of interest: one that runs, else the first. */
function firstRunning(): string {
  const all = table.value;
  if (!all) return "";
  const running = all.path.findIndex((_, row) => all.leaf[row] && all.state[row] === "running");
  const first = all.leaf.indexOf(true);
  return all.path[running >= 0 ? running : first] ?? "";
}

function Chooser({ of }: { of: string }) {
  const [typed, setTyped] = useState(of);
  useEffect(() => setTyped(of), [of]);
  const paths = table.value?.path ?? [];
  const open = (path: string): void => {
    setTyped(path);
    if (table.value?.rowOf.has(path)) go(graphAddress(run.value, { of: path, mode: "net" }));
  };
  return (
    <label class="below">
      The net of{" "}
      <input
        class="field mono"
        list="subplans"
        value={typed}
        onInput={event => open(event.currentTarget.value)}
      />
      <datalist id="subplans">
        {paths.slice(1, MOST_OFFERED).map(path => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </label>
  );
}

function NetView({ net }: { net: NetGraph }) {
  const place = useRef<HTMLDivElement>(null);
  const marked = net.places.find(spot => spot.kind !== "pool" && spot.tokens > 0);
  const active = net.transitions.find(transition => transition.firing) ?? marked;
  useEffect(() => {
    const frame = place.current?.querySelector(".graph");
    if (frame && active) frame.scrollLeft = active.x - frame.clientWidth / 2;
  }, [net.of, active?.id]);
  return (
    <div class="net" ref={place}>
      <Drawing label="Places, transitions and tokens" width={net.width} height={net.height}>
        {net.edges.map(edge => (
          <Arrow key={`${edge.source} ${edge.target} ${edge.label}`} edge={edge} />
        ))}
        {net.places.map(spot => (
          <Place key={spot.id} place={spot} />
        ))}
        {net.transitions.map(transition => (
          <Transition key={transition.id} transition={transition} />
        ))}
      </Drawing>
      <p class="soft">
        {net.is_live
          ? "A token shows how far it is; a coloured bar is under way; a dashed circle is a pool with what is free of it."
          : "This version of Weft cannot derive the tokens from the journal of this run."}
      </p>
    </div>
  );
}

function Place({ place }: { place: NetPlace }) {
  return (
    <g role="img" aria-label={`${visible(place.id)}, ${grouped(place.tokens)} tokens`}>
      <title>{visible(place.id)}</title>
      <circle
        cx={place.x}
        cy={place.y}
        r="13"
        class={`place is-${place.kind} ${place.tokens && place.kind !== "pool" ? "has-tokens" : ""}`}
      />
      {place.tokens > 0 && (
        <text x={place.x} y={place.y + 4} text-anchor="middle">
          {place.tokens === 1 && place.kind !== "pool" ? "●" : grouped(place.tokens)}
        </text>
      )}
      <text x={place.x} y={place.y + 26} text-anchor="middle" class="tiny">
        {visible(place.label)}
      </text>
    </g>
  );
}

function Transition({ transition }: { transition: NetTransition }) {
  return (
    <g role="img" aria-label={`${visible(transition.label)}${transition.firing ? ", under way" : ""}`}>
      <title>{visible(transition.id)}</title>
      <rect
        x={transition.x - 4.5}
        y={transition.y - 17}
        width="9"
        height="34"
        rx="2"
        class={`transition ${transition.action ? "is-work" : ""} ${transition.firing ? "is-firing" : ""}`}
      />
      <text x={transition.x} y={transition.y + 30} text-anchor="middle" class="tiny">
        {visible(transition.label)}
      </text>
    </g>
  );
}
