import json
from pathlib import Path
from typing import Any

import pytest

from agents.builtin.talks import TALK
from weft.agents.builtin.conversation import ModelAnswer, ModelMessage, TokenCounts
from weft.agents.builtin.record import AgentRecord
from weft.errors import InputError


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    return tmp_path


def record(logs: Path, name: str = "a/code.1.2-3") -> AgentRecord:
    return AgentRecord(f"{logs}/{name}.result.json")


def told(logs: Path) -> dict[str, Any]:
    return dict(json.loads((logs / "a" / "code.1.2-3.result.json").read_text()))


def test_what_is_spent_adds_up_in_the_report(logs: Path) -> None:
    session_record = record(logs)
    session_record.add_spending(ModelAnswer(ModelMessage(""), TokenCounts(10, 2, 1), cost=0.25))
    session_record.add_spending(ModelAnswer(ModelMessage(""), TokenCounts(10, 2, 1), cost=0.5))
    tokens = {"input": 20, "output": 4, "cached_input": 2}
    assert told(logs) == {"tokens": tokens, "cost_usd": 0.75}


def test_a_cost_that_is_not_always_reported_is_not_known(logs: Path) -> None:
    session_record = record(logs)
    session_record.add_spending(ModelAnswer(ModelMessage(""), cost=0.25))
    session_record.add_spending(ModelAnswer(ModelMessage("")))
    session_record.add_spending(ModelAnswer(ModelMessage(""), cost=0.25))
    assert "cost_usd" not in told(logs)


def test_that_nothing_was_spent_can_be_known(logs: Path) -> None:
    session_record = record(logs)
    session_record.update(error="no")
    assert "tokens" not in told(logs)
    session_record.report_spending()
    assert (set(told(logs)["tokens"].values()), told(logs)["cost_usd"]) == ({0}, 0)


def test_an_error_is_reported_with_what_was_spent(logs: Path) -> None:
    session_record = record(logs)
    session_record.add_spending(ModelAnswer(ModelMessage(""), TokenCounts(1)))
    session_record.update(error="no")
    assert (told(logs)["error"], told(logs)["tokens"]["input"]) == ("no", 1)


def test_a_conversation_is_kept_and_resumed_by_its_name(logs: Path) -> None:
    record(logs).save(TALK)
    assert record(logs, "b/code.1.9-1").load("a/code.1.2-3") == TALK
    assert (logs / "a" / "code.1.2-3.session.json").stat().st_mode & 0o777 == 0o600


def test_a_conversation_is_reported_once_it_is_kept_and_not_before(logs: Path) -> None:
    session_record = record(logs)
    session_record.report_spending()
    assert "session" not in told(logs)
    session_record.save(TALK)
    assert told(logs)["session"] == "a/code.1.2-3"
    session_record.save(TALK)
    session_record.report_spending()
    assert told(logs)["session"] == "a/code.1.2-3"


def test_without_a_session_the_conversation_is_empty(logs: Path) -> None:
    assert record(logs).load(None) == ()


@pytest.mark.parametrize("session", ["none", "a/none", "../a/x", "../x", "/etc", "a/..", "a/b/c", "a/\0"])
def test_a_conversation_that_is_not_there_is_reported(logs: Path, session: str) -> None:
    with pytest.raises(InputError, match="conversation"):
        record(logs).load(session)


def test_of_a_conversation_that_is_gone_it_is_said_what_to_do(logs: Path) -> None:
    with pytest.raises(InputError, match="take `resume` out of the step, or rerun the slice"):
        record(logs).load("a/gone")


def test_a_conversation_of_elsewhere_is_none(logs: Path) -> None:
    (logs / "a" / "x.session.json").write_text("[]")
    session_record = AgentRecord(f"{logs}/a/b/code.result.json")
    with pytest.raises(InputError, match="there is no conversation"):
        session_record.load("../x")


@pytest.mark.parametrize("text", ["", "{}x", "[1]"])
def test_a_conversation_that_is_none_is_reported(logs: Path, text: str) -> None:
    (logs / "a" / "x.session.json").write_text(text)
    with pytest.raises(InputError, match="the conversation 'a/x' cannot be resumed"):
        record(logs).load("a/x")


def test_without_a_result_file_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session_record = AgentRecord(None)
    session_record.save(TALK)
    session_record.add_spending(ModelAnswer(ModelMessage("")))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="no conversation 'a/x'"):
        session_record.load("a/x")
