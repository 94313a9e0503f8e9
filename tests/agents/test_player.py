import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from weft.agents.player import main


class Stage:
    """Where a script is played: a directory, and what comes out."""

    def __init__(self, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.captured = captured
        self.result_file = folder / "result.json"

    def play(self, *rules: Any, prompt: bytes = b"Do it", **environ: str) -> int:
        script = self.folder / "script.json"
        script.write_text(json.dumps(rules), encoding="utf-8")
        variables = {"WEFT_RESULT": str(self.result_file), **environ}
        return main([str(script)], variables, io.BytesIO(prompt))

    def do(self, *actions: dict[str, Any]) -> int:
        return self.play({"do": actions})

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.result_file.read_text(encoding="utf-8")))

    def output(self) -> tuple[str, str]:
        out, err = self.captured.readouterr()
        return out, err.replace(str(self.folder / "script.json"), "FILE")


@pytest.fixture
def stage(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.chdir(tmp_path)
    return Stage(tmp_path, capfd)


# --- which rule ---


def test_the_first_rule_that_fits_is_played(stage: Stage) -> None:
    rules = [
        {"step": "test", "do": [{"say": "tests"}]},
        {"subplan": "a", "attempt": 2, "prompt_contains": "red", "do": [{"say": "fixes"}]},
        {"do": [{"say": "anything"}]},
    ]
    assert stage.play(*rules, prompt=b"is red", WEFT_SUBPLAN="a", WEFT_STEP="code", WEFT_ATTEMPT="2") == 0
    assert stage.play(*rules, prompt=b"is red", WEFT_SUBPLAN="a", WEFT_STEP="code", WEFT_ATTEMPT="1") == 0
    assert stage.play(*rules, WEFT_STEP="test", WEFT_ATTEMPT="odd") == 0
    assert stage.output() == ("fixes\nanything\ntests\n", "")


def test_a_rule_is_passed_over_once_a_file_is_there(stage: Stage) -> None:
    rules = [
        {"unless_exists": "limited", "do": [{"touch": "limited"}, {"limit_for": 5}]},
        {"do": [{"say": "goes on"}]},
    ]
    assert [stage.play(*rules), stage.play(*rules)] == [1, 0]


def test_that_no_rule_fits_is_a_failure_that_says_what_was_asked_for(stage: Stage) -> None:
    rule = {"step": "x", "do": []}
    assert stage.play(rule, WEFT_SUBPLAN="a/b", WEFT_STEP="code", WEFT_ATTEMPT="2") == 1
    message = "error: FILE: none of the 1 rules fits subplan 'a/b', step 'code', attempt 2\n"
    assert stage.output() == ("", message)


def test_a_script_that_is_wrong_is_exit_code_2(stage: Stage) -> None:
    assert stage.do({"shout": "x"}) == 2
    assert stage.output()[1].startswith("error: FILE: rule 1, action 1: unknown key 'shout'")


@pytest.mark.parametrize("argv", [[], ["a", "b"]])
def test_the_player_takes_one_script(stage: Stage, argv: list[str]) -> None:
    assert main(argv, {}, io.BytesIO()) == 2
    assert stage.output()[1] == f"error: the player takes one argument, the script, not {len(argv)}\n"


# --- deeds ---


def test_it_prints_text_in_utf_8(stage: Stage) -> None:
    assert stage.do({"say": "Grüße"}, {"say": "half: \ud800"}) == 0
    assert stage.output() == ("Grüße\nhalf: ?\n", "")


def test_it_writes_appends_and_deletes_files(stage: Stage) -> None:
    (stage.folder / "old").touch()
    (stage.folder / "older").touch()
    stage.do(
        {"write": {"a/b/new": "one\r\n", "plain": "x"}},
        {"append": {"a/b/new": "two", "other/new": "three"}},
        {"touch": ["t/1", "plain"]},
        {"delete": ["old", "older"]},
    )
    assert stage.output() == ("", "")
    files = {
        str(file.relative_to(stage.folder)): file.read_bytes()
        for file in stage.folder.rglob("*")
        if file.is_file()
    }
    del files["script.json"]
    assert files == {"a/b/new": b"one\r\ntwo", "plain": b"x", "other/new": b"three", "t/1": b""}


def test_it_keeps_the_prompt_it_got(stage: Stage) -> None:
    stage.play({"do": [{"echo_prompt": "prompts/1"}]}, prompt="Tü\n".encode())
    assert (stage.folder / "prompts" / "1").read_text(encoding="utf-8") == "Tü\n"


@pytest.mark.parametrize("command", ["echo $((40 + 2))", ["echo", "42"]])
def test_it_runs_commands(stage: Stage, command: str | list[str]) -> None:
    assert stage.do({"say": "before"}, {"run": command}, {"say": "after"}) == 0
    assert stage.output() == ("before\n42\nafter\n", "")


def test_a_command_that_fails_fails_the_play(stage: Stage) -> None:
    assert stage.do({"run": "exit 3"}, {"say": "after"}) == 1
    message = "error: FILE: rule 1, action 1, `run`: 'exit 3' ended with exit code 3\n"
    assert stage.output() == ("", message)


def test_a_deed_that_cannot_be_done_fails_the_play(stage: Stage) -> None:
    assert stage.do({"say": "x"}, {"delete": "none"}) == 1
    assert stage.output()[1] == (
        "error: FILE: rule 1, action 2, `delete`: [Errno 2] No such file or directory: 'none'\n"
    )


def test_it_does_not_wait_for_a_file_that_is_there(stage: Stage) -> None:
    assert stage.do({"touch": "made"}, {"wait_for": "made"}) == 0


def test_it_sleeps(stage: Stage) -> None:
    assert stage.do({"sleep": 0.001}) == 0


@pytest.fixture
def kept_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("kept_handler")
def test_it_can_be_deaf_to_sigterm_and_hear_again(stage: Stage) -> None:
    stage.do({"ignore_sigterm": True})
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    stage.do({"ignore_sigterm": False})
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# --- reports and ends ---


def test_it_reports_result_cost_tokens_and_session(stage: Stage) -> None:
    assert stage.do({"result": {"ok": [1]}, "cost_usd": 0.25}, {"tokens": 7, "session": "s1"}) == 0
    assert stage.report == {"result": {"ok": [1]}, "cost_usd": 0.25, "tokens": 7, "session": "s1"}


def test_a_report_is_there_before_the_next_action(stage: Stage) -> None:
    stage.do({"cost_usd": 1}, {"run": f"cp {stage.result_file.name} seen"}, {"cost_usd": 2})
    assert json.loads((stage.folder / "seen").read_text(encoding="utf-8")) == {"cost_usd": 1}
    assert stage.report == {"cost_usd": 2}


def test_without_a_result_file_nothing_is_reported(stage: Stage) -> None:
    script = stage.folder / "s.json"
    script.write_text('[{"do": [{"result": "x"}]}]', encoding="utf-8")
    assert main([str(script)], {}, io.BytesIO()) == 0
    assert list(stage.folder.iterdir()) == [script]


def test_a_failure_is_reported_and_reported(stage: Stage) -> None:
    assert stage.do({"cost_usd": 1}, {"fail": "no idea"}) == 1
    assert stage.report == {"cost_usd": 1, "error": "no idea"}
    assert stage.output() == ("", "no idea\n")


def test_a_limit_is_reported(stage: Stage) -> None:
    assert stage.do({"limit_for": 60}) == 1
    assert stage.report == {"limited_for": 60}


def test_it_exits_with_the_code_of_the_script(stage: Stage) -> None:
    assert stage.do({"exit": 42}) == 42
