"""What is known of other machines before a run, with machines that are directories of this one."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hosts.far.boxes import Box
from weft.app.machines.survey import machine_findings, name_of, programs_of, require_machines, survey
from weft.app.preflight.findings import PreflightError
from weft.plan.hosts import HostSpec
from weft.plan.loader.load import load_plan
from weft.ports.machines import MachineStatus
from weft.terms import MachineState


def _host(box: Box, name: str = "box", python: str = "") -> HostSpec:
    return HostSpec(name=name, use="command", command=box.entrance, python=python or box.place.python)


def _survey_one(spec: HostSpec, *programs: str) -> MachineStatus:
    (status,) = survey([spec], {spec.name: {program: ["coder"] for program in programs}}, os.environ)
    return status


def test_a_machine_says_what_it_has(box: Box) -> None:
    status = _survey_one(_host(box), "git", "no-such-agent")
    assert (status.host, status.machine, status.state) == ("box", "box", MachineState.REACHABLE)
    assert status.facts["git"].startswith("2.")
    assert status.facts["programs"]["no-such-agent"] is None
    assert status.facts["round_trip"] > 0
    assert not (box.directory / "runs").exists()


def test_machines_are_reached_side_by_side_and_each_answers_for_itself(box: Box) -> None:
    hosts = [_host(box), _host(box, "away", python="python9"), HostSpec(name="local")]
    statuses = survey(hosts, {}, os.environ)
    assert [(status.host, status.state) for status in statuses] == [
        ("box", MachineState.REACHABLE),
        ("away", MachineState.UNREACHABLE),
    ]


def test_a_machine_that_does_not_answer_holds_up_nothing_for_long(box: Box) -> None:
    silent = replace(_host(box), command=("sh", "-c", "exec sleep 60"))
    (status,) = survey([silent], {}, os.environ, patience=0.2)
    assert (status.state, status.message) == (MachineState.UNREACHABLE, "there was no answer within 0.2 s")


def _reached(**facts: object) -> MachineStatus:
    usual = {
        "git": "2.39",
        "free": 1 << 40,
        "directory": "d",
        "programs": {"claude": "p"},
        "clock_offset": 0.0,
    }
    return MachineStatus(
        host="farm", machine="big1", state=MachineState.REACHABLE, since=0.0, facts={**usual, **facts}
    )


@pytest.mark.parametrize(
    ("facts", "message", "refuses"),
    [
        ({"git": None}, "there is no git on farm (big1); install it there", True),
        (
            {"free": 5 << 20},
            "the disk of farm (big1) is full: 5 MB are free for d; free some space",
            True,
        ),
        (
            {"programs": {}},
            "coder: claude is not on the PATH of farm (big1); install it there, or write another `host`",
            True,
        ),
        ({"clock_offset": 3600.0}, "the clock of farm (big1) is 3600 s fast", False),
        ({"clock_offset": -61.0}, "the clock of farm (big1) is 61 s slow", False),
    ],
)
def test_a_machine_that_lacks_something_is_named(
    facts: dict[str, object], message: str, refuses: bool
) -> None:
    (finding,) = machine_findings([_reached(**facts)], {"farm": {"claude": ["coder"]}})
    assert (finding.message, finding.refuses) == (message, refuses)


def test_a_machine_with_everything_has_no_finding() -> None:
    assert [*machine_findings([_reached()], {"farm": {"claude": ["coder"]}})] == []
    assert name_of(_reached()) == "farm (big1)"


PLAN = """
weft: 1
plan: machines
hosts:
  box: {use: command, command: [%s], slots: 2, python: %s}
agents:
  coder: {use: claude}
  own: {use: builtin, model: m}
subplans:
  - {id: here, steps: [{id: work, agent: own, prompt: x}]}
  - {id: there, host: box, steps: [{id: work, agent: coder, prompt: x}, {id: more, agent: coder, prompt: y}]}
  - {id: both, host: [box, local], steps: [{id: work, agent: own, prompt: x, host: local}]}
"""


def _plan(box: Box, name: str = "weft.yaml") -> str:
    return PLAN % (", ".join(f'"{word}"' for word in box.entrance), box.place.python)


def test_each_host_needs_the_programs_of_the_agents_that_may_run_there(box: Box) -> None:
    programs = programs_of(load_plan(_plan(box), "weft.yaml"))
    assert programs["box"] == {"claude": ["coder"]}


def test_a_run_is_refused_before_it_starts_if_a_machine_lacks_an_agent(box: Box) -> None:
    plan = load_plan(_plan(box), "weft.yaml")
    with pytest.raises(PreflightError, match="coder: claude is not on the PATH of box"):
        require_machines(plan, os.environ)
    tool = box.home / "claude"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    with_tool = load_plan(_plan(Box(box.home, PATH=f"{box.home}:/usr/bin:/bin")), "weft.yaml")
    assert require_machines(with_tool, os.environ) == ()


def test_a_run_is_refused_before_it_starts_if_a_machine_cannot_be_reached(box: Box, tmp_path: Path) -> None:
    box.gate.unlink()
    with pytest.raises(PreflightError, match="box cannot be reached: no route"):
        require_machines(load_plan(_plan(box), str(tmp_path / "weft.yaml")), os.environ)


def test_a_plan_without_other_machines_reaches_none() -> None:
    assert (
        require_machines(
            load_plan("{weft: 1, plan: p, subplans: [{id: a, steps: [{id: b, run: 'true'}]}]}", "weft.yaml"),
            {},
        )
        == ()
    )
