"""Describe tool calls of agents and their results.

Agents call their tools by different names, and name the arguments differently, but there are few kinds of tools.
The tables here cover the names that the supported agents use; an unknown tool is shown by its name.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from weft.agents.shared.streams import as_text, list_objects
from weft.ports.activity import Activity, Verb

_TOOLS = {
    Verb.READS: (
        *("read", "readfile", "view", "viewfile", "cat", "openfile", "notebookread", "readmanyfiles"),
        *("readtextfile", "viewimage", "fsread"),
    ),
    Verb.EDITS: (
        *("edit", "editfile", "multiedit", "replace", "strreplace", "strreplaceeditor", "searchreplace"),
        *("applypatch", "patch", "notebookedit", "strreplacebasededittool", "texteditor", "replaceinfile"),
    ),
    Verb.WRITES: ("write", "writefile", "create", "createfile", "writetofile", "fswrite"),
    Verb.DELETES: ("delete", "deletefile", "removefile"),
    Verb.RUNS: (
        *("bash", "shell", "runshellcommand", "execute", "exec", "execcommand", "runcommand", "terminal"),
        *("executecommand", "runterminalcommand", "localshell"),
    ),
    Verb.SEARCHES: (
        *("grep", "search", "searchfilecontent", "grepsearch", "codesearch", "searchfiles", "ripgrep", "rg"),
        *("websearch", "googlewebsearch", "searchtext", "codebasesearch"),
    ),
    Verb.LISTS: ("ls", "list", "glob", "listdirectory", "listfiles", "listdir", "find", "findfiles", "tree"),
    Verb.FETCHES: ("webfetch", "fetch", "openurl", "browse"),
    Verb.PLANS: ("todowrite", "todoread", "writetodos", "updateplan", "todo", "plan", "exitplanmode"),
    Verb.DELEGATES: ("task", "agent", "subagent", "spawnagent", "delegatetoagent", "codebaseinvestigator"),
}
_VERBS = {name: verb for verb, names in _TOOLS.items() for name in names}
_PATH_KEYS = (
    *("file_path", "path", "filePath", "absolute_path", "filename", "file", "notebook_path", "target_file"),
    *("dir_path", "directory", "paths", "include"),
)
_PATTERN_KEYS = ("pattern", "query", "regex", "search", "q")
_OBJECT_KEYS: Mapping[Verb, Sequence[str]] = {
    Verb.READS: _PATH_KEYS,
    Verb.EDITS: _PATH_KEYS,
    Verb.WRITES: _PATH_KEYS,
    Verb.DELETES: _PATH_KEYS,
    Verb.RUNS: ("command", "cmd", "script", "commands"),
    Verb.SEARCHES: _PATTERN_KEYS,
    Verb.LISTS: (*_PATTERN_KEYS, *_PATH_KEYS),
    Verb.FETCHES: ("url", "uri", "prompt"),
    Verb.PLANS: ("explanation", "title"),
    Verb.DELEGATES: ("description", "task", "prompt", "message", "objective"),
}
_OLD_KEYS = ("old_string", "oldString", "old_str", "old", "oldText", "old_text", "search", "before")
_NEW_KEYS = ("new_string", "newString", "new_str", "new", "newText", "new_text", "replace", "after")
_CONTENT_KEYS = ("content", "file_text", "text", "contents")
_PATCH_KEYS = ("patch", "diff", "input")
_VIEW_COMMANDS = {"view": Verb.READS, "create": Verb.WRITES, "write": Verb.WRITES}
"""Commands of the tools that read and edit by one name."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"})
_SHELL_WORDS = 3
_MOST_COUNTED = 2_000_000
"""Characters of an edit in which lines are counted."""


def describe_tool(name: str, arguments: object, *, call: str = "", is_open: bool = True) -> Activity:
    """Returns the activity of a tool call."""
    # Agents put the name of an extension before that of its tool: `developer__shell`, `mcp__github__search`.
    own_name = name.rpartition("__")[2] or name
    verb = _VERBS.get(re.sub(r"[^a-z]", "", own_name.lower()), Verb.USES)
    values = cast("Mapping[str, Any]", arguments if isinstance(arguments, Mapping) else {})
    if name.startswith("mcp__") or verb is Verb.USES:
        shown = f"{name.removeprefix('mcp__').replace('__', ' ')} {_short_arguments(values)}".strip()
        return Activity(verb=Verb.USES, object=shown, call=call, is_open=is_open)
    if verb is Verb.EDITS:
        verb = _VIEW_COMMANDS.get(as_text(values.get("command")), verb)
    added, removed = _changed_lines(verb, values)
    return Activity(
        verb=verb, object=_object(verb, values), added=added, removed=removed, call=call, is_open=is_open
    )


def _object(verb: Verb, values: Mapping[str, Any]) -> str:
    value = _first(values, _OBJECT_KEYS[verb])
    if verb is Verb.RUNS:
        return shell_command(value)
    if isinstance(value, list):
        value = ", ".join(map(as_text, cast("list[object]", value)))
    if not value and verb is Verb.EDITS:
        return ", ".join(patched_files(as_text(_first(values, _PATCH_KEYS))))
    return as_text(value)


def _first(values: Mapping[str, Any], keys: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    return next((values[key] for key in keys if values.get(key)), None)


def _short_arguments(values: Mapping[str, Any]) -> str:
    texts = (as_text(value) for value in values.values() if isinstance(value, str | int | float))
    return " ".join(text for text in texts if text)[:200]


def shell_command(command: object) -> str:
    """Returns a command line as people type it, without the shell that an agent puts around it."""
    if isinstance(command, list):
        words = [as_text(word) for word in cast("list[object]", command)]
        is_wrapped = len(words) == _SHELL_WORDS and words[0] in _SHELLS and words[1].startswith("-")
        return words[2] if is_wrapped else shlex.join(words)
    text = as_text(command)
    if text.partition(" ")[0] not in _SHELLS:
        return text
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    is_wrapped = len(words) == _SHELL_WORDS and words[1] in {"-c", "-lc"}
    return words[2] if is_wrapped else text


# --- lines of an edit ---


def _changed_lines(verb: Verb, values: Mapping[str, Any]) -> tuple[int | None, int | None]:
    if verb is Verb.WRITES:
        content = _first(values, _CONTENT_KEYS)
        return (len(content.splitlines()), None) if isinstance(content, str) else (None, None)
    if verb is not Verb.EDITS:
        return None, None
    patch = _first(values, _PATCH_KEYS)
    if isinstance(patch, str):
        return patched_lines(patch)
    edits = list_objects(values.get("edits")) or [values]
    counts = [count for edit in edits if (count := _edited_lines(edit)) is not None]
    return (
        (sum(added for added, _ in counts), sum(removed for _, removed in counts)) if counts else (None, None)
    )


def _edited_lines(edit: Mapping[str, Any]) -> tuple[int, int] | None:
    old, new = (
        next((edit[key] for key in keys if isinstance(edit.get(key), str)), None)
        for keys in (_OLD_KEYS, _NEW_KEYS)
    )
    if not isinstance(old, str) or not isinstance(new, str) or len(old) + len(new) > _MOST_COUNTED:
        return None
    return count_changes(old.splitlines(), new.splitlines())


def count_changes(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Returns the lines added and removed between the equal beginning and the equal end of both texts.

    A real diff can find fewer, but takes quadratic time.
    """
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    rest = shorter - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return len(new) - head - tail, len(old) - head - tail


def patched_lines(patch: str) -> tuple[int, int]:
    """Returns the lines that a patch adds and removes."""
    lines = patch.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)


_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S.*)$", re.MULTILINE)


def patched_files(patch: str) -> list[str]:
    return list(dict.fromkeys(_PATCHED.findall(patch)))
