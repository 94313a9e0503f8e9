"""The scripted agent as a real process, from the call to the verdict."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.calls import NOW, call, ended
from weft.agents.scripted import ADAPTER
from weft.engine.messages.facts import StepOutcome
from weft.errors import InputError
from weft.ports.agent import AgentCall, Verdict


def scripted(folder: Path, *actions: dict[str, Any], name: str = "script.json") -> AgentCall:
    (folder / name).write_text(json.dumps([{"do": actions}]), encoding="utf-8")
    return call(
        agent={"use": "scripted", "script": name},
        plan_dir=str(folder),
        cwd=str(folder),
        result_file=str(folder / "result.json"),
    )


def started(asked: AgentCall) -> subprocess.Popen[str]:
    invocation = ADAPTER.invoke(asked)
    process = subprocess.Popen(
        invocation.argv,
        cwd=asked.cwd,
        env={**os.environ, **invocation.env, "WEFT_RESULT": asked.result_file},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(invocation.stdin or "")
    process.stdin.close()
    process.stdin = None
    return process


def verdict_of(asked: AgentCall, process: subprocess.Popen[str]) -> Verdict:
    stdout, stderr = process.communicate()
    file = Path(asked.result_file)
    code = process.returncode
    return ADAPTER.judge(
        asked,
        ended(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            stdout=stdout,
            stderr=stderr,
            result_file=file.read_text(encoding="utf-8") if file.exists() else None,
        ),
    )


def test_it_plays_the_script_beside_the_plan(tmp_path: Path) -> None:
    agent_call = scripted(
        tmp_path, {"echo_prompt": "prompt", "say": "working"}, {"result": "done", "cost_usd": 0.1}
    )
    assert verdict_of(agent_call, started(agent_call)) == Verdict(
        how=StepOutcome.DONE, result="done", cost=100_000
    )
    assert (tmp_path / "prompt").read_text(encoding="utf-8") == "Do it"


def test_what_it_says_is_its_result_if_it_has_no_other(tmp_path: Path) -> None:
    agent_call = scripted(tmp_path, {"say": "all well"}, name="script.yaml")
    assert verdict_of(agent_call, started(agent_call)) == Verdict(how=StepOutcome.DONE, result="all well")


def test_a_script_that_is_wrong_is_a_failure_that_says_where(tmp_path: Path) -> None:
    agent_call = scripted(tmp_path, {"shout": "x"})
    verdict = verdict_of(agent_call, started(agent_call))
    assert verdict.how is StepOutcome.FAILED
    assert verdict.message.startswith(
        f"exit code 2: error: {tmp_path}/script.json: rule 1, action 1: unknown key 'shout'"
    )


def test_a_limit_is_a_limit(tmp_path: Path) -> None:
    agent_call = scripted(tmp_path, {"cost_usd": 0.5, "limit_for": 60})
    verdict = verdict_of(agent_call, started(agent_call))
    assert (verdict.how, verdict.until, verdict.cost) == (StepOutcome.LIMITED, NOW + 60, 500_000)


def test_one_that_is_killed_has_reported_its_cost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    agent_call = scripted(tmp_path, {"cost_usd": 0.5}, {"run": "echo x >ready"}, {"wait_for": "never"})
    process = started(agent_call)
    (tmp_path / "ready").read_text(encoding="utf-8")
    process.send_signal(signal.SIGKILL)
    verdict = verdict_of(agent_call, process)
    assert (verdict.how, verdict.message, verdict.cost) == (StepOutcome.FAILED, "killed by SIGKILL", 500_000)


def test_one_that_ignores_sigterm_continues(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    agent_call = scripted(
        tmp_path,
        {"ignore_sigterm": True},
        {"run": "echo x >ready"},
        {"wait_for": "go"},
        {"result": "still here"},
    )
    process = started(agent_call)
    (tmp_path / "ready").read_text(encoding="utf-8")
    process.send_signal(signal.SIGTERM)
    (tmp_path / "go").touch()
    assert verdict_of(agent_call, process).result == "still here"


def test_it_waits_for_a_file_that_another_process_makes(tmp_path: Path) -> None:
    child = "exec >/dev/null 2>&1; echo x >made.new; mv made.new made"
    agent_call = scripted(tmp_path, {"spawn_child": child}, {"wait_for": "made"}, {"run": "cat made"})
    assert verdict_of(agent_call, started(agent_call)).result == "x"


def test_a_child_it_leaves_behind_outlives_it_in_a_session_of_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    os.mkfifo(tmp_path / "end")
    child = "exec >/dev/null 2>&1; read _ <end; cut -d' ' -f6 /proc/$$/stat >told"
    agent_call = scripted(tmp_path, {"spawn_child": ["/bin/sh", "-c", child]}, {"result": "gone"})
    assert verdict_of(agent_call, started(agent_call)).result == "gone"
    (tmp_path / "end").write_text("now\n", encoding="utf-8")
    session = (tmp_path / "told").read_text(encoding="utf-8")
    assert int(session) != os.getsid(0)


def test_files_of_the_worktree_are_not_taken_for_python_s_own(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(99)", encoding="utf-8")
    agent_call = scripted(tmp_path, {"result": "fine"})
    assert verdict_of(agent_call, started(agent_call)).result == "fine"


def test_a_script_in_json_is_played_without_yaml_and_records() -> None:
    code = "import sys, weft.agents.player; print(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"yaml", "msgspec"}.isdisjoint(process.stdout.split())


def test_what_the_plan_adds_to_its_command_line_is_handed_on() -> None:
    invocation = ADAPTER.invoke(
        call(agent={"use": "scripted", "script": "/elsewhere/s.json", "args": ("x",)})
    )
    assert invocation.argv[-2:] == ("/elsewhere/s.json", "x")


def test_the_environment_reports_the_conversation() -> None:
    agent = {"use": "scripted", "script": "s.json"}
    assert ADAPTER.invoke(call(agent=agent, session="s1")).env == {"WEFT_SESSION": "s1"}


def test_an_agent_without_a_script_is_refused() -> None:
    with pytest.raises(InputError, match="'coder' has no `script`"):
        ADAPTER.invoke(call(agent={"use": "scripted"}))
