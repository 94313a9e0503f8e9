"""Whether a plan wants sandboxes, what is said if there can be none, and the homes that are left."""

from pathlib import Path

import pytest

from weft.app.clean.homes import clean_homes
from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import FindingState
from weft.app.doctor.sandbox import sandbox
from weft.app.isolation.sandboxes import (
    SandboxRequest,
    needs_homes,
    refuse_without,
    requested_sandboxes,
    trouble,
)
from weft.app.isolation.step_isolation import isolation_of
from weft.app.project.places import Places
from weft.engine.messages.orders import Launch
from weft.errors import InputError
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.ports.journal import RunRecord

AGENT = "agents: {c: {use: command, command: x, MORE}}\n"
PLAIN = "[{id: a, steps: [{id: x, run: x}]}]"


def text(top: str = "", subplans: str = PLAIN) -> str:
    return f"weft: 1\nplan: p\nisolation: dir\n{top}\nsubplans: {subplans}\n"


def plan(top: str = "", subplans: str = PLAIN) -> Plan:
    return load_plan(text(top, subplans))


BY_AGENT = AGENT.replace("MORE", "sandbox: {network: false}"), "[{id: a, steps: [{id: x, prompt: p}]}]"
NESTED = (
    "pipelines: {inner: [{id: y, run: y, sandbox: bwrap}]}",
    "[{id: a, steps: [{id: x, pipeline: inner}]}]",
)


@pytest.mark.parametrize(
    ("top", "subplans", "found"),
    [
        ("", PLAIN, None),
        ("sandbox: none", PLAIN, None),
        ("sandbox: bwrap", PLAIN, SandboxRequest(network=True)),
        (*BY_AGENT, SandboxRequest(network=False)),
        (BY_AGENT[0], PLAIN, None),
        (*NESTED, SandboxRequest(network=True)),
    ],
)
def test_sandboxes_are_wanted_where_something_is_run_in_one(
    top: str, subplans: str, found: SandboxRequest | None
) -> None:
    assert requested_sandboxes(plan(top, subplans)) == found
    assert needs_homes(plan(top, subplans)) == (found is not None)


@pytest.mark.parametrize("top", ["isolated_home: true", AGENT.replace("MORE", "isolated_home: true")])
def test_homes_may_be_wanted_without(top: str) -> None:
    assert (needs_homes(plan(top)), requested_sandboxes(plan(top))) == (True, None)


def test_a_plan_that_cannot_have_its_sandboxes_is_refused_with_what_helps(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path)}
    refuse_without(plan(), nothing)
    with pytest.raises(
        InputError, match=r"bubblewrap is not installed.*to fix it, type: apt install bubblewrap"
    ):
        refuse_without(plan("sandbox: bwrap"), nothing)


def test_the_message_says_where_it_is_written(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path)}
    assert trouble(plan(), nothing) == ""
    message = "`sandbox: bwrap` does not work here: bubblewrap is not installed"
    assert trouble(plan("sandbox: bwrap"), nothing).partition(": ")[0].split(":")[-2] == "4"
    assert message in trouble(plan("sandbox: bwrap"), nothing)
    assert trouble(plan(*BY_AGENT), nothing).partition(": ")[0].split(":")[-2] == "1"


@pytest.fixture
def program(tmp_path: Path) -> dict[str, str]:
    """A bubblewrap that says that all went well."""
    file = tmp_path / "bin" / "bwrap"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\necho bubblewrap 9\n")
    file.chmod(0o755)
    return {"PATH": str(file.parent)}


def test_the_doctor_looks_only_if_the_plan_wants_one(tmp_path: Path, program: dict[str, str]) -> None:
    file = tmp_path / "weft.yaml"
    assert list(sandbox(DoctorContext(tmp_path, environ=program))) == []
    file.write_text("nonsense")
    assert list(sandbox(DoctorContext(tmp_path, environ=program))) == []
    file.write_text(text("sandbox: bwrap"))
    (well,) = sandbox(DoctorContext(tmp_path, environ=program))
    (ill,) = sandbox(DoctorContext(tmp_path, environ={"PATH": ""}))
    assert (well.state, well.found) == (FindingState.OK, "bubblewrap 9 makes sandboxes")
    assert (ill.state, ill.advice) == (FindingState.PROBLEM, "apt install bubblewrap")


def launch() -> Launch:
    return Launch(firing=1, execution=1, row=1, path="a", step="x", attempt=1, timeout=1.0, grace=1.0)


def test_git_knows_the_user_in_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text('[user]\n\tname = A \\"B\\" C\n')
    environ = {"GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    places = Places(tmp_path)
    made = isolation_of(
        plan("isolated_home: true"), places, "r", tmp_path, environ | {"PATH": "/usr/bin:/bin"}
    )
    home = made.of(launch()).home
    assert home == places.homes("r") / "a"
    assert (home / ".gitconfig").read_text() == '[user]\n\tname = "A \\"B\\" C"\n'


def test_where_git_cannot_be_asked_a_home_has_nothing_to_say_to_it(tmp_path: Path) -> None:
    made = isolation_of(plan("isolated_home: true"), Places(tmp_path), "r", tmp_path / "gone", {"PATH": ""})
    home = made.of(launch()).home
    assert home is not None
    assert not (home / ".gitconfig").exists()


def test_without_isolated_home_there_is_no_home(tmp_path: Path) -> None:
    assert isolation_of(plan(), Places(tmp_path), "r", tmp_path, {}).of(launch()).home is None


# What is left


def record(run: str, state: str) -> RunRecord:
    return RunRecord(
        run=run, plan="p", file="f", directory="d", text="", digest="", created_at=0.0, state=state
    )


def test_homes_go_when_their_run_has_ended_whatever_is_in_them(tmp_path: Path) -> None:
    places = Places(tmp_path)
    runs = [record("over", "failed"), record("open", "stopped"), record("bare", "completed")]
    for run in ("over", "open"):
        (places.homes(run) / "a" / "kept").mkdir(parents=True)
    (places.homes("over") / "a" / "kept" / "file").write_text("x")
    (places.homes("over") / "a" / "way").symlink_to(tmp_path)
    (places.homes("over") / "a" / "kept").chmod(0o500)
    values = [[item.name for item in clean_homes(places, runs, dry_run=dry)] for dry in (True, False, False)]
    assert values == [[str(places.homes("over"))], [str(places.homes("over"))], []]
    assert (places.homes("over").exists(), places.homes("open").exists()) == (False, True)
