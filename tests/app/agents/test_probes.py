"""Agents that are asked for a word: real processes, of which nothing is left."""

import os
from pathlib import Path

import pytest

from app.programs import Programs
from hosts.places import is_alive
from weft.app.agents.overview import PlanAgents, find_agents, overview
from weft.app.agents.probes import PROMPT, probe, to_probe
from weft.app.agents.question import AgentReply, reply_of
from weft.app.project.approval import NotApprovedError
from weft.engine.messages.facts import Ended, StepOutcome
from weft.errors import InputError, WeftError
from weft.plan.model import Agent

LONG = 3600.0
PLAN = """\
weft: 1
plan: p
model: m-9
prices: {m-9: {input: 1, output: 10}}
agents:
  good: {use: command, command: "cat >prompt; ls >files; cat files; cp files prompt OUT; echo $WEFT_MODEL; REPORT"}
  bad: {use: command, command: "echo no key >&2; exit 3"}
  limited: {use: command, command: 'echo ''{"limited_for": 60}'' >"$WEFT_RESULT"'}
  wrong: {use: builtin, args: [--fast]}
  lost: {use: codex}
subplans: [{id: a, prompt: x, verify: make, agent: good}]
"""
REPORT = """echo '{"tokens": {"input": 1000, "output": 100}}' >"$WEFT_RESULT\""""


@pytest.fixture
def machine(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


def found(machine: Programs, text: str, folder: str = "project") -> PlanAgents:
    project = machine.root / folder
    project.mkdir(exist_ok=True)
    (project / ".git" / "refs").mkdir(parents=True, exist_ok=True)
    (project / "weft.yaml").write_text(text)
    return find_agents(None, project, environ(machine))


def environ(machine: Programs) -> dict[str, str]:
    return {**machine.environ, "PATH": f"{machine.folder}:{os.environ['PATH']}"}


def asked(machine: Programs, hand: PlanAgents, *names: str, timeout: float = LONG) -> dict[str, AgentReply]:
    replies: list[str] = []
    result = probe(
        hand,
        hand.agents(names),
        environ(machine),
        timeout=timeout,
        on_reply=lambda reply: replies.append(reply.agent.name),
    )
    assert sorted(replies) == sorted(names)
    return {item.agent.name: item for item in result}


def test_each_gets_the_prompt_in_an_empty_directory_and_it_is_reported_what_became_of_it(
    machine: Programs,
) -> None:
    out = machine.root / "out"
    out.mkdir()
    text = PLAN.replace("OUT", str(out)).replace("REPORT", REPORT.replace('"', '\\"'))
    hand = found(machine, text)
    replies = asked(machine, hand, "good", "bad", "limited", "wrong", "lost")
    assert (out / "prompt").read_text() == PROMPT
    assert (out / "files").read_text() == "files\nprompt\n"
    good = replies["good"]
    assert (good.has_answered, good.answer, good.tokens, good.cost) == (
        True,
        "files\nprompt\nm-9",
        1_100,
        2_000,
    )
    assert (replies["bad"].how, replies["bad"].message) == (StepOutcome.FAILED, "exit code 3: no key")
    limited = replies["limited"]
    assert (limited.how, limited.has_answered) == (StepOutcome.LIMITED, False)
    assert limited.until is not None
    assert (replies["wrong"].how, replies["wrong"].message.partition(";")[0]) == (
        None,
        "the agent `builtin` does not know '--fast'",
    )
    assert replies["lost"].how is StepOutcome.INFRA
    assert replies["lost"].message.endswith("to install it, type: npm install -g @openai/codex")


def test_an_agent_that_does_not_answer_in_time_is_ended(machine: Programs) -> None:
    hand = found(machine, PLAN.replace("use: codex", "use: command, command: [sleep, '3600']"))
    reply = asked(machine, hand, "lost", timeout=0.2)["lost"]
    assert (reply.how, reply.message) == (StepOutcome.TIMEOUT, "there was no answer within 0.2 s")


def test_one_that_cannot_be_called_at_all_is_reported(machine: Programs) -> None:
    assert asked(machine, found(machine, PLAN), "wrong")["wrong"].how is None


def test_an_interrupted_probe_leaves_nothing_behind(machine: Programs) -> None:
    pid = machine.root / "pid"
    os.mkfifo(pid)
    waits = f"command: 'echo $$ >{pid}; exec sleep 3600'"
    text = PLAN.replace("use: codex", f"use: command, {waits}")
    hand = found(machine, text.replace('"echo no key >&2; exit 3"', f"cat {pid}"))

    def had_enough(one: AgentReply) -> None:
        raise LookupError(one.answer)

    with pytest.raises(LookupError) as caught:
        probe(hand, hand.agents(["lost", "bad"]), environ(machine), timeout=LONG, on_reply=had_enough)
    assert not is_alive(int(str(caught.value.args[0])))


def test_what_it_said_before_its_time_was_over_is_reported() -> None:
    fact = Ended(
        at=1.0, firing=0, execution=1, how=StepOutcome.TIMEOUT, errors="retrying\nHTTP 401\n", seconds=9.0
    )
    reply = reply_of(Agent(name="a", use="pi"), fact, 9.0)
    assert reply.message == "there was no answer within 9 s; it said: HTTP 401"


# --- whom to ask ---


def chosen(machine: Programs, hand: PlanAgents, *names: str, model: str | None = None) -> list[Agent]:
    seen = overview(hand, names, environ(machine), patience=None)
    return [*to_probe(hand, seen, machine.environ, named=bool(names), model=model).agents]


def alone(machine: Programs, hand: PlanAgents, *names: str) -> tuple[list[str], list[str]]:
    """On a machine without any other program."""
    seen = overview(hand, names, machine.environ, patience=None)
    asked = to_probe(hand, seen, machine.environ, named=bool(names), model=None)
    return [item.name for item in asked.agents], [missing_file.agent.name for missing_file in asked.missing]


def test_without_names_those_are_asked_that_are_there_and_speak_with_models(machine: Programs) -> None:
    machine.add("claude")
    machine.add("pi")
    hand = found(machine, PLAN.replace("use: codex", "use: pi"))
    assert alone(machine, hand) == (["wrong", "lost", "claude"], [])


def test_a_named_agent_is_asked_or_missing(machine: Programs) -> None:
    hand = found(machine, PLAN)
    assert alone(machine, hand, "lost", "bad", "builtin") == (["bad", "builtin"], ["lost"])


def test_a_model_that_is_named_is_that_of_all(machine: Programs) -> None:
    hand = found(machine, PLAN)
    assert [choice.model for choice in chosen(machine, hand, "bad", "builtin", model="m-1")] == ["m-1", "m-1"]


def test_an_adapter_that_needs_a_plan_is_refused(machine: Programs) -> None:
    with pytest.raises(InputError, match="'command' needs a plan that names its command"):
        chosen(machine, found(machine, PLAN), "command")


def test_where_there_is_none_that_is_said(machine: Programs) -> None:
    hand = found(machine, "weft: 1\nplan: p\nsubplans: [{id: a, steps: [{id: s, run: x}]}]\n")
    with pytest.raises(WeftError, match="no agent is installed; to see how"):
        alone(machine, hand)


def test_commands_that_came_with_the_project_are_not_run_unapproved(machine: Programs) -> None:
    hand = found(machine, PLAN)
    (hand.folder / ".weft").mkdir()
    (hand.folder / ".weft" / "config.yaml").write_text(
        "agents: {theirs: {use: command, command: sh evil.sh}}\n"
    )
    hand = found(machine, PLAN)
    with pytest.raises(NotApprovedError):
        chosen(machine, hand, "theirs")
    assert [choice.name for choice in chosen(machine, hand, "builtin")] == ["builtin"]
