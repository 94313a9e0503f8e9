/** The changes of a slice, one file at a time, with comments that go back to the agent. */
import { useEffect, useState } from "preact/hooks";
import { runPath } from "../api/client";
import type { ChangeSet, FileRow, SubplanDetail } from "../api/types";
import { storeComments, storedComments } from "../live/drafts";
import { go } from "../live/navigation";
import { canAct, perform, plainAction } from "../live/operations";
import { run, strip } from "../live/store";
import { type Comment, feedbackText, withComment } from "../logic/comments";
import { hunksOf } from "../logic/diff";
import { subplanAddress } from "../logic/routes";
import { count, grouped, visible } from "../logic/words";
import { Load, useAnswer } from "../parts/load";
import { useMedia } from "../parts/media";
import { HunkView } from "./hunk";

/** What the changes are compared with: the start of the branch, or that of the last attempt. */
type Since = "base" | "attempt";

export function DiffTab({ detail }: { detail: SubplanDetail }) {
  const [isForced, setForced] = useState(false);
  const [file, setFile] = useState("");
  const [since, setSince] = useState<Since>("base");
  const changes = useAnswer<ChangeSet>(
    runPath(run.value, "diff"),
    { path: detail.path, force: isForced, since },
    4,
  );
  const first = changes.data?.files[0]?.path ?? "";
  const isThere = changes.data?.files.some(row => row.path === file);
  return (
    <Load of={changes}>
      {set => (
        <Changes
          detail={detail}
          set={set}
          file={isThere ? file : set.is_large && !isForced ? "" : first}
          onFile={setFile}
          since={since}
          onSince={setSince}
          isForced={isForced}
          onForce={() => setForced(true)}
        />
      )}
    </Load>
  );
}

interface Properties {
  detail: SubplanDetail;
  set: ChangeSet;
  file: string;
  onFile: (file: string) => void;
  since: Since;
  onSince: (since: Since) => void;
  isForced: boolean;
  onForce: () => void;
}

function Changes({ detail, set, file, onFile, since, onSince, isForced, onForce }: Properties) {
  const isNarrow = useMedia("(max-width: 900px)");
  const [isSplit, setSplit] = useState(false);
  // The id of the run, as `last` may mean another one tomorrow.
  const id = strip.value?.run ?? run.value;
  const [comments, setShownComments] = useState<readonly Comment[]>(() => storedComments(id, detail.path));
  const setComments = (changed: readonly Comment[]): void => {
    setShownComments(changed);
    storeComments(id, detail.path, changed);
  };
  const isShown = set.files.length > 0;
  return (
    <section class="diff" aria-label="Changes">
      <div class="tools">
        {!isNarrow && (
          <Choice
            label="Layout"
            value={isSplit ? "split" : "unified"}
            choices={[
              ["unified", "Unified"],
              ["split", "Split"],
            ]}
            onChoose={layout => setSplit(layout === "split")}
          />
        )}
        {set.last_attempt && (
          <Choice
            label="Compared with"
            value={since}
            choices={[
              ["base", "Since the start"],
              ["attempt", "Since the last attempt"],
            ]}
            onChoose={onSince}
          />
        )}
        <span class="spring" />
        <span class="soft">
          {count(set.files.length + set.more, "file")} <span class="good">+{grouped(set.added)}</span>{" "}
          <span class="bad">−{grouped(set.removed)}</span>
        </span>
      </div>
      {!isShown && <p class="soft none card">Nothing has changed.</p>}
      {isShown && (
        <div class="diff-body">
          <FileList set={set} file={file} comments={comments} onFile={onFile} />
          <div class="diff-file">
            {file ? (
              <FileDiff
                key={`${file} ${set.start} ${set.head}`}
                path={detail.path}
                file={file}
                since={since}
                isSplit={isSplit && !isNarrow}
                comments={comments}
                onComment={comment => setComments(withComment(comments, comment))}
              />
            ) : (
              <p class="soft none card">This is a large change. Choose a file.</p>
            )}
          </div>
        </div>
      )}
      {set.more > 0 && !isForced && (
        <p class="below">
          {grouped(set.more)} more files.{" "}
          <button type="button" class="link" onClick={onForce}>
            List them all
          </button>
        </p>
      )}
      {comments.length > 0 && canAct() && (
        <SendBack detail={detail} comments={comments} onSent={() => setComments([])} />
      )}
    </section>
  );
}

interface ChoiceProperties<T extends string> {
  label: string;
  value: T;
  choices: ReadonlyArray<readonly [T, string]>;
  onChoose: (value: T) => void;
}

export function Choice<T extends string>({ label, value, choices, onChoose }: ChoiceProperties<T>) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{label}</legend>
      {choices.map(([name, text]) => (
        <button key={name} type="button" aria-pressed={value === name} onClick={() => onChoose(name)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

const STATUS = { added: ["+", "good"], changed: ["~", "soft"], deleted: ["−", "bad"] } as const;

interface FileListProperties {
  set: ChangeSet;
  file: string;
  comments: readonly Comment[];
  onFile: (file: string) => void;
}

function FileList({ set, file, comments, onFile }: FileListProperties) {
  return (
    <ul class="file-list card" aria-label="Changed files">
      {set.files.map(row => (
        <li key={row.path}>
          <button type="button" aria-pressed={row.path === file} onClick={() => onFile(row.path)}>
            <span class={`symbol tone-${STATUS[row.status][1]}`} aria-hidden="true">
              {STATUS[row.status][0]}
            </span>
            <span class="mono file-name" title={visible(row.path)}>
              <bdi>{visible(row.path)}</bdi>
            </span>
            <Lines row={row} />
            <span class="hidden">
              {row.status}
              {row.is_committed ? "" : ", not committed"}
            </span>
            {comments.some(comment => comment.file === row.path) && <span aria-label="has comments">💬</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Lines({ row }: { row: FileRow }) {
  if (row.added === null) return <span class="soft">binary</span>;
  return (
    <span class="nowrap small">
      <span class="good">+{grouped(row.added)}</span> <span class="bad">−{grouped(row.removed ?? 0)}</span>
    </span>
  );
}

interface FileProperties {
  path: string;
  file: string;
  since: Since;
  isSplit: boolean;
  comments: readonly Comment[];
  onComment: (comment: Comment) => void;
}

function FileDiff({ path, file, since, isSplit, comments, onComment }: FileProperties) {
  const [isForced, setForced] = useState(false);
  const [writing, setWriting] = useState("");
  const answer = useAnswer<ChangeSet>(runPath(run.value, "diff"), { path, file, force: isForced, since });
  useEffect(() => setWriting(""), [file]);
  return (
    <Load of={answer}>
      {({ file: shown }) => {
        if (!shown) return <p class="soft none card">This file has not changed.</p>;
        if (shown.is_binary) return <p class="soft none card">A binary file; its contents are not shown.</p>;
        if (shown.is_too_large && !shown.text) {
          return (
            <p class="soft none card">
              More than 3,000 lines have changed.{" "}
              <button type="button" class="link" onClick={() => setForced(true)}>
                Show them anyway
              </button>
            </p>
          );
        }
        return (
          <div class="card diff-text">
            <h3 class="mono">{visible(file)}</h3>
            {hunksOf(shown.text).map(hunk => (
              <HunkView
                key={hunk.header}
                hunk={hunk}
                file={file}
                isSplit={isSplit}
                comments={comments}
                writing={writing}
                onWrite={setWriting}
                onComment={comment => {
                  onComment(comment);
                  setWriting("");
                }}
              />
            ))}
            {canAct() && (
              <p class="soft hint">Click a line number to comment; comments go back to the agent together.</p>
            )}
          </div>
        );
      }}
    </Load>
  );
}

/** Sends the comments back. An active run cannot take them: it is stopped, and continues with them. */
function SendBack({
  detail,
  comments,
  onSent,
}: {
  detail: SubplanDetail;
  comments: readonly Comment[];
  onSent: () => void;
}) {
  const [note, setNote] = useState("");
  const text = feedbackText(comments, note);
  const isActive = strip.value?.is_active ?? false;
  const action = plainAction("retry", [detail.path]);
  const send = async (): Promise<void> => {
    const sent = await perform(isActive ? { ...action, body: { ...action.body, stop: true } } : action, text);
    if (!sent) return;
    onSent();
    const started = sent.data?.["run"];
    if (typeof started === "string") go(subplanAddress(started, detail.path));
  };
  return (
    <section class="send-back card" aria-label="Send back">
      <h2>{count(comments.length, "comment")} to send back</h2>
      <label>
        Anything else (optional)
        <textarea class="field" value={note} onInput={event => setNote(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="button" class="button primary" onClick={() => void send()}>
          {isActive ? "Stop the run and send back" : "Send back"}
        </button>
        <details>
          <summary>What the agent reads</summary>
          <pre class="lines">{visible(text)}</pre>
        </details>
      </div>
      {isActive && (
        <p>
          The run is active. It is stopped first: steps that run are ended, their work stays, and a new run
          continues everything with this feedback. Or wait until it has ended: the comments stay in this
          browser.
        </p>
      )}
      <p class="soft">
        A new attempt starts with this as its feedback, as{" "}
        <code>
          weft retry {visible(detail.path)} --file …{isActive && " --stop"}
        </code>{" "}
        does.
      </p>
    </section>
  );
}
