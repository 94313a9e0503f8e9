/** The journal of a run, filtered. */
import { useEffect, useState } from "preact/hooks";
import { get, runPath } from "../api/client";
import type { EventPage } from "../api/types";
import { run, version } from "../live/store";
import { eventText } from "../logic/events";
import { exactTime, grouped, visible } from "../logic/words";

const PAGE = 200;
type Event = EventPage["events"][number];

export function EventsPage() {
  const [kind, setKind] = useState("");
  const [path, setPath] = useState("");
  const [after, setAfter] = useState(0);
  const [page, setPage] = useState<EventPage | null>(null);
  const [kinds, setKinds] = useState<readonly string[]>([]);
  const changes = Math.floor(version.value / 8);
  useEffect(() => {
    let isLeft = false;
    const query = { after, kind: kind || undefined, path: path || undefined, limit: PAGE };
    get<EventPage>(runPath(run.value, "events"), query)
      .then(answer => {
        if (isLeft) return;
        setPage(answer);
        setKinds(answer.kinds);
      })
      .catch(() => undefined);
    return () => {
      isLeft = true;
    };
  }, [kind, path, after, changes]);
  const restart = (change: () => void): void => {
    setAfter(0);
    change();
  };
  return (
    <div class="page">
      <h1>Events</h1>
      <div class="tools">
        <select
          class="field"
          aria-label="Kind"
          value={kind}
          onChange={event => restart(() => setKind(event.currentTarget.value))}
        >
          <option value="">All kinds</option>
          {kinds.map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          class="field"
          type="search"
          aria-label="Subplan"
          placeholder="Subplan"
          value={path}
          onChange={event => restart(() => setPath(event.currentTarget.value))}
        />
        <label>
          From number{" "}
          <input
            class="field number-field"
            type="number"
            min={0}
            value={after}
            onChange={event => setAfter(Math.max(0, Number(event.currentTarget.value)))}
          />
        </label>
      </div>
      {page && <EventTable page={page} onNext={() => page.next !== null && setAfter(page.next)} />}
    </div>
  );
}

function EventTable({ page, onNext }: { page: EventPage; onNext: () => void }) {
  if (!page.events.length) return <p class="soft none card">No event matches.</p>;
  return (
    <>
      <div class="card scroll-x">
        <table class="plain events">
          <thead>
            <tr>
              <th scope="col" class="number">
                No.
              </th>
              <th scope="col">Time</th>
              <th scope="col">Kind</th>
              <th scope="col">Subplan</th>
              <th scope="col">Data</th>
            </tr>
          </thead>
          <tbody>
            {page.events.map(event => (
              <EventLine key={String(event["seq"])} event={event} />
            ))}
          </tbody>
        </table>
      </div>
      {page.next !== null && (
        <p class="below">
          <button type="button" class="button" onClick={onNext}>
            Next {grouped(PAGE)}
          </button>
        </p>
      )}
    </>
  );
}

function EventLine({ event }: { event: Event }) {
  const { seq, at, kind, subplan, data } = eventText(event);
  return (
    <tr>
      <td class="number soft">{grouped(seq)}</td>
      <td class="nowrap">{exactTime(at)}</td>
      <td class="nowrap">{kind}</td>
      <td class="mono">{visible(subplan)}</td>
      <td class="mono data">{visible(data)}</td>
    </tr>
  );
}
