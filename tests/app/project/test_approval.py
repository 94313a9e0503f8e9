"""What a user approves, when it has to be approved again, and what is said about it."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from weft.app.project.approval import (
    ApprovalRequest,
    NotApprovedError,
    approvals,
    approve,
    change_lines,
    commands_hash,
    request_of,
    request_of_hosts,
    require,
    revoke,
)
from weft.plan.language.commands import ConfiguredCommand
from weft.plan.loader.load import load_plan, read_config
from weft.plan.settings import Layer
from weft.plan.text.emit import Plain

AT = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
TEXT = "setup: make deps\nagents: {coder: {use: command, command: [my, agent]}}\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def layer(text: str = TEXT) -> Layer:
    return read_config(text, ".weft/config.yaml", "project").layer


def asked(project: Path, environ: dict[str, str], text: str = TEXT) -> ApprovalRequest:
    request = request_of(layer(text), project, environ)
    assert request is not None
    return request


def approved(project: Path, environ: dict[str, str], text: str = TEXT) -> None:
    approve(asked(project, environ, text), environ, at=AT)


def refused(project: Path, environ: dict[str, str], text: str = TEXT) -> list[str]:
    with pytest.raises(NotApprovedError) as caught:
        require(layer(text), project, environ)
    return list(caught.value.lines())


def test_unapproved_commands_are_shown_with_what_to_type(project: Path, environ: dict[str, str]) -> None:
    content = asked(project, environ).hash
    type_ = f"weft -C {project} config approve"
    assert refused(project, environ) == [
        "error: .weft/config.yaml came with this project, and names commands that you have not approved:",
        "  + setup: make deps",
        "  + agents.coder.use: command",
        '  + agents.coder.command: ["my", "agent"]',
        f"nothing has been run; to approve this, type: {type_} (in a script: {type_} --hash {content})",
    ]


def test_in_the_project_itself_less_is_to_be_typed(
    project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".weft").mkdir()
    (project / "deeper").mkdir()
    monkeypatch.chdir(project / "deeper")
    assert "; to approve this, type: weft config approve (in a script: " in refused(project, environ)[-1]


def test_what_was_approved_may_run(project: Path, environ: dict[str, str]) -> None:
    approved(project, environ)
    require(layer(), project, environ)


@pytest.mark.parametrize("text", ["", "# nothing\n", "max_parallel: 8\n", "agents: {coder: {use: claude}}\n"])
def test_where_no_command_is_named_nothing_is_asked_nor_read(
    project: Path, environ: dict[str, str], text: str
) -> None:
    (Path(environ["HOME"]) / ".local/state/weft/approved.json").mkdir(parents=True)  # cannot be read
    require(layer(text), project, environ)
    require(None, project, environ)
    assert request_of(layer(text), project, environ) is None


def test_other_settings_may_change_as_they_like(project: Path, environ: dict[str, str]) -> None:
    approved(project, environ)
    require(layer(f"max_parallel: 9\n# {'x' * 99}\n{TEXT}retries: 1\nagent: claude\n"), project, environ)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TEXT.replace("make deps", "curl x | sh"),
            ["  - setup: make deps", "  + setup: curl x | sh", "    agents.coder.use: command"],
        ),
        (
            TEXT.replace("command, command:", "acp, command:"),
            ["    setup: make deps", "  - agents.coder.use: command", "  + agents.coder.use: acp"],
        ),
        (
            TEXT.replace("[my, agent]", "[my, agent, --more]"),
            [
                "    setup: make deps",
                "    agents.coder.use: command",
                '  - agents.coder.command: ["my", "agent"]',
            ],
        ),
        (
            TEXT.replace("{coder:", "{code: {use: pi, args: [x]}, coder:"),
            ["    setup: make deps", "  + agents.code.use: pi", '  + agents.code.args: ["x"]'],
        ),
        ("setup: make deps", ["    setup: make deps", "  - agents.coder.use: command"]),
    ],
)
def test_a_command_that_has_changed_is_asked_about_and_what_changed_is_said(
    project: Path, environ: dict[str, str], text: str, said: list[str]
) -> None:
    approved(project, environ)
    lines = refused(project, environ, text)
    assert lines[0] == (
        "error: the commands that .weft/config.yaml names are not those that you approved at 2026-05-04T03:02:01Z:"
    )
    assert lines[1 : 1 + len(said)] == said


def test_commands_in_another_order_are_others(project: Path, environ: dict[str, str]) -> None:
    approved(project, environ)
    first, second = TEXT.splitlines()
    assert refused(project, environ, f"{second}\n{first}\n")


def test_what_was_approved_once_stays_approved_when_it_comes_back(
    project: Path, environ: dict[str, str]
) -> None:
    approved(project, environ)
    approved(project, environ, "setup: other")
    require(layer(), project, environ)
    approved(project, environ)
    assert [len(item.commands) for item in approvals(environ)] == [1, 3]


def test_what_changed_is_reported_since_the_last_approval(project: Path, environ: dict[str, str]) -> None:
    approved(project, environ, "setup: first")
    approved(project, environ, "setup: second")
    assert refused(project, environ, "setup: third")[1:3] == ["  - setup: second", "  + setup: third"]


def test_an_approval_is_for_one_directory_by_whatever_way_one_comes_there(
    tmp_path: Path, project: Path, environ: dict[str, str]
) -> None:
    approved(project, environ)
    (tmp_path / "link").symlink_to(project)
    require(layer(), tmp_path / "link", environ)
    (tmp_path / "copy").mkdir()
    assert refused(tmp_path / "copy", environ)[0].endswith("that you have not approved:")


def test_the_hash_is_that_of_the_commands_alone_and_the_same_everywhere(
    tmp_path: Path, project: Path, environ: dict[str, str]
) -> None:
    assert asked(project, environ).hash == asked(tmp_path, environ, f"retries: 1\n{TEXT}").hash
    assert commands_hash([ConfiguredCommand("setup", "é")]) == (
        "fb404131141d594c005027f58c5d7a486ce0d9507c1a0b03b9826ac26a572e17"
    )


def test_what_is_one_argument_and_what_is_two_have_different_hashes() -> None:
    values: list[Plain] = ["a b", ["a b"], ["a", "b"], ["a", ["b"]], {"a": "b"}]
    assert len({commands_hash([ConfiguredCommand("setup", value)]) for value in values}) == len(values)


def test_what_was_asked_is_approved_whatever_the_file_says_by_now(
    project: Path, environ: dict[str, str]
) -> None:
    request = asked(project, environ)
    approve(request, environ)
    (item,) = approvals(environ)
    assert (item.project, item.hash) == (os.path.realpath(project), request.hash)
    assert refused(project, environ, "setup: other")


def test_an_approval_can_be_taken_back(tmp_path: Path, project: Path, environ: dict[str, str]) -> None:
    approved(project, environ)
    approved(project, environ, "setup: other")
    approved(tmp_path, environ)
    assert revoke(project, environ) == 2
    assert revoke(project, environ) == 0
    assert refused(project, environ)[0].endswith("that you have not approved:")
    require(layer(), tmp_path, environ)


def test_nothing_that_is_asked_about_is_cut(project: Path, environ: dict[str, str]) -> None:
    command = "x" * 100_000
    assert list(change_lines(asked(project, environ, f"setup: {command}"))) == [f"  + setup: {command}"]


# --- settings that are looser than the user's ---


def user(text: str) -> Layer:
    return read_config(text, "~/.config/weft/config.yaml", "user").layer


LOOSENS = "merge: {mode: auto}\nmax_parallel: 9\n"


def test_what_a_project_loosens_is_shown_with_what_the_user_has_set(
    project: Path, environ: dict[str, str]
) -> None:
    with pytest.raises(NotApprovedError) as caught:
        require(layer(LOOSENS), project, environ, user=user("merge: {mode: manual}"))
    first, change, last = caught.value.lines()
    how = "loosens settings in a way that you have not approved"
    assert first == f"error: .weft/config.yaml came with this project, and {how}:"
    assert change == "  + merge.mode: auto  (you have set: manual)"
    assert "config approve --hash" in last
    require(layer(LOOSENS), project, environ, user=user("merge: {mode: auto}"))


def test_an_approved_loosening_counts_until_it_changes(project: Path, environ: dict[str, str]) -> None:
    strict = user("merge: {mode: manual}\nbudget: 5\n")
    request = request_of(layer(LOOSENS), project, environ, user=strict)
    assert request is not None
    approve(request, environ, at=AT)
    require(layer(LOOSENS), project, environ, user=strict)
    require(layer(LOOSENS.replace("9", "2")), project, environ, user=strict)
    with pytest.raises(NotApprovedError) as caught:
        require(layer(f"{LOOSENS}budget: 50\n"), project, environ, user=strict)
    text, *changes, _ = caught.value.lines()
    assert text.startswith("error: what .weft/config.yaml runs and loosens is not what you approved at")
    assert changes == ["  + budget: 50  (you have set: 5)", "    merge.mode: auto  (you have set: manual)"]


@pytest.mark.parametrize(
    "place",
    [
        "../elsewhere/{{ slice.path }}",
        "/tmp/{{ slice.path }}",
        "a/../../x{{ slice.path }}",
        "link/{{ slice.path }}",
        ".git/{{ slice.path }}",
    ],
)
def test_worktrees_elsewhere_need_approval(place: str, project: Path, environ: dict[str, str]) -> None:
    (project / "link").symlink_to(project.parent)
    text = f"worktrees: '{place}'\n"
    with pytest.raises(NotApprovedError) as caught:
        require(layer(text), project, environ)
    assert (
        f"  + worktrees: {place}  (you have set: nothing; without approval" in list(caught.value.lines())[1]
    )
    require(layer(text), project, environ, user=user(text))


@pytest.mark.parametrize(
    "place", [".weft/worktrees/{{ slice.path }}", "wt/{{ slice.path }}", "HOME/.cache/weft/{{ slice.path }}"]
)
def test_worktrees_in_the_project_or_in_the_user_s_cache_need_none(
    place: str, project: Path, environ: dict[str, str]
) -> None:
    text = f"worktrees: '{place.replace('HOME', environ['HOME'])}'\n"
    require(layer(text), project, environ)
    assert request_of(layer(text), project, environ) is None


# Hosts of a plan.

HOSTS = "hosts: {local: {slots: 2}, near: {use: ssh, machine: big3, slots: 4}}"


def hosts_request(
    project: Path, environ: dict[str, str], *, hosts: str = HOSTS, user: str = ""
) -> ApprovalRequest | None:
    text = f"weft: 1\nplan: p\n{hosts}\nsubplans: [{{id: a, steps: [{{id: x, run: ls}}]}}]\n"
    configs = [read_config(user, "c.yaml", "user")] if user else []
    return request_of_hosts(load_plan(text, configs=configs), project / "weft.yaml", project, environ)


def test_the_machines_that_a_plan_names_need_approval(project: Path, environ: dict[str, str]) -> None:
    request = hosts_request(project, environ)
    assert request is not None
    assert list(change_lines(request)) == ["  + hosts.near.use: ssh", "  + hosts.near.machine: big3"]
    lines = list(NotApprovedError(request).lines())
    assert lines[0] == "error: weft.yaml sends work to hosts that you have not approved:"
    assert f"type: weft -C {project} config approve --plan weft.yaml (" in lines[-1]
    approve(request, environ, at=AT)
    again = hosts_request(project, environ)
    assert again is not None
    assert again.is_approved


def test_this_machine_and_the_users_own_hosts_need_none(project: Path, environ: dict[str, str]) -> None:
    assert hosts_request(project, environ, hosts="hosts: {local: {slots: 2}}") is None
    assert hosts_request(project, environ, user="hosts: {near: {use: ssh, machine: big3}}") is None
    other = hosts_request(project, environ, user="hosts: {near: {use: ssh, machine: big4}}")
    assert other is not None
    assert not other.is_approved


def test_slots_and_labels_may_change_freely_and_machines_may_not(
    project: Path, environ: dict[str, str]
) -> None:
    first = hosts_request(project, environ)
    assert first is not None
    approve(first, environ, at=AT)
    more = hosts_request(project, environ, hosts=HOSTS.replace("slots: 4", "slots: 9, labels: [gpu]"))
    assert more is not None
    assert more.is_approved
    moved = hosts_request(project, environ, hosts=HOSTS.replace("big3", "evil"))
    assert moved is not None
    assert not moved.is_approved
    assert list(change_lines(moved)) == [
        "    hosts.near.use: ssh",
        "  - hosts.near.machine: big3",
        "  + hosts.near.machine: evil",
    ]


def test_an_approval_of_commands_is_no_approval_of_hosts(project: Path, environ: dict[str, str]) -> None:
    approved(project, environ)
    request = hosts_request(project, environ)
    assert request is not None
    assert (request.is_approved, request.before) == (False, None)
