import os
import subprocess

import pytest

from weft.runtime.environment import FOR_AGENTS, FOR_ALL, StepEnvironment, StepIdentity, inside_step

IDENTITY = StepIdentity(
    run="r1",
    subplan="store/model",
    step="code",
    attempt=2,
    job="r1.7.1",
    result_file="/run/r1.7.1.json",
    plan_dir="/plan",
)
TOLD = {
    "WEFT_RUN": "r1",
    "WEFT_SUBPLAN": "store/model",
    "WEFT_STEP": "code",
    "WEFT_ATTEMPT": "2",
    "WEFT_JOB": "r1.7.1",
    "WEFT_RESULT": "/run/r1.7.1.json",
    "WEFT_PLAN_DIR": "/plan",
}


def step_environment(environ, identity, *, extra, allow=(), agent=None):
    steps = StepEnvironment(environ, allow=allow)
    return {**steps.inherited(agent=agent is not None), **steps.of(identity, extra=extra, agent=agent)}


def example_of(pattern: str) -> str:
    return pattern.replace("*", "SOMETHING")


def inherited(environ: dict[str, str], **more) -> dict[str, str]:
    made = step_environment(environ, IDENTITY, **{"extra": {}, **more})
    return {name: value for name, value in made.items() if name not in TOLD}


def test_a_step_reads_its_identity_from_its_environment() -> None:
    assert step_environment({}, IDENTITY, extra={}) == TOLD


@pytest.mark.parametrize("pattern", FOR_ALL)
def test_what_every_step_needs_is_passed_on(pattern: str) -> None:
    name = example_of(pattern)
    assert inherited({name: "/x"}) == {name: "/x"}


@pytest.mark.parametrize("pattern", FOR_AGENTS)
def test_keys_are_passed_on_to_agents_only(pattern: str) -> None:
    name = example_of(pattern)
    assert inherited({name: "x"}, agent={}) == {name: "x"}
    assert inherited({name: "x"}) == {}


@pytest.mark.parametrize("pattern", [*FOR_ALL, *FOR_AGENTS])
def test_a_pattern_is_open_at_one_end_at_most_and_has_a_reason(pattern: str) -> None:
    assert pattern.strip("*").isidentifier()
    assert pattern.count("*") <= 1
    assert (FOR_ALL | FOR_AGENTS)[pattern]


@pytest.mark.parametrize(
    "name",
    [
        "SECRET",
        "PATHS",
        "MY_PATH",
        "GITHUB_TOKEN",
        "LD_PRELOAD",
        "PYTHONPATH",
        "GIT_DIR",
        "XDG",
        "API_KEY",
        "LC_*"[:2],
    ],
)
def test_nothing_else_is_passed_on(name: str) -> None:
    assert inherited({name: "x"}, agent={}) == {}


def test_what_the_user_allows_is_passed_on() -> None:
    assert inherited({"SECRET": "x", "OTHER": "y"}, allow=["SECRET", "NONE"]) == {"SECRET": "x"}


def test_an_allowed_name_is_no_pattern() -> None:
    assert inherited({"SECRET_1": "x"}, allow=["SECRET_*"]) == {}


def test_what_the_plan_sets_outranks_what_is_inherited() -> None:
    assert inherited({"PATH": "ours", "HOME": "h"}, extra={"PATH": "theirs", "NEW": "n"}) == {
        "PATH": "theirs",
        "HOME": "h",
        "NEW": "n",
    }


def test_what_an_adapter_sets_outranks_the_plan() -> None:
    assert inherited({}, extra={"A": "plan"}, agent={"A": "adapter", "WEFT_MODEL": "m"}) == {
        "A": "adapter",
        "WEFT_MODEL": "m",
    }


@pytest.mark.parametrize("name", [*TOLD, "WEFT_SESSION", "WEFT_ANYTHING"])
def test_variables_of_weft_cannot_be_set_by_others(name: str) -> None:
    made = step_environment({name: "x"}, IDENTITY, extra={name: "x"}, allow=[name])
    assert made == TOLD


def test_not_even_from_an_adapter() -> None:
    assert step_environment({}, IDENTITY, extra={}, agent=dict.fromkeys(TOLD, "x")) == TOLD


def test_things_taken_from_pools_come_with_the_plan_and_are_not_inherited() -> None:
    outer = {"WEFT_POOL_PORT": "1", "WEFT_POOL_OLD": "1"}
    assert inherited(outer, extra={"WEFT_POOL_PORT": "2"}) == {"WEFT_POOL_PORT": "2"}


def test_what_is_no_text_cannot_be_passed_on() -> None:
    bytes_in_latin_1 = b"caf\xe9".decode(errors="surrogateescape")
    assert inherited({"HOME": bytes_in_latin_1, "TMPDIR": "/café"}) == {"TMPDIR": "/café"}


def test_a_process_can_be_started_in_it() -> None:
    made = step_environment({"PATH": "/usr/bin:/bin"}, IDENTITY, extra={"ODD": "a=b\nc 'd'"})
    done = subprocess.run(
        ["/bin/sh", "-c", 'echo "$WEFT_SUBPLAN $ODD"'], env=made, capture_output=True, text=True, check=True
    )
    assert done.stdout == "store/model a=b\nc 'd'\n"


# --- the guard ---


def test_a_process_in_a_step_knows_the_subplan() -> None:
    assert inside_step(TOLD) == "store/model"


def test_a_step_of_the_whole_plan_is_a_step_too() -> None:
    assert inside_step({"WEFT_RUN": "r1", "WEFT_SUBPLAN": ""}) == ""
    assert inside_step({"WEFT_RUN": "r1"}) == ""


def test_elsewhere_there_is_no_step() -> None:
    assert inside_step({"PATH": "x", "WEFT_POOL_PORT": "1", "WEFT_SUBPLAN": "a"}) is None


@pytest.mark.parametrize(
    ("path", "inherited"),
    [
        ("/bin:.:/usr/bin", "/bin:/usr/bin"),
        (":/bin:", "/bin"),
        ("node_modules/.bin:../x", os.defpath),
        ("", os.defpath),
    ],
)
def test_what_depends_on_the_current_directory_is_not_inherited(path: str, inherited: str) -> None:
    assert StepEnvironment({"PATH": path}).inherited(agent=False)["PATH"] == inherited


def test_where_there_is_no_path_none_is_made_up() -> None:
    assert "PATH" not in StepEnvironment({"HOME": "/home"}).inherited(agent=False)
