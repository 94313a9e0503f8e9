"""Messages about hosts, and about slices and steps that run there."""

import pytest

from plan.problem_texts import problems, with_subplans
from weft.plan.hosts import HostChoice, HostSpec
from weft.plan.loader.load import Surroundings, load_plan, read_config
from weft.plan.model import Plan
from weft.plan.placement import slice_hosts, step_host
from weft.plan.settings import Layer
from weft.plan.text.problems import PlanError

NEAR = "near: {use: ssh, machine: big3, labels: [gpu]}"
HOSTS = f"hosts: {{{NEAR}, far: {{use: command, command: docker exec -i box}}, local: {{slots: 2}}}}\n"
STEPS = "steps: [{id: x, run: ls}]"
SLICE = f"{{id: a, {STEPS}}}"


def load(*subplans: str, top: str = HOSTS, **how: object) -> Plan:
    return load_plan(with_subplans(*subplans, top=top), **how)  # type: ignore[arg-type]


def messages_of(*subplans: str, top: str = HOSTS) -> list[str]:
    return problems(with_subplans(*subplans, top=top))


# Entries.


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("near: {use: ssh, machine: big3}", HostSpec(name="near", use="ssh", machine="big3", slots=4)),
        (
            "box: {use: command, command: docker exec -i box, slots: 2, labels: [linux]}",
            HostSpec(
                name="box", use="command", command=("docker", "exec", "-i", "box"), slots=2, labels=("linux",)
            ),
        ),
        (
            "box: {use: command, command: [a, b c]}",
            HostSpec(name="box", use="command", command=("a", "b c"), slots=4),
        ),
        (
            "b: {use: dask, ssh: [one, two, three]}",
            HostSpec(name="b", use="dask", ssh=("one", "two", "three"), slots=12),
        ),
        (
            "c: {use: dask, cluster: k.C, scale: 8, options: {cores: 4}}",
            HostSpec(name="c", use="dask", cluster="k.C", scale=8, options={"cores": 4}, slots=32),
        ),
        (
            "d: {use: dask, address: tls://s:8786, tls: {ca: /a, cert: ~/b, key: ~/c}, lost_after: 5m}",
            HostSpec(
                name="d",
                use="dask",
                address="tls://s:8786",
                tls={"ca": "/a", "cert": "~/b", "key": "~/c"},
                lost_after=300.0,
                slots=4,
            ),
        ),
        (
            "e: {use: ssh, machine: b, directory: ~/w, python: python3.12, fetch: git@x.org:r.git}",
            HostSpec(
                name="e",
                use="ssh",
                machine="b",
                slots=4,
                directory="~/w",
                python="python3.12",
                fetch="git@x.org:r.git",
            ),
        ),
        ("local: {labels: [small]}", HostSpec(name="local", labels=("small",), slots=None)),
    ],
)
def test_an_entry_is_read_with_the_slots_that_its_machines_have(entry: str, expected: HostSpec) -> None:
    (host,) = load(SLICE, top=f"hosts: {{{entry}}}\n").hosts.values()
    assert host == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("near: {slots: 3}", "the host 'near' needs use: ssh, command or dask; only 'local' is this machine"),
        (
            "near: {use: local}",
            "the host 'near' needs use: ssh, command or dask; only 'local' is this machine",
        ),
        (
            "local: {use: ssh, machine: a}",
            "the host 'local' is this machine; give another name to one with a carrier",
        ),
        ("near: {use: ssh}", "a host with 'use: ssh' needs the key 'machine'"),
        ("near: {use: command}", "a host with 'use: command' needs the key 'command'"),
        ("near: {use: dask}", "a host with 'use: dask' needs exactly one of: address, ssh, cluster"),
        ("near: {use: dask, ssh: [a], cluster: b.C}", "a host cannot have both 'ssh' and 'cluster'"),
        ("near: {use: dask, machine: a, ssh: [a]}", "'machine' has no meaning in a host without 'use: ssh'"),
        (
            "near: {use: ssh, machine: a, command: b}",
            "'command' has no meaning in a host without 'use: command'",
        ),
        (
            "near: {use: ssh, machine: a, tls: {ca: /a, cert: /b, key: /c}}",
            "'tls' has no meaning in a host without 'use: dask'",
        ),
        ("near: {use: dask, ssh: [a], scale: 3}", "'scale' has no meaning in a host without 'cluster'"),
        (
            "local: {lost_after: 3m}",
            "'lost_after' has no meaning in a host without 'use: ssh' or 'use: command' or 'use: dask'",
        ),
        (
            "near: {use: shs, machine: a}",
            "use is 'shs'; it must be local | ssh | command | dask; did you mean 'ssh'?",
        ),
        ("near: {use: ssh, machine: a, password: b}", "unknown key 'password' in a host"),
    ],
)
def test_a_wrong_entry_is_reported_in_a_plan_and_in_a_configuration(entry: str, message: str) -> None:
    of_plan = messages_of(SLICE, top=f"hosts: {{{entry}}}\n")
    assert any(message in problem for problem in of_plan), of_plan
    with pytest.raises(PlanError) as caught:
        read_config(f"hosts: {{{entry}}}\n", "c.yaml", "user")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "entry",
    [
        "{use: ssh, machine: -oProxyCommand=evil}",
        "{use: dask, ssh: [a, -b]}",
        "{use: ssh, machine: a, fetch: 'https://me:secret@example.org/r.git'}",
        "{use: ssh, machine: a, fetch: 'ext::sh -c evil'}",
        "{use: ssh, machine: a, fetch: --upload-pack=evil}",
        "{use: ssh, machine: a, python: -c}",
        "{use: ssh, machine: a, directory: relative}",
        "{use: command, command: \"sh -c 'x y'\"}",
    ],
)
def test_a_value_that_another_program_would_misread_is_refused(entry: str) -> None:
    (problem,) = messages_of(SLICE, top=f"hosts: {{near: {entry}}}\n")
    assert "it must be" in problem


def test_the_nearest_entry_of_a_name_counts_as_a_whole() -> None:
    project = read_config("hosts: {near: {use: ssh, machine: p}, b: {use: ssh, machine: p}}", "p", "project")
    user = read_config("hosts: {b: {use: ssh, machine: u, slots: 9}, c: {use: ssh, machine: u}}", "u", "user")
    plan = load(SLICE, top=f"hosts: {{{NEAR}}}\n", configs=[project, user])
    assert [(name, host.machine, host.slots) for name, host in plan.hosts.items()] == [
        ("near", "big3", 4),
        ("b", "p", 4),
        ("c", "u", 4),
    ]


# Choices.


@pytest.mark.parametrize(
    ("value", "hosts"),
    [
        ("near", ("near",)),
        ("[far, near, far]", ("far", "near")),
        ("[local, near]", ("local", "near")),
        ("{labels: [gpu]}", ("near",)),
    ],
)
def test_a_choice_names_hosts_or_labels(value: str, hosts: tuple[str, ...]) -> None:
    plan = load(f"{{id: a, host: {value}, {STEPS}}}", SLICE.replace("a,", "b,"))
    assert (slice_hosts(plan, 1), slice_hosts(plan, 2)) == (hosts, ("local",))


def test_the_choice_nearest_to_the_work_counts() -> None:
    config = read_config("host: far", "c.yaml", "user")
    step = "{id: y, run: ls, host: [local, near]}"
    plan = load(
        f"{{id: a, steps: [{{id: x, run: ls}}, {step}]}}", f"{{id: b, host: near, {STEPS}}}", configs=[config]
    )
    assert (slice_hosts(plan, 1), slice_hosts(plan, 2)) == (("far",), ("near",))
    x, y = plan.pipeline_of(1).steps
    assert [step_host(x, host, plan.hosts) for host in ("far", "near")] == ["far", "near"]
    assert [step_host(y, host, plan.hosts) for host in ("far", "near")] == ["local", "near"]
    flags = Layer("flags", {"host": HostChoice(("near",))})
    assert slice_hosts(load(SLICE, configs=[config], flags=flags), 1) == ("near",)


@pytest.mark.parametrize(
    ("subplan", "message"),
    [
        (f"{{id: a, host: nera, {STEPS}}}", "unknown host 'nera'; did you mean 'near'?"),
        (f"{{id: a, host: [near, x], {STEPS}}}", "unknown host 'x'; known: near, far, local"),
        ("{id: a, steps: [{id: x, run: ls, host: fra}]}", "unknown host 'fra'; did you mean 'far'?"),
        (
            f"{{id: a, host: {{labels: [gpu, tpu]}}, {STEPS}}}",
            "no host has all of the labels gpu, tpu; the hosts with labels are near: gpu",
        ),
        (
            f"{{id: a, host: {{labels: [tpu]}}, {STEPS}}}",
            "no host has the label tpu; the hosts with labels are near: gpu",
        ),
    ],
)
def test_an_unknown_host_or_label_is_reported_where_it_stands(subplan: str, message: str) -> None:
    (problem,) = messages_of(subplan)
    assert problem.endswith(message)


def test_without_hosts_the_message_says_how_to_define_one() -> None:
    (problem,) = messages_of(f"{{id: a, host: near, {STEPS}}}", top="")
    assert problem.endswith("unknown host 'near'; define it, as in hosts: {near: {use: ssh, machine: big3}}")


def test_an_unknown_host_of_a_configuration_is_reported_once_with_its_place() -> None:
    config = read_config("host: big", "c.yaml", "user")
    with pytest.raises(PlanError) as caught:
        load(SLICE, SLICE.replace("a,", "b,"), configs=[config])
    (problem,) = caught.value.problems
    assert problem.message == "host, of c.yaml:1:7: unknown host 'big'; known: near, far, local"


def test_hosts_that_cannot_be_read_cause_no_other_errors() -> None:
    problems_ = messages_of(f"{{id: a, host: [near, big], {STEPS}}}", top="hosts: [near]\n")
    assert len(problems_) == 1


# What cannot run elsewhere.


@pytest.mark.parametrize("isolation", ["dir", "none"])
def test_a_slice_without_a_branch_stays_on_this_machine(isolation: str) -> None:
    message = f"a slice with isolation: {isolation} has no branch, so it stays on this machine"
    (problem,) = messages_of(f"{{id: a, host: near, isolation: {isolation}, {STEPS}}}")
    assert f"{message}; set host: local, or isolation: worktree" in problem
    (of_step,) = messages_of(f"{{id: a, isolation: {isolation}, steps: [{{id: x, run: ls, host: near}}]}}")
    assert f"with isolation: {isolation} step 'x' stays on this machine" in of_step
    assert messages_of(f"{{id: a, host: local, isolation: {isolation}, {STEPS}}}") == []


def test_a_sandbox_is_only_on_this_machine() -> None:
    message = "step 'x' has a sandbox, which there is only on this machine, not on 'near'"
    for subplan in (
        f"{{id: a, host: [local, near], sandbox: bwrap, {STEPS}}}",
        "{id: a, steps: [{id: x, run: ls, host: near, sandbox: {network: false}}]}",
    ):
        (problem,) = messages_of(subplan)
        assert message in problem
    agents = "agents: {coder: {use: claude, sandbox: bwrap}}\n"
    (problem,) = messages_of("{id: a, host: near, steps: [{id: x, prompt: p}]}", top=HOSTS + agents)
    assert message in problem
    assert messages_of("{id: a, host: near, sandbox: bwrap, steps: [{id: x, run: ls, sandbox: none}]}") == []


def test_links_are_not_made_elsewhere() -> None:
    (problem,) = messages_of(f"{{id: a, host: near, link: [node_modules], {STEPS}}}")
    assert problem.endswith(
        "link has no effect on other machines, to which only what copy names travels: node_modules"
    )
    load(f"{{id: a, host: near, link: [node_modules], {STEPS}}}")  # it is a warning


def test_a_plan_outside_of_git_says_why_it_cannot_travel() -> None:
    with pytest.raises(PlanError, match="isolation: dir has no branch"):
        load(f"{{id: a, host: near, {STEPS}}}", surroundings=Surroundings(git=False))


def test_the_steps_of_nested_pipelines_are_checked() -> None:
    top = HOSTS + "pipelines: {inner: [{id: x, run: ls, host: near, sandbox: bwrap}]}\n"
    (problem,) = messages_of("{id: a, steps: [{id: o, pipeline: inner}]}", top=top)
    assert "step 'x' has a sandbox" in problem
