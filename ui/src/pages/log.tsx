/** The log of a slice: its last lines, then what is added; older lines by scrolling up. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { apiAddress, get, runPath } from "../api/client";
import type { LogLine, LogMatches, LogPage, SubplanDetail } from "../api/types";
import { useKeys } from "../live/keys";
import { replaceAddress, route } from "../live/navigation";
import { run } from "../live/store";
import { ansiPieces } from "../logic/ansi";
import {
  appended,
  EMPTY_LOG,
  errorRow,
  type LogRow,
  type LogText,
  logOf,
  logRows,
  preferredPart,
  prepended,
  rowAt,
} from "../logic/log";
import { subplanAddress } from "../logic/routes";
import { scrollTo, visibleSlice } from "../logic/virtual";
import { bytes, count, grouped } from "../logic/words";
import { LogTools } from "./log_tools";

const TAIL = 1000;
const LINE_HEIGHT = 20;
const POLL_MILLISECONDS = 1000;

export interface LogChoice {
  part: string;
  stream: "out" | "err";
  isRaw: boolean;
}

export function LogTab({ detail }: { detail: SubplanDetail }) {
  const query = route.value.page === "subplan" ? route.value.query : new URLSearchParams();
  const [choice, setChoice] = useState<LogChoice>({
    part: query.get("part") ?? "",
    stream: "out",
    isRaw: query.has("raw"),
  });
  const [log, setLog] = useState<LogText>(EMPTY_LOG);
  const [page, setPage] = useState<LogPage | null>(null);
  const [problem, setProblem] = useState("");
  const [isFollowed, setFollowed] = useState(!query.has("line"));
  const [chosen, setChosen] = useState(Number(query.get("line") ?? -1));
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [matches, setMatches] = useState<LogMatches | null>(null);
  const view = useRef<HTMLDivElement>(null);
  const end = useRef(0);
  const request = {
    path: detail.path,
    part: choice.part || undefined,
    stream: choice.stream,
    raw: choice.isRaw,
  };

  useEffect(() => {
    const start = Number(query.get("line") ?? -1);
    // A line that was linked to is shown with what is around it.
    const place = start >= 0 ? { before: start + 1, tail: TAIL } : { tail: TAIL };
    setLog(EMPTY_LOG);
    setMatches(null);
    return follow(async isFirst => {
      const answer = await get<LogPage>(runPath(run.value, "log"), {
        ...request,
        ...(isFirst ? place : { from: end.current }),
      });
      const preferred = choice.part
        ? undefined
        : preferredPart(answer.parts, query.get("step"), Number(query.get("attempt")));
      if (preferred && preferred !== answer.part) {
        setChoice({ ...choice, part: preferred });
        return true;
      }
      end.current = answer.end;
      setPage(answer);
      setProblem("");
      setLog(old => (isFirst ? logOf(answer) : appended(old, answer)));
      return answer.is_ended && answer.end >= answer.size;
    }, setProblem);
  }, [detail.path, choice.part, choice.stream, choice.isRaw]);
  const rows = logRows(log.lines, open);
  const choose = (at: number): void => {
    setFollowed(false);
    setChosen(at);
    replaceAddress(
      subplanAddress(run.value, detail.path, {
        tab: "log",
        line: String(at),
        ...(choice.part && { part: choice.part }),
      }),
    );
  };
  const jump = async (at: number): Promise<void> => {
    if (at < log.start) {
      const older = await get<LogPage>(runPath(run.value, "log"), { ...request, from: at });
      setLog({ ...logOf(older), isEnded: false });
      end.current = older.end;
    }
    choose(at);
  };
  const nextError = (direction: 1 | -1): void => {
    const from = chosen >= 0 ? rowAt(log.lines, rows, chosen) : direction > 0 ? -1 : rows.length;
    const next = errorRow(log.lines, rows, from, direction);
    const line = next === null ? undefined : log.lines[rows[next]?.line ?? -1];
    if (line) choose(line.at);
  };
  const loadOlder = async (): Promise<void> => {
    if (log.start <= 0) return;
    const older = await get<LogPage>(runPath(run.value, "log"), {
      ...request,
      before: log.start,
      tail: TAIL,
    });
    const added = older.lines.length;
    setLog(old => prepended(old, older));
    // What was in view stays in view.
    requestAnimationFrame(() => view.current?.scrollBy(0, added * LINE_HEIGHT));
  };
  useKeys([
    { key: "f", does: "follow the end of the log", run: () => setFollowed(!isFollowed) },
    { key: "e", does: "next error", run: () => nextError(1) },
    { key: "E", does: "previous error", run: () => nextError(-1) },
    { key: "/", does: "search the log", run: () => document.getElementById("log-search")?.focus() },
  ]);
  if (problem && !page) return <p class="none card soft">{problem}</p>;
  const errors = log.lines.reduce((sum, line) => sum + (line.is_error ? 1 : 0), 0);
  return (
    <section class="log" aria-label="Log">
      <LogTools
        parts={page?.parts ?? []}
        shownPart={page?.part ?? ""}
        choice={choice}
        onChoose={next => {
          setFollowed(true);
          setChosen(-1);
          setChoice(next);
        }}
        errors={errors}
        onError={nextError}
        isFollowed={isFollowed}
        onFollow={() => setFollowed(!isFollowed)}
        onSearch={async text => {
          setMatches(
            text
              ? await get<LogMatches>(runPath(run.value, "log/search"), {
                  ...request,
                  part: page?.part,
                  text,
                })
              : null,
          );
        }}
        rawAddress={
          page
            ? apiAddress(runPath(run.value, "log/raw"), {
                path: detail.path,
                part: page.part,
                stream: choice.stream,
              })
            : ""
        }
      />
      {matches && <Matches matches={matches} onJump={at => void jump(at)} />}
      <LogView
        view={view}
        lines={log.lines}
        rows={rows}
        chosen={chosen}
        isFollowed={isFollowed}
        onChoose={choose}
        onLeaveEnd={() => setFollowed(false)}
        onTop={() => void loadOlder()}
        onToggle={at => setOpen(toggled(open, at))}
        hasOlder={log.start > 0}
        isEnded={log.isEnded}
      />
      <p class="soft below">
        {count(log.lines.length, "line")} of {bytes(log.size)}
        {leftOutWords(page)}
        {log.isEnded ? "" : isFollowed ? "; following" : "; not following"}
      </p>
    </section>
  );
}

function leftOutWords(page: LogPage | null): string {
  return page?.left_out ? `; ${bytes(page.left_out)} in the middle were not kept` : "";
}

/** Calls `read` now and each second while the page is visible, until it says that there is nothing more. */
function follow(read: (isFirst: boolean) => Promise<boolean>, onProblem: (text: string) => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  let isLeft = false;
  let isFirst = true;
  const again = async (): Promise<void> => {
    let isEnded = false;
    try {
      if (document.visibilityState === "visible" || isFirst) isEnded = await read(isFirst);
      isFirst = false;
    } catch (error) {
      onProblem((error as Error).message);
    }
    if (!isLeft && !isEnded) timer = setTimeout(() => void again(), POLL_MILLISECONDS);
  };
  void again();
  return () => {
    isLeft = true;
    clearTimeout(timer);
  };
}

function toggled(set: ReadonlySet<number>, value: number): Set<number> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}

interface ViewProperties {
  view: { current: HTMLDivElement | null };
  lines: readonly LogLine[];
  rows: readonly LogRow[];
  chosen: number;
  isFollowed: boolean;
  hasOlder: boolean;
  isEnded: boolean;
  onChoose: (at: number) => void;
  onLeaveEnd: () => void;
  onTop: () => void;
  onToggle: (at: number) => void;
}

function LogView(properties: ViewProperties) {
  const { view, lines, rows, chosen, isFollowed } = properties;
  const [scrolled, setScrolled] = useState(0);
  const height = view.current?.clientHeight ?? 600;
  useLayoutEffect(() => {
    if (isFollowed && view.current) view.current.scrollTop = view.current.scrollHeight;
  }, [rows.length, isFollowed]);
  useLayoutEffect(() => {
    const index = chosen >= 0 ? rowAt(lines, rows, chosen) : -1;
    if (index >= 0 && view.current)
      view.current.scrollTop = scrollTo(index, LINE_HEIGHT, view.current.scrollTop, height - 40);
  }, [chosen, lines.length > 0]);
  const onScroll = (event: Event): void => {
    const place = event.currentTarget as HTMLDivElement;
    const isAtEnd = place.scrollTop + place.clientHeight > place.scrollHeight - 30;
    if (place.scrollTop < scrolled && !isAtEnd) properties.onLeaveEnd();
    if (place.scrollTop < 10 && scrolled >= 10) properties.onTop();
    setScrolled(place.scrollTop);
  };
  const { first, last } = visibleSlice(rows.length, LINE_HEIGHT, scrolled, height);
  return (
    <div
      class="log-view card"
      ref={view}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label="Output"
      aria-live="off"
    >
      {properties.hasOlder && scrolled < 400 && (
        <button type="button" class="link older" onClick={properties.onTop}>
          Older lines
        </button>
      )}
      {rows.length === 0 && <p class="soft none">No output{properties.isEnded ? "" : " yet"}.</p>}
      <div class="log-lines" style={{ height: `${rows.length * LINE_HEIGHT}px` }}>
        <div style={{ transform: `translateY(${first * LINE_HEIGHT}px)` }}>
          {rows.slice(first, last).map(row => {
            const line = lines[row.line];
            return (
              line && (
                <Line
                  key={`${line.at} ${line.index ?? 0}`}
                  line={line}
                  row={row}
                  isChosen={line.at === chosen}
                  {...properties}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface LineProperties {
  line: LogLine;
  row: LogRow;
  isChosen: boolean;
  onChoose: (at: number) => void;
  onToggle: (at: number) => void;
}

function Line({ line, row, isChosen, onChoose, onToggle }: LineProperties) {
  const names = [
    "log-line",
    line.kind ? `kind-${line.kind}` : "",
    line.is_error ? "is-error" : "",
    isChosen ? "is-chosen" : "",
    row.isPart ? "is-part" : "",
  ];
  return (
    <div class={names.filter(Boolean).join(" ")}>
      <button
        type="button"
        class="log-at"
        tabIndex={-1}
        aria-label="Link to this line"
        onClick={() => onChoose(line.at)}
      >
        {line.is_error ? "✗" : "¶"}
      </button>
      <code>
        {ansiPieces(line.text).map(piece => (
          <span class={piece.style}>{piece.text}</span>
        ))}
        {line.is_cut && <span class="soft"> …</span>}
      </code>
      {row.folds > 0 && (
        <button type="button" class="link" aria-expanded={row.isOpen} onClick={() => onToggle(line.at)}>
          {row.isOpen ? "▾ fold" : `▸ ${count(row.folds, "line")}`}
        </button>
      )}
    </div>
  );
}

function Matches({ matches, onJump }: { matches: LogMatches; onJump: (at: number) => void }) {
  return (
    <div class="matches card">
      <p>
        {grouped(matches.total)} matching {matches.total === 1 ? "line" : "lines"}
        {matches.is_whole ? "" : " in the part that was searched"}
        {matches.total > matches.lines.length && `; the first ${grouped(matches.lines.length)} are shown`}
      </p>
      <ol>
        {matches.lines.map(line => (
          <li key={line.at}>
            <button type="button" class="link mono" onClick={() => onJump(line.at)}>
              {ansiPieces(line.text).map(piece => piece.text)}
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
