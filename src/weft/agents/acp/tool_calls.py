"""Describe the tool calls of a server as activities. Pure."""

from weft.agents.shared.call_results import command_result
from weft.agents.shared.event_activities import join_content
from weft.agents.shared.streams import as_text, list_objects, value_at
from weft.agents.shared.tool_activities import count_changes, shell_command
from weft.ports.activity import Activity, CallResult, Verb

_VERBS = {
    "read": Verb.READS,
    "edit": Verb.EDITS,
    "delete": Verb.DELETES,
    "search": Verb.SEARCHES,
    "execute": Verb.RUNS,
    "fetch": Verb.FETCHES,
    "think": Verb.THINKS,
}
_WITH_PATH = frozenset({Verb.READS, Verb.EDITS, Verb.DELETES})
_ENDS = frozenset({"completed", "failed"})


def describe_call(kind: object, call: object) -> Activity:
    """Returns the activity of a call. Servers need not state its kind."""
    verb = _VERBS.get(as_text(kind), Verb.USES)
    command = value_at(call, "rawInput", "command")
    shown = as_text(value_at(call, "title"))
    added = removed = None
    if verb in _WITH_PATH:
        paths = [as_text(place.get("path")) for place in list_objects(value_at(call, "locations"))]
        shown = ", ".join(dict.fromkeys(filter(None, paths))) or shown
        added, removed = _changed_lines(call)
    elif verb is Verb.RUNS and command:
        shown = shell_command(command)
    return Activity(
        verb=verb,
        object=shown,
        added=added,
        removed=removed,
        call=as_text(value_at(call, "toolCallId")),
        is_open=True,
    )


def _changed_lines(call: object) -> tuple[int | None, int | None]:
    diffs = [block for block in list_objects(value_at(call, "content")) if block.get("type") == "diff"]
    counts = [
        count_changes(as_text(diff.get("oldText")).splitlines(), as_text(diff.get("newText")).splitlines())
        for diff in diffs
    ]
    return (sum(added for added, _ in counts), sum(gone for _, gone in counts)) if counts else (None, None)


def describe_result(call: object) -> CallResult | None:
    """Returns the result of a call; None if the update does not end it."""
    if value_at(call, "status") not in _ENDS:
        return None
    blocks = [block.get("content") for block in list_objects(value_at(call, "content"))]
    exit_code = value_at(call, "rawOutput", "exitCode")
    return command_result(
        as_text(value_at(call, "toolCallId")),
        join_content(blocks),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        is_bad=value_at(call, "status") == "failed",
    )
