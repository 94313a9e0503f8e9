/**
 * One stream per browser. A browser allows six connections to a server, so a stream per tab would stop the seventh. The tab that
 * has the lock of a run holds its stream and passes each message to the others on a broadcast channel; when it closes, the browser
 * gives the lock to the next tab.
 *
 * Each message says after which event it starts. A tab that has missed something sees the gap and reads a snapshot.
 */

export type StreamMessage =
  | { kind: "change"; after: number; data: string }
  | { kind: "activity"; data: string }
  | { kind: "alive" }
  | { kind: "resync" }
  | { kind: "broken" };

export interface Channel {
  /** Asks for the stream: this tab opens it as soon as no other tab holds it. */
  join: () => void;
  isJoined: () => boolean;
  close: () => void;
}

interface Listener {
  /** The last event that this tab has. */
  seq: () => number;
  receive: (message: StreamMessage) => void;
}

/** Listens to the tab that holds the stream of a run; with `join`, this tab may become that one. */
export function openChannel(run: string, address: (after: number) => string, listener: Listener): Channel {
  const name = `weft-stream-${run}`;
  const broadcast = new BroadcastChannel(name);
  broadcast.onmessage = event => listener.receive(event.data as StreamMessage);
  const leaving = new AbortController();
  let source: EventSource | null = null;
  const lead = (): Promise<void> =>
    new Promise(release => {
      source = openStream(address, listener, broadcast);
      leaving.signal.addEventListener("abort", () => {
        source?.close();
        release();
      });
    });
  let isJoined = false;
  const join = (): void => {
    if (isJoined) return;
    isJoined = true;
    if (navigator.locks) {
      navigator.locks.request(name, { signal: leaving.signal }, lead).catch(() => undefined);
    } else void lead(); // without a secure context: a stream for each tab
  };
  return {
    join,
    isJoined: () => isJoined,
    close: () => {
      leaving.abort();
      broadcast.close();
    },
  };
}

function openStream(
  address: (after: number) => string,
  listener: Listener,
  broadcast: BroadcastChannel,
): EventSource {
  let after = listener.seq();
  const source = new EventSource(address(after));
  const pass = (message: StreamMessage): void => {
    listener.receive(message);
    broadcast.postMessage(message);
  };
  source.addEventListener("change", event => {
    const { data, lastEventId } = event as MessageEvent<string>;
    pass({ kind: "change", after, data });
    after = Number(lastEventId) || after;
  });
  source.addEventListener("activity", event =>
    pass({ kind: "activity", data: (event as MessageEvent<string>).data }),
  );
  source.addEventListener("alive", () => pass({ kind: "alive" }));
  source.addEventListener("resync", event => {
    after = Number((event as MessageEvent<string>).lastEventId) || after;
    pass({ kind: "resync" });
  });
  source.onerror = () => pass({ kind: "broken" });
  source.onopen = () => pass({ kind: "alive" });
  return source;
}
