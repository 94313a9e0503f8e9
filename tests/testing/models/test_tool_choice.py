from typing import Any

import pytest

from weft.testing.models.conversation import OfferedTool
from weft.testing.models.script import ScriptStep
from weft.testing.models.tool_choice import NO_TOOLS, choose_calls


def tool(name: str, *required: str, **properties: Any) -> OfferedTool:
    return OfferedTool(name, {"properties": properties, "required": list(required)})


def shell(*tools: OfferedTool) -> list[tuple[str, Any]]:
    return choose_calls(ScriptStep(actions=({"shell": "ls"},)), tools)[1]


def write(*tools: OfferedTool) -> list[tuple[str, Any]]:
    return choose_calls(ScriptStep(actions=({"write": {"path": "a", "content": "b\n"}},)), tools)[1]


TEXT = {"type": "string"}


def test_a_command_goes_to_whatever_tool_is_called_like_a_shell() -> None:
    assert shell(tool("read"), tool("Bash", command=TEXT)) == [("Bash", {"command": "ls"})]
    assert shell(tool("exec_command", cmd=TEXT)) == [("exec_command", {"cmd": "ls"})]


def test_or_to_one_that_takes_a_command() -> None:
    assert shell(tool("x", "path"), tool("odd", "cmd", cmd=TEXT)) == [("odd", {"cmd": "ls"})]
    assert shell(tool("x", "path")) == []


def test_a_command_may_have_to_be_a_list() -> None:
    assert shell(tool("shell", command={"type": "array"})) == [("shell", {"command": ["bash", "-lc", "ls"]})]
    assert shell(tool("run_commands", commands={"type": "array"})) == [("run_commands", {"commands": ["ls"]})]


def test_a_file_goes_to_a_tool_that_writes_or_else_through_the_shell() -> None:
    writer = tool("write_file", file_path=TEXT, contents=TEXT)
    assert write(writer) == [("write_file", {"file_path": "a", "contents": "b\n"})]
    editor = tool("editor", path=TEXT, file_text=TEXT, command={"enum": ["view", "create"]})
    assert write(editor) == [("editor", {"path": "a", "file_text": "b\n", "command": "create"})]
    command = "cat > a <<'SCRIPTED_EOF'\nb\nSCRIPTED_EOF\n"
    assert write(tool("bash", command=TEXT)) == [("bash", {"command": command})]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, False),
        ({"type": ["null", "integer"]}, 60),
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({"enum": ["x", "y"]}, "x"),
        ({"type": "string"}, "scripted step"),
        ({}, "scripted step"),
    ],
)
def test_what_else_a_tool_needs_is_filled_in(schema: Any, value: object) -> None:
    assert shell(tool("bash", "command", "more", more=schema)) == [("bash", {"command": "ls", "more": value})]


def test_where_a_command_runs_is_here() -> None:
    assert shell(tool("bash", "workdir", workdir=TEXT)) == [("bash", {"command": "ls", "workdir": "."})]


def test_a_named_tool_is_called_exactly_if_any_tools_are_offered() -> None:
    step = ScriptStep(text="so", actions=({"tool": {"name": "odd", "arguments": "{"}},))
    assert choose_calls(step, [tool("x")]) == ("so", [("odd", "{")])
    assert choose_calls(step, []) == (NO_TOOLS, [])


def test_a_step_without_calls_is_said_whatever_is_offered() -> None:
    assert choose_calls(ScriptStep(text="so"), []) == ("so", [])
