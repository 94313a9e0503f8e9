import os
from pathlib import Path
from typing import Any

import pytest

from weft.agents.builtin.conversation import ToolCall
from weft.agents.builtin.tools import MOST_OUTPUT, TOOLS, Toolbox, list_tools


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return toolbox(tmp_path)


def toolbox(folder: Path, *, read_only: bool = False, command_timeout: int = 60) -> Toolbox:
    environ = {"PATH": os.environ["PATH"]}
    return Toolbox(str(folder), environ, read_only=read_only, command_timeout=command_timeout)


def use(box: Toolbox, name: str, **arguments: Any) -> str:
    return box.use(ToolCall("1", name, arguments))


def test_every_tool_can_be_used(box: Toolbox, tmp_path: Path) -> None:
    assert use(box, "write_file", path="a", content="one\n") == "wrote a: 4 bytes"
    assert use(box, "edit_file", path="a", old="one", new="two") == "replaced it once in a"
    assert use(box, "read_file", path="a", first=1, lines=1) == "two\n"
    assert use(box, "list_files") == "a"
    assert use(box, "search", pattern="t.o") == "a:1: two"
    assert use(box, "shell", command="cat a", timeout=5) == "two\n\n[exit code 0]"
    assert use(box, "done", text="so") == "so"


def test_an_empty_result_is_said_to_be_one(box: Toolbox) -> None:
    assert use(box, "done", text="") == "[nothing]"


def test_a_command_has_no_more_time_than_is_allowed(tmp_path: Path) -> None:
    output = use(toolbox(tmp_path, command_timeout=1), "shell", command="sleep 1000", timeout=900)
    assert output == "\n[ended, as it took longer than 1 seconds]"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("fly", {}, "there is no tool 'fly'; the tools are shell, read_file"),
        ("read_file", {}, "the argument `path` is missing"),
        ("read_file", {"path": None}, "the argument `path` is missing"),
        ("read_file", {"path": 1}, "`path` must be of type string"),
        ("read_file", {"path": "a", "lines": True}, "`lines` must be of type integer"),
        (
            "read_file",
            {"path": "a", "x": 1},
            "there is no argument 'x'; the arguments are path, first, lines",
        ),
        ("read_file", {"path": "../x"}, "'../x' leads out of the working directory"),
    ],
)
def test_a_call_that_is_wrong_is_reported(
    box: Toolbox, name: str, arguments: dict[str, Any], problem: str
) -> None:
    assert use(box, name, **arguments).startswith(f"error: {problem}")


def test_what_the_model_wrote_wrongly_is_reported(box: Toolbox) -> None:
    assert (
        box.use(ToolCall("1", "shell", {}, "the arguments are not JSON"))
        == "error: the arguments are not JSON"
    )


def test_a_long_result_is_shortened_and_a_name_that_is_no_text_is_replaced(
    box: Toolbox, tmp_path: Path
) -> None:
    (tmp_path / "long").write_text("x" * 100_000)
    assert len(use(box, "read_file", path="long")) < MOST_OUTPUT + 100
    (tmp_path / os.fsdecode(b"\xff")).touch()
    assert use(box, "list_files") == "long\n?"


def test_a_read_only_step_gets_no_tool_that_writes(tmp_path: Path) -> None:
    names = [tool.name for tool in list_tools(read_only=True)]
    assert names == ["read_file", "list_files", "search", "done"]
    box = toolbox(tmp_path, read_only=True)
    for name in ("shell", "write_file", "edit_file"):
        assert use(box, name, command="touch a", path="a", content="x").startswith(
            f"error: there is no tool {name!r}"
        )
    assert list(tmp_path.iterdir()) == []


def test_tools_are_described_by_a_schema() -> None:
    describe = {tool.name: tool.describe() for tool in TOOLS}
    schema = describe["shell"]["parameters"]
    assert schema["required"] == ["command"]
    assert schema["properties"]["timeout"]["type"] == "integer"
    assert not schema["additionalProperties"]
    assert all(description["description"] for description in describe.values())
