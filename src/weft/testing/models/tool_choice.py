"""Choose among the tools that an agent offers: which one runs a command, and which one writes a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.testing.models.conversation import OfferedTool
from weft.testing.models.script import ScriptStep
from weft.testing.models.values import list_of, table

NO_TOOLS = "Scripted title"
"""The answer if the request offers no suitable tool: agents send such requests for titles and summaries."""

_SHELLS = (
    *("bash", "shell", "shell_command", "exec_command", "run_shell_command", "local_shell", "terminal"),
    *("execute_bash", "run_terminal_cmd", "execute_command", "run_command", "run_commands"),
    *("developer__shell", "container.exec", "execute"),
)
_WRITERS = (
    *("write", "write_file", "writefile", "create_file", "create", "write_to_file", "developer__write"),
    *("str_replace_editor", "file_editor", "developer__text_editor", "text_editor", "editor"),
)
_SAMPLES: dict[str, Any] = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}

ToolUse = tuple[str, Any]
"""The name of a tool, and its arguments."""


def choose_calls(step: ScriptStep, tools: Sequence[OfferedTool]) -> tuple[str, list[ToolUse]]:
    """Returns the text and the tool calls of a step."""
    calls = [call for action in step.actions for call in _choose_calls(action, tools)]
    if step.actions and not calls:
        return NO_TOOLS, []
    return step.text, calls


def _choose_calls(action: Mapping[str, Any], tools: Sequence[OfferedTool]) -> Iterable[ToolUse]:
    if "tool" in action:
        return [(action["tool"]["name"], action["tool"]["arguments"])] if tools else []
    if "shell" in action:
        return _call_shell(tools, action["shell"])
    return _call_writer(tools, **action["write"])


def _call_shell(tools: Sequence[OfferedTool], command: str) -> list[ToolUse]:
    tool = _find_by_name(tools, _SHELLS) or next(
        (tool for tool in tools if {"command", "cmd"} & set(list_of(tool.schema.get("required")))), None
    )
    if tool is None:
        return []
    properties = _properties(tool)
    key = _key(properties, ("command", "cmd", "commands", "script"))
    value: object = command
    # Some tools take an argument vector instead of a command line.
    if table(properties.get(key)).get("type") == "array":
        value = [command] if key == "commands" else ["bash", "-lc", command]
    return [(tool.name, _complete_arguments(tool, {key: value}))]


def _call_writer(tools: Sequence[OfferedTool], path: str, content: str) -> list[ToolUse]:
    tool = _find_by_name(tools, _WRITERS)
    if tool is None:
        # Some agents offer only a shell.
        return _call_shell(tools, f"cat > {path} <<'SCRIPTED_EOF'\n{content}SCRIPTED_EOF\n")
    properties = _properties(tool)
    arguments = {
        _key(properties, ("path", "file_path", "filePath", "absolute_path", "filename")): path,
        _key(properties, ("content", "file_text", "contents", "text")): content,
    }
    if "create" in list_of(table(properties.get("command")).get("enum")):
        # Editors with several commands in one tool, where only this one writes a whole file.
        arguments["command"] = "create"
    return [(tool.name, _complete_arguments(tool, arguments))]


def _find_by_name(tools: Sequence[OfferedTool], names: Sequence[str]) -> OfferedTool | None:
    offered = {tool.name.lower(): tool for tool in tools}
    return next((offered[name] for name in names if name in offered), None)


def _properties(tool: OfferedTool) -> Mapping[str, Any]:
    return table(tool.schema.get("properties"))


def _key(properties: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((name for name in names if name in properties), names[0])


def _complete_arguments(tool: OfferedTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Adds harmless values for the other required arguments of the tool."""
    properties = _properties(tool)
    missing = [name for name in list_of(tool.schema.get("required")) if name not in arguments]
    return arguments | {name: _sample(table(properties.get(name)), name) for name in missing}


def _sample(schema: Mapping[str, Any], name: str) -> object:
    if list_of(schema.get("enum")):
        return schema["enum"][0]
    kinds = [kind for kind in list_of(schema.get("type")) if kind != "null"] or [schema.get("type")]
    text = "." if name in {"workdir", "cwd", "directory", "dir_path"} else "scripted step"
    return _SAMPLES.get(str(kinds[0]), text)
