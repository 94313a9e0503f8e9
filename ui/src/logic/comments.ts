/** Comments on lines of a diff, collected until they are sent back to the agent as the feedback of a new attempt. */

export interface Comment {
  file: string;
  /** The line after the change; of a removed line, the line before it. */
  line: number;
  isRemoved: boolean;
  /** The line as it is in the diff. */
  code: string;
  text: string;
}

export function commentKey(comment: Pick<Comment, "file" | "line" | "isRemoved">): string {
  return `${comment.file}:${comment.isRemoved ? "-" : ""}${comment.line}`;
}

/** Returns the comments with one added or replaced; an empty text removes it. */
export function withComment(comments: readonly Comment[], comment: Comment): Comment[] {
  const others = comments.filter(other => commentKey(other) !== commentKey(comment));
  return comment.text.trim() ? sorted([...others, { ...comment, text: comment.text.trim() }]) : others;
}

function sorted(comments: Comment[]): Comment[] {
  return comments.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

/** Returns the feedback for the agent: the note, then each comment with its place and its line. */
export function feedbackText(comments: readonly Comment[], note: string): string {
  const parts = comments.map(comment => {
    const removed = comment.isRemoved ? " (removed)" : "";
    const code = comment.code.trim() ? `\n    ${comment.code.trim()}` : "";
    return `${comment.file}:${comment.line}${removed}${code}\n  ${comment.text.replaceAll("\n", "\n  ")}`;
  });
  return [note.trim(), ...parts].filter(Boolean).join("\n\n");
}
