"""The changes of a subplan for a page: a list of files, and one file at a time."""

from collections.abc import Sequence
from typing import Literal

from weft.app.inspect.diffs import FileChange, View, find_diff, open_view
from weft.app.read_model.subplan_shapes import ChangeSet, FileDiffText, FileRow
from weft.app.record.journal import RecordedRun
from weft.errors import InputError

MOST_FILES = 300
MOST_LINES = 3_000
_MOST_BYTES = 2 << 20
_STATUSES: dict[str, Literal["added", "changed", "deleted"]] = {"added": "added", "deleted": "deleted"}


def change_set(
    recorded_run: RecordedRun, path: str, *, file: str = "", force: bool = False, since_attempt: bool = False
) -> ChangeSet:
    """Returns the changed files of a subplan and, if a file is named, its change.

    `since_attempt`: only what the last attempt has changed.
    """
    diff = find_diff(recorded_run, path or "/")
    last_attempt = diff.last_attempt
    diff = diff.since_last_attempt() if since_attempt else diff
    with open_view(diff) as view:
        changes = view.changes()
        unsaved = frozenset(view.uncommitted())
        text = _file_text(view, changes, file, force=force) if file else None
    added = sum(change.added or 0 for change in changes)
    removed = sum(change.removed or 0 for change in changes)
    shown_files = changes if force else changes[:MOST_FILES]
    return ChangeSet(
        path=path,
        branch=diff.branch,
        start=diff.start,
        last_attempt=last_attempt,
        head=diff.head,
        files=[
            FileRow(
                path=change.path,
                status=_STATUSES.get(change.status, "changed"),
                added=change.added,
                removed=change.removed,
                is_committed=change.path not in unsaved,
            )
            for change in shown_files
        ],
        more=len(changes) - len(shown_files),
        added=added,
        removed=removed,
        is_large=len(changes) > MOST_FILES or added + removed > MOST_LINES,
        file=text,
    )


def _file_text(view: View, changes: Sequence[FileChange], file: str, *, force: bool) -> FileDiffText:
    change = next((change for change in changes if change.path == file), None)
    if change is None:
        raise InputError(f"{file!r} has not changed")
    is_binary = change.added is None
    is_too_large = (change.added or 0) + (change.removed or 0) > MOST_LINES and not force
    text = b""
    if not is_binary and not is_too_large:
        command = view.command("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        # In place of the view's own files; `literal`, as a file name can contain the characters of patterns.
        text = view.git.do(*command[: command.index("--") + 1], f":(top,literal){file}", env=view.env)
    return FileDiffText(
        path=file,
        text=text[:_MOST_BYTES].decode("utf-8", "replace"),
        is_binary=is_binary,
        is_too_large=is_too_large,
    )
