/** Data that a page asks for: loading, loaded or refused. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, type Query, RequestError } from "../api/client";
import type { Problem } from "../api/types";
import { href } from "../live/navigation";
import { currentReport } from "../live/report";
import { askAgain, run, version } from "../live/store";
import { capital, visible } from "../logic/words";

export interface Loaded<T> {
  data: T | null;
  problem: Problem | null;
}

/** Returns the answer to a request; it is repeated every `seconds` if the run has changed. 0: only once. */
export function useAnswer<T>(path: string, query: Query = {}, seconds = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ data: null, problem: null });
  const key = JSON.stringify([path, query]);
  const beat = useBeat(seconds);
  useEffect(() => {
    setLoaded({ data: null, problem: null });
  }, [key]);
  useEffect(() => {
    const leaving = new AbortController();
    get<T>(path, query, leaving.signal)
      .then(data => !leaving.signal.aborted && setLoaded({ data, problem: null }))
      .catch(error => {
        if (error instanceof RequestError) setLoaded(old => ({ data: old.data, problem: error.problem }));
      });
    return () => leaving.abort();
  }, [key, beat]);
  return loaded;
}

/** Returns a number that changes every `seconds`, unless a run is open and has not changed. */
function useBeat(seconds: number): number {
  const [beat, setBeat] = useState(0);
  useEffect(() => {
    if (!seconds || currentReport()) return;
    let last = version.peek();
    const timer = setInterval(() => {
      const current = version.peek();
      if (document.visibilityState === "hidden" || (run.peek() && current === last)) return;
      last = current;
      setBeat(number => number + 1);
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return beat;
}

interface Properties<T> {
  of: Loaded<T>;
  children: (data: T) => ComponentChildren;
}

export function Load<T>({ of, children }: Properties<T>) {
  if (of.data !== null) return <>{children(of.data)}</>;
  if (of.problem) return <Refused problem={of.problem} />;
  return <p class="soft loading">Loading …</p>;
}

export function Refused({ problem }: { problem: Problem }) {
  return (
    <div class="empty" role="alert">
      <h1>{capital(visible(problem.message))}</h1>
      {problem.hint && <p class="soft">{visible(problem.hint)}</p>}
      {problem.nearest.length > 0 && (
        <p>
          Did you mean{" "}
          {problem.nearest.map(name => (
            <code key={name}>{visible(name)} </code>
          ))}
          ?
        </p>
      )}
      <div class="buttons">
        <a class="button" href={href("/runs")}>
          All runs
        </a>
        <button type="button" class="button" onClick={() => void askAgain()}>
          Try again
        </button>
      </div>
    </div>
  );
}
