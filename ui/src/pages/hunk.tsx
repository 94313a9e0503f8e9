/** A hunk of a diff, unified or side by side, with its comments. */
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { canAct } from "../live/operations";
import { type Comment, commentKey } from "../logic/comments";
import { type DiffLine, type Hunk, pairsOf } from "../logic/diff";
import { visible } from "../logic/words";

interface Properties {
  hunk: Hunk;
  file: string;
  isSplit: boolean;
  comments: readonly Comment[];
  /** The key of the line whose comment is being written. */
  writing: string;
  onWrite: (key: string) => void;
  onComment: (comment: Comment) => void;
}

export function HunkView(properties: Properties) {
  const { hunk, isSplit } = properties;
  return (
    <div class="scroll-x">
      <table class={`hunk ${isSplit ? "is-split" : ""}`}>
        <caption class="mono">{visible(hunk.header)}</caption>
        <tbody>{isSplit ? <SplitLines {...properties} /> : <UnifiedLines {...properties} />}</tbody>
      </table>
    </div>
  );
}

function UnifiedLines(properties: Properties) {
  return (
    <>
      {properties.hunk.lines.map(line => (
        <Fragment key={`${line.before} ${line.after}`}>
          <tr class={`mark-${line.mark}`}>
            <td class="line-number soft">{line.mark === "added" ? "" : line.before}</td>
            <NumberCell line={line} {...properties} />
            <Code line={line} />
          </tr>
          <CommentRow line={line} {...properties} span={3} />
        </Fragment>
      ))}
    </>
  );
}

function SplitLines(properties: Properties) {
  return (
    <>
      {pairsOf(properties.hunk.lines).map(({ left, right }) => {
        const line = right ?? left;
        return (
          <Fragment key={`${left?.before} ${right?.after}`}>
            <tr>
              {left ? (
                left.mark === "removed" ? (
                  <NumberCell line={left} {...properties} />
                ) : (
                  <td class="line-number soft">{left.before}</td>
                )
              ) : (
                <td class="line-number" />
              )}
              {left ? <Code line={left} /> : <td class="none-here" />}
              {right ? <NumberCell line={right} {...properties} /> : <td class="line-number" />}
              {right ? <Code line={right} /> : <td class="none-here" />}
            </tr>
            {left && left.mark === "removed" && <CommentRow line={left} {...properties} span={4} />}
            {line && line.mark !== "removed" && <CommentRow line={line} {...properties} span={4} />}
          </Fragment>
        );
      })}
    </>
  );
}

function placeOf(line: DiffLine, file: string): Pick<Comment, "file" | "line" | "isRemoved"> {
  return { file, line: line.after ?? line.before ?? 0, isRemoved: line.mark === "removed" };
}

function NumberCell({ line, file, onWrite }: Properties & { line: DiffLine }) {
  const place = placeOf(line, file);
  const number = line.mark === "removed" ? line.before : line.after;
  if (!canAct()) return <td class="line-number soft">{number}</td>;
  return (
    <td class={`line-number mark-${line.mark}`}>
      <button
        type="button"
        aria-label={`Comment on line ${number}${place.isRemoved ? " (removed)" : ""}`}
        onClick={() => onWrite(commentKey(place))}
      >
        {number}
      </button>
    </td>
  );
}

const SIGNS = { added: "+", removed: "−", same: " " };

function Code({ line }: { line: DiffLine }) {
  const [start, end] = line.changed ?? [0, 0];
  return (
    <td class={`code mark-${line.mark}`}>
      <span class="sign">{SIGNS[line.mark]}</span>
      {line.changed ? (
        <>
          {visible(line.text.slice(0, start))}
          <mark>{visible(line.text.slice(start, end))}</mark>
          {visible(line.text.slice(end))}
        </>
      ) : (
        visible(line.text)
      )}
    </td>
  );
}

function CommentRow({
  line,
  file,
  comments,
  writing,
  onWrite,
  onComment,
  span,
}: Properties & { line: DiffLine; span: number }) {
  const place = placeOf(line, file);
  const key = commentKey(place);
  const comment = comments.find(other => commentKey(other) === key);
  if (writing !== key && !comment) return null;
  return (
    <tr class="comment-row">
      <td colSpan={span}>
        {writing === key ? (
          <CommentForm
            text={comment?.text ?? ""}
            onSave={text => onComment({ ...place, code: line.text, text })}
            onCancel={() => onWrite("")}
          />
        ) : (
          <div class="comment">
            <p>{comment?.text}</p>
            <button type="button" class="link" onClick={() => onWrite(key)}>
              Edit
            </button>
          </div>
        )}
      </td>
    </tr>
  );
}

function CommentForm({
  text: first,
  onSave,
  onCancel,
}: {
  text: string;
  onSave: (text: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(first);
  return (
    <form
      class="comment"
      onSubmit={event => {
        event.preventDefault();
        onSave(text);
      }}
    >
      <textarea
        class="field"
        aria-label="Comment"
        ref={element => element?.focus()}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSave(text);
          if (event.key === "Escape") onCancel();
        }}
      />
      <div class="buttons">
        <button type="submit" class="button small primary">
          Keep
        </button>
        <button type="button" class="button small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
