"""Agents' streams as short lines for people."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.recorded import output
from weft.agents.adapters import ADAPTERS, adapter_of
from weft.agents.shared.activity_lines import activity_line, describe_activity_line
from weft.agents.shared.activity_reader import (
    LONGEST_LINE,
    LONGEST_OBJECT,
    LONGEST_OUTCOME,
    LONGEST_TEXT,
    MOST_OPEN_CALLS,
    ActivityReader,
)
from weft.agents.shared.tool_activities import describe_tool
from weft.app.views.wording.activities import activity_line as words
from weft.app.views.wording.activities import activity_lines
from weft.ports.activity import Activity, CallResult, DescribeLine, Verb

ROOT = "/srv/project/.weft/worktrees/notes/store"
STREAMS = tuple(use for use in ADAPTERS if adapter_of(use).describe is not None)
DESCRIBERS = [
    describe
    for use in ADAPTERS
    for describe in (adapter_of(use).describe, adapter_of(use).describe_errors)
    if describe is not None
]


def read(describe: DescribeLine, data: bytes, *, piece: int = 0) -> list[Activity]:
    reader = ActivityReader(describe, (ROOT, "/srv/project"))
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)] if piece else [data]
    updates = [activity for part in pieces for activity in reader.feed(part)]
    return last_states([*updates, *reader.flush()])


def last_states(updates: list[Activity]) -> list[Activity]:
    return list({(activity.start, activity.index): activity for activity in updates}.values())


def lines(use: str, *events: object) -> list[str]:
    describe = adapter_of(use).describe
    assert describe is not None
    data = "".join(f"{json.dumps(event)}\n" for event in events).encode()
    return [words(activity) for activity in read(describe, data)]


# --- recordings ---

CHILD = "nohup sh -c 'read _ < child.gate' >/dev/null 2>&1 </dev/null & read _ < tool.gate; echo started"


@pytest.mark.parametrize("use", ["claude", "codex", "gemini", "goose", "opencode"])
def test_a_recorded_stream_becomes_a_command_with_its_outcome_and_an_answer(use: str) -> None:
    describe = adapter_of(use).describe
    assert describe is not None
    shown = [words(activity) for activity in read(describe, output(use, "child").encode())]
    assert shown[-2:] == [f"runs {CHILD} → ok", "says: All is done."]


def test_pi_shows_a_command_without_an_outcome_because_its_results_are_filtered() -> None:
    describe = adapter_of("pi").describe
    assert describe is not None
    assert [words(activity) for activity in read(describe, output("pi", "child").encode())] == [
        f"runs {CHILD}",
        "says: All is done.",
    ]


def test_aider_shows_its_edits_and_leaves_its_prose_as_it_is() -> None:
    describe = adapter_of("aider").describe
    assert describe is not None
    shown = [words(activity) for activity in read(describe, output("aider", "good").encode())]
    assert shown[0] == "Aider v0"
    assert shown[-1] == "edits hello.txt"


@pytest.mark.parametrize("use", ["claude", "codex", "gemini", "goose", "opencode", "pi"])
def test_the_error_of_a_model_is_shown(use: str) -> None:
    describe = adapter_of(use).describe
    assert describe is not None
    shown = [words(activity) for activity in read(describe, output(use, "broken").encode())]
    assert any("oops" in line or "high demand" in line for line in shown)
    assert not any(line.startswith("{") for line in shown)


@pytest.mark.parametrize("use", ["command", "scripted", "vibe", "mini-swe-agent"])
def test_agents_that_write_text_have_no_describer(use: str) -> None:
    assert (adapter_of(use).describe, adapter_of(use).describe_errors) == (None, None)


# --- kinds of activities ---


def test_claude_reads_edits_writes_runs_searches_and_thinks() -> None:
    def use(number: int, name: str, **arguments: object) -> dict[str, object]:
        block = {"type": "tool_use", "id": str(number), "name": name, "input": arguments}
        return {"type": "assistant", "message": {"content": [block]}}

    def result(number: int, text: str, *, is_error: bool = False) -> dict[str, object]:
        block = {"type": "tool_result", "tool_use_id": str(number), "content": text, "is_error": is_error}
        return {"type": "user", "message": {"content": [block]}}

    thought = {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Hm.\nSo"}]}}
    pytest_output = "Exit code 1\nF..\n=== 1 failed, 2 passed in 0.03s ==="
    assert lines(
        "claude",
        {"type": "system", "subtype": "init", "cwd": ROOT},
        thought,
        use(1, "Read", file_path=f"{ROOT}/src/a.py"),
        result(1, "1 passed in 0.1s"),
        use(2, "Edit", file_path=f"{ROOT}/src/a.py", old_string="a\nb\nc\n", new_string="a\nx\ny\nc\n"),
        result(2, "ok"),
        use(3, "Write", file_path="b.py", content="1\n2\n"),
        use(4, "Grep", pattern="def main"),
        use(5, "Bash", command=f"cd {ROOT} && pytest -q {ROOT}/tests"),
        result(5, pytest_output, is_error=True),
        use(6, "Read", file_path="/etc/nothing"),
        result(6, "File does not exist.", is_error=True),
        use(7, "mcp__github__find_issues", query="is:open"),
        use(8, "TodoWrite", todos=[]),
        use(9, "MultiEdit", file_path="c.py", edits=[{"old_string": "1", "new_string": "2\n3"}] * 2),
    ) == [
        "thinks: Hm. So",
        "reads src/a.py",
        "edits src/a.py +2 \N{MINUS SIGN}1",
        "writes b.py +2",
        "searches 'def main'",
        "runs pytest -q tests → 1 failed, 2 passed",
        "reads /etc/nothing → failed: File does not exist.",
        "uses github find_issues is:open",
        "plans",
        "edits c.py +4 \N{MINUS SIGN}2",
    ]


def test_codex_shows_commands_files_and_plans() -> None:
    def item(what: str, number: int, **fields: object) -> dict[str, object]:
        return {"type": f"item.{what}", "item": {"id": f"item_{number}", **fields}}

    command = {"type": "command_execution", "command": "/bin/bash -lc 'pytest -q'"}
    changes = [{"path": f"{ROOT}/src/{kind}.py", "kind": kind} for kind in ("add", "update", "delete")]
    todo = [{"text": "a", "completed": True}, {"text": "b", "completed": False}]
    assert lines(
        "codex",
        item("completed", 0, type="reasoning", text="**Looking**"),
        item("started", 1, **command),
        item("completed", 1, **command, exit_code=1, aggregated_output="2 failed in 0.10s\n"),
        item("started", 2, type="file_change", changes=changes),
        item("completed", 2, type="file_change", changes=changes, status="completed"),
        item("started", 3, type="web_search", query="weft"),
        item("completed", 3, type="web_search", query="weft"),
        item("completed", 4, type="mcp_tool_call", server="db", tool="query", arguments={"sql": "select 1"}),
        item("completed", 5, type="todo_list", items=todo),
    ) == [
        "thinks: **Looking**",
        "runs pytest -q → 2 failed",
        "writes src/add.py",
        "edits src/update.py",
        "deletes src/delete.py",
        "searches 'weft'",
        "uses db query select 1",
        "plans 1 of 2 steps done",
    ]


def test_goose_joins_the_chunks_of_a_message_and_names_tools_without_their_extension() -> None:
    def message(content: object, *, role: str = "assistant", name: str = "m") -> dict[str, object]:
        return {"type": "message", "message": {"id": name, "role": role, "content": [content]}}

    call = {"name": "developer__text_editor", "arguments": {"command": "view", "path": f"{ROOT}/a.py"}}
    shell = {"name": "developer__shell", "arguments": {"command": "false"}}
    failed = {"isError": False, "content": [], "structuredContent": {"exit_code": 3}}
    assert lines(
        "goose",
        message({"type": "text", "text": "Let me "}),
        message({"type": "text", "text": "look."}),
        message({"type": "toolRequest", "id": "1", "toolCall": {"value": call}}),
        message({"type": "toolRequest", "id": "2", "toolCall": {"value": shell}}),
        message({"type": "toolResponse", "id": "2", "toolResult": {"value": failed}}, role="user"),
        message({"type": "text", "text": "Done."}, name="n"),
    ) == ["says: Let me look.", "reads a.py", "runs false → exit code 3", "says: Done."]


def test_opencode_times_its_activities() -> None:
    describe = adapter_of("opencode").describe
    assert describe is not None
    event = {"type": "text", "timestamp": 1_500, "part": {"text": "Hello"}}
    (activity,) = read(describe, json.dumps(event).encode())
    assert activity.at == 1.5


def test_a_patch_is_an_edit_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n-old\n+new\n+more\n*** Add File: b.py\n+x\n*** End Patch"
    activity = describe_tool("apply_patch", {"input": patch})
    assert (activity.object, activity.added, activity.removed) == ("a.py, b.py", 3, 1)


def test_arguments_of_a_command_can_be_a_list() -> None:
    assert describe_tool("shell", {"command": ["bash", "-lc", "ls | wc"]}).object == "ls | wc"
    assert describe_tool("shell", {"command": ["git", "log", "a b"]}).object == "git log 'a b'"


# --- the reader ---


def test_a_message_keeps_its_lines_and_is_one_line_in_a_table() -> None:
    activity = Activity(verb=Verb.SAYS, object="First\n\n- second")
    assert activity_lines(activity) == ["says: First", "", "  - second"]
    assert words(activity) == "says: First - second"


def test_an_unknown_line_is_shown_as_it_is_without_control_codes() -> None:
    describe = adapter_of("claude").describe
    assert describe is not None
    data = b'warning: \x1b[31mred\x1b[0m \x07\xe2\x80\xae\n{"type": "assis\n{"other": 1}\n'
    assert [words(activity) for activity in read(describe, data)] == [
        "warning: red \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}",
        '{"type": "assis',
        '{"other": 1}',
    ]


def test_a_line_that_is_too_long_is_not_kept() -> None:
    describe = adapter_of("claude").describe
    assert describe is not None
    long = b"x" * (LONGEST_LINE + 1)
    first, second = read(describe, long + b"\nafter\n", piece=1 << 16)
    assert (words(first), words(second)) == (f"[a line of {len(long):,} bytes]", "after")
    assert (second.start, second.end) == (len(long) + 1, len(long) + 7)


def test_calls_without_a_result_do_not_fill_the_memory() -> None:
    def describe(line: str) -> list[Activity | CallResult]:
        return [CallResult(call=line[1:])] if line[0] == "-" else [describe_tool("bash", {}, call=line)]

    count = MOST_OPEN_CALLS * 3
    reader = ActivityReader(describe)
    reader.feed(b"".join(b"%d\n" % number for number in range(count)))
    results = reader.feed(b"".join(b"-%d\n" % number for number in range(count)))
    assert len(results) == MOST_OPEN_CALLS


@pytest.mark.parametrize("use", STREAMS)
def test_offsets_cut_the_stream_at_its_lines(use: str) -> None:
    describe = adapter_of(use).describe
    assert describe is not None
    data = output(use, "good").encode()
    for activity in read(describe, data):
        assert data[activity.start : activity.end].endswith(b"\n") or activity.end == len(data)
        assert activity.start == 0 or data[activity.start - 1 : activity.start] == b"\n"


@pytest.mark.parametrize("use", STREAMS)
@pytest.mark.parametrize("piece", [1, 7, 100])
def test_pieces_of_any_size_give_the_same_activities(use: str, piece: int) -> None:
    describe = adapter_of(use).describe
    assert describe is not None
    data = output(use, "good").encode()
    assert read(describe, data, piece=piece) == read(describe, data)


def test_another_reader_continues_at_the_first_open_call() -> None:
    describe = adapter_of("codex").describe
    assert describe is not None
    data = output("codex", "ended").encode()
    reader = ActivityReader(describe)
    (*_, opened) = reader.feed(data)
    assert opened.is_open
    assert reader.resume_offset == opened.start < reader.line_offset == len(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "type",
                        "message",
                        "content",
                        "item",
                        "part",
                        "text",
                        "role",
                        "id",
                        "name",
                        "input",
                        "state",
                    ),
                    *(
                        "command",
                        "file_path",
                        "changes",
                        "items",
                        "toolCall",
                        "value",
                        "arguments",
                        "edits",
                        "tool",
                    ),
                    *(
                        "tool_use_id",
                        "old_string",
                        "new_string",
                        "call",
                        "verb",
                        "object",
                        "exit_code",
                        "output",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
types = st.sampled_from(
    [
        *("assistant", "user", "result", "system", "item.completed", "item.started", "message", "tool_use"),
        *("tool_result", "text", "message_end", "tool_execution_start", "error", "turn.failed", "activity"),
    ]
)
events = st.builds(
    lambda kind, rest: json.dumps({**rest, "type": kind}).encode(),
    types,
    st.dictionaries(
        st.sampled_from(["message", "item", "part", "content", "tool_id", "parameters", "args", "errors"]),
        json_values,
        max_size=4,
    ),
)
streams = st.lists(st.binary(max_size=60) | events, max_size=8).map(b"\n".join)


@given(data=streams, piece=st.integers(1, 50))
def test_any_bytes_give_bounded_printable_activities(data: bytes, piece: int) -> None:
    for describe in DESCRIBERS:
        for activity in read(describe, data, piece=piece):
            assert len(activity.object) <= max(LONGEST_OBJECT, LONGEST_TEXT)
            assert len(activity.outcome) <= LONGEST_OUTCOME
            assert words(activity).isprintable()
            assert all(line.isprintable() for line in activity_lines(activity))
            assert 0 <= activity.start < activity.end <= len(data)


@given(
    activity=st.builds(
        Activity,
        verb=st.sampled_from(Verb),
        object=st.text(st.characters(), max_size=50),
        added=st.none() | st.integers(0, 9),
        call=st.text(max_size=5),
        is_open=st.booleans(),
    )
    | st.builds(CallResult, call=st.text(max_size=5), outcome=st.text(max_size=300), is_bad=st.booleans())
)
def test_activities_of_our_own_agents_survive_their_lines(activity: Activity | CallResult) -> None:
    line = activity_line(activity)
    assert "\n" not in line
    (decoded,) = describe_activity_line(line) or ()
    if isinstance(activity, CallResult):
        assert decoded.outcome == activity.outcome[:LONGEST_OUTCOME]
    else:
        assert decoded == activity


def test_a_name_with_a_lone_surrogate_does_not_break_a_line() -> None:
    activity = Activity(verb=Verb.READS, object=os.fsdecode(b"\xff.txt"))
    (decoded,) = describe_activity_line(activity_line(activity)) or ()
    assert isinstance(decoded, Activity)
    assert decoded.object == "?.txt"
