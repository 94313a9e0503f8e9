"""What is told about slices: their agents, their pipelines, their settings."""

import pytest

from plan.problem_texts import AGENT, HEAD, problems, with_steps, with_subplans
from weft.plan.loader.load import Surroundings, load_plan, read_config
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import AgentWork
from weft.plan.settings import Layer

X = "prompt: x, verify: v"
SLICE = f"{{id: a, {X}}}"
TWO = "agents: {coder: {use: codex}, tester: {use: claude}}\n"


# Which agent does a step.


def agent_in_force(text: str, **how: object) -> str:
    plan = load_plan(text, **how)  # type: ignore[arg-type]
    (work,) = (step.body for step in plan.pipeline_of(1).steps if isinstance(step.body, AgentWork))
    agent = agent_of(work, plan.scopes[1].settings, plan.agents)
    assert agent is not None
    return agent.name


PROJECT = read_config("agent: gemini\nagents: {mine: {use: goose}, his: {use: goose}}\n", "c.yaml", "project")
ONE = read_config("agents: {mine: {use: goose}}\n", "c.yaml", "user")
STEP = "{id: a, steps: [{id: w, prompt: x, agent: tester}], agent: coder}"


@pytest.mark.parametrize(
    ("top", "subplan", "configs", "agent"),
    [
        (f"agent: pi\n{TWO}", STEP, [PROJECT], "tester"),
        (f"agent: pi\n{TWO}", f"{{id: a, {X}, agent: tester}}", [PROJECT], "tester"),
        (f"agent: pi\n{TWO}", SLICE, [PROJECT], "pi"),
        (TWO, SLICE, [PROJECT], "coder"),
        ("", SLICE, [PROJECT, ONE], "gemini"),
        ("", SLICE, [ONE, PROJECT], "gemini"),
        ("", SLICE, [ONE], "mine"),
        ("", f"{{id: a, {X}, agent: his}}", [PROJECT], "his"),
        ("agent: claude\n", SLICE, [], "claude"),
    ],
)
def test_the_nearest_agent_does_the_step(top: str, subplan: str, configs: list[object], agent: str) -> None:
    assert agent_in_force(with_subplans(subplan, top=top), configs=configs) == agent


def test_a_flag_outranks_every_setting_but_not_the_step() -> None:
    flags = Layer("--agent", {"agent": "goose"})
    assert agent_in_force(with_subplans(f"{{id: a, {X}, agent: coder}}", top=TWO), flags=flags) == "goose"
    assert agent_in_force(with_subplans(STEP, top=TWO), flags=flags) == "tester"


def test_the_plan_s_own_agent_of_a_name_counts_and_then_the_project_s() -> None:
    project = read_config("agents: {a: {use: codex}, b: {use: codex}}", "p", "project")
    user = read_config("agents: {a: {use: goose}, b: {use: goose}, c: {use: goose}}", "u", "user")
    top = "agents: {a: {use: claude, model: opus, pool: 2}}\n"
    plan = load_plan(with_subplans(SLICE, top=top), configs=[project, user])
    assert {name: agent.use for name, agent in plan.agents.items()} == {
        "a": "claude",
        "b": "codex",
        "c": "goose",
    }
    assert (plan.agents["a"].model, plan.agents["a"].pool) == ("opus", 2)


def test_that_the_first_of_several_agents_is_taken_is_reported_once() -> None:
    message = (
        "no agent is named for the steps of this slice; Weft uses 'coder', the first of the plan's agents"
    )
    text = with_subplans(SLICE, f"{{id: b, {X}, retries: 1}}", top=TWO)
    assert problems(text) == [f"5:5 {message}; set agent: to choose"]
    _, layer = load_plan(text).scopes[1].find("agent")
    assert (layer.where, str(layer.origin("agent"))) == ("the first of the plan's agents", "weft.yaml:3:10")


@pytest.mark.parametrize(
    ("top", "subplan"),
    [
        ("agents: {coder: {use: codex}}\n", SLICE),
        (f"agent: coder\n{TWO}", SLICE),
        (TWO, "{id: a, steps: [{id: w, prompt: x, agent: tester}, {id: r, run: x}]}"),
    ],
)
def test_where_there_was_no_choice_nothing_is_reported(top: str, subplan: str) -> None:
    assert problems(with_subplans(subplan, top=top)) == []


def test_without_an_agent_those_that_were_found_are_reported_once() -> None:
    slices = (f"{{id: a, {X}, pipeline: tdd}}", f"{{id: b, {X}, retries: 1}}")
    surroundings = Surroundings(programs=("claude", "codex"))
    assert problems(with_subplans(*slices, top=""), surroundings=surroundings) == [
        (
            "4:5 step 'tests' needs an agent: "
            "set agent: to claude, codex (installed here), or to an entry of agents"
        )
    ]


def test_without_an_agent_and_without_one_on_the_machine_that_is_reported() -> None:
    (message,) = problems(with_steps("{id: r, run: x}", "{id: w, prompt: x}", top=""))
    assert message == (
        "9:9 step 'w' needs an agent: set agent: to one that `weft agents` lists, or to an entry of agents; "
        "no agent's program is on the PATH"
    )


def test_of_several_agents_in_a_configuration_none_is_taken_by_itself() -> None:
    several = read_config("agents: {mine: {use: goose}, his: {use: goose}}", "c.yaml", "user")
    (message,) = problems(with_subplans(SLICE, top=""), configs=[several])
    assert message.startswith("4:5 step 'work' needs an agent: set agent: to one that `weft agents` lists")


def test_no_agent_is_needed_where_none_works() -> None:
    assert problems(with_steps("{id: r, run: x}", top="")) == []


def test_an_unknown_agent_is_reported_where_it_is_set_and_once() -> None:
    slices = (SLICE, f"{{id: b, {X}, agent: coddex}}", "{id: c, agent: pie, steps: [{id: r, run: x}]}")
    assert problems(with_subplans(*slices, top="agent: claud\n")) == [
        "3:8 unknown agent 'claud'; did you mean 'claude'?",
        "6:42 unknown agent 'coddex'; did you mean 'codex'?",
        "7:20 unknown agent 'pie'; did you mean 'pi'?",
    ]


@pytest.mark.parametrize(
    ("how", "where"),
    [
        ({"configs": [read_config("retries: 1\nagent: cluade", "c.yaml", "user")]}, "c.yaml:2:8"),
        ({"flags": Layer("--agent", {"agent": "cluade"})}, "--agent"),
    ],
)
def test_an_unknown_agent_from_elsewhere_is_reported_with_its_origin(
    how: dict[str, object], where: str
) -> None:
    message = f"step 'work' needs an agent: 'cluade', of {where}, does not exist; did you mean 'claude'?"
    assert problems(with_subplans(SLICE, f"{{id: b, {X}, retries: 1}}", top=""), **how) == [f"4:5 {message}"]


@pytest.mark.parametrize(
    "agents",
    ["{coder: claude}", "{coder: {}}", "{coder: {use: cluade}}", "[coder]", "{coder: {use: codex, pool: 0}}"],
)
def test_an_agent_that_cannot_be_read_is_reported_once(agents: str) -> None:
    slices = (SLICE, f"{{id: b, {X}, agent: coder}}", "{id: c, steps: [{id: w, prompt: x, agent: coder}]}")
    (message,) = problems(with_subplans(*slices, top=f"agents: {agents}\n"))
    assert message.startswith("3:")


# Conversations.


RESUME = "prompt: x, resume: true"
GO_ON = (f"{{id: a, {RESUME}, async: true}}", f"{{id: b, {RESUME}, async: true}}")
JOIN = "{id: j, action: join, depends_on: [a, b]}"
CANNOT = "can overlap and both resume a conversation, which the agent 'gemini' (gemini) cannot fork"


def test_two_overlapping_steps_that_resume_are_refused_where_the_agent_cannot_fork() -> None:
    assert problems(with_steps(*GO_ON, JOIN, top="agent: gemini\n")) == [f"10:36 steps 'a' and 'b' {CANNOT}"]


def test_an_async_step_that_resumes_overlaps_a_sequential_one_behind_it() -> None:
    steps = (GO_ON[0], f"{{id: b, {RESUME}}}", "{id: j, action: join, depends_on: [a]}")
    assert problems(with_steps(*steps, top="agent: gemini\n")) == [f"10:36 steps 'a' and 'b' {CANNOT}"]


@pytest.mark.parametrize("use", ["aider", "mini-swe-agent"])
def test_an_agent_that_cannot_resume_at_all_is_reported(use: str) -> None:
    steps = ("{id: a, prompt: x}", f"{{id: b, {RESUME}}}")
    message = f"the agent '{use}' ({use}) cannot resume a conversation; remove resume from step 'b'"
    assert problems(with_steps(*steps, top=f"agent: {use}\n")) == [f"10:36 {message}, or name another agent"]


def test_that_an_agent_cannot_resume_is_reported_once_for_all_slices() -> None:
    top = f"agents: {{a: {{use: aider}}, c: {{use: claude}}}}\npipelines:\n  n: [{{id: i, {RESUME}}}]\n"
    slices = (
        f"{{id: {name}, pipeline: n, agent: {agent}}}" for name, agent in zip("stu", "aac", strict=True)
    )
    (message,) = problems(with_subplans(*slices, top=top))
    assert "the agent 'a' (aider) cannot resume a conversation" in message


def test_three_that_overlap_are_reported_in_pairs() -> None:
    steps = (*GO_ON, f"{{id: c, {RESUME}, depends_on: [a]}}", JOIN)
    assert problems(with_steps(*steps, top="agent: gemini\n")) == [
        f"10:36 steps 'a' and 'b' {CANNOT}",
        f"11:36 steps 'b' and 'c' {CANNOT}",
    ]


@pytest.mark.parametrize("agent", ["claude", "builtin"])
def test_an_agent_that_can_fork_may_resume_twice(agent: str) -> None:
    assert problems(with_steps(*GO_ON, JOIN, top=f"agent: {agent}\nmodel: m\n")) == []


@pytest.mark.parametrize(
    "steps",
    [
        (f"{{id: a, {RESUME}}}", f"{{id: b, {RESUME}}}"),
        (GO_ON[0], f"{{id: b, {RESUME}, async: true, depends_on: [a]}}", JOIN),
        (GO_ON[0], "{id: b, prompt: x, async: true}", JOIN),
        ("{id: a, run: x, async: true}", f"{{id: b, {RESUME}}}", "{id: j, action: join, depends_on: [a]}"),
    ],
)
def test_steps_that_cannot_overlap_or_do_not_resume_are_fine(steps: tuple[str, ...]) -> None:
    assert problems(with_steps(*steps, top="agent: gemini\n")) == []


def test_what_resumes_inside_of_a_nested_pipeline_counts() -> None:
    top = f"agent: gemini\npipelines:\n  n: [{{id: i, {RESUME}}}]\n"
    steps = ("{id: a, pipeline: n, async: true}", f"{{id: b, {RESUME}, async: true}}", JOIN)
    assert problems(with_steps(*steps, top=top)) == [f"12:36 steps 'a' and 'b' {CANNOT}"]


def test_steps_that_overlap_inside_of_a_nested_pipeline_are_reported_once_for_all_slices() -> None:
    top = f"agent: gemini\npipelines:\n  n: [{', '.join((*GO_ON, JOIN))}]\n"
    slices = (
        "{id: s, steps: [{id: n, pipeline: n}]}",
        "{id: t, pipeline: n}",
        "{id: u, pipeline: n, retries: 3}",
    )
    (message,) = problems(with_subplans(*slices, top=top))
    assert message == f"5:81 steps 'a' and 'b' {CANNOT}"


def test_steps_that_overlap_are_reported_where_they_stand_only_in_a_nested_pipeline() -> None:
    top = f"agent: gemini\npipelines:\n  n: [{', '.join((*GO_ON, JOIN))}]\n"
    assert problems(with_steps("{id: n, pipeline: n}", top=top)) == [f"5:81 steps 'a' and 'b' {CANNOT}"]


def test_whether_an_agent_can_fork_depends_on_the_slice_that_uses_the_pipeline() -> None:
    top = f"pipelines:\n  n: [{', '.join((*GO_ON, JOIN))}]\n"
    good = "{id: s, pipeline: n, agent: claude}"
    assert problems(with_subplans(good, top=top)) == []
    assert problems(with_subplans(good, "{id: t, pipeline: n, agent: gemini}", top=top)) == [
        f"4:81 steps 'a' and 'b' {CANNOT}"
    ]


# One directory.


def test_agents_in_one_directory_need_a_serial_policy() -> None:
    slices = (SLICE, f"{{id: b, {X}, retries: 1}}")
    assert problems(with_subplans(*slices, top="agent: claude\nisolation: none\n")) == [
        "4:12 isolation: none lets agents work in one directory; they then need policy: serial"
    ]


@pytest.mark.parametrize(
    "top", ["policy: serial\nisolation: none\nagent: claude\n", "isolation: dir\nagent: claude\n"]
)
def test_agents_that_take_turns_or_have_directories_of_their_own_are_fine(top: str) -> None:
    group = f"{{id: g, verify: v, policy: serial, subplans: [{SLICE}, {{id: b, {X}}}]}}"
    assert problems(with_subplans(group, f"{{id: b, {X}}}", top=top)) == []


def test_commands_in_one_directory_need_no_turns() -> None:
    assert problems(with_subplans("{id: a, steps: [{id: r, run: x}]}", top="isolation: none\n")) == []


def test_parts_that_are_serial_each_for_itself_do_not_take_turns() -> None:
    slices = [f"{{id: {name}, {X}, policy: serial}}" for name in "abc"]
    message = "is serial only within itself; set policy: serial for the whole plan"
    assert problems(with_subplans(*slices, top="agent: claude\nisolation: none\n")) == [
        f"7:43 isolation: none lets agents work in one directory, and 'b' {message}",
        f"8:43 isolation: none lets agents work in one directory, and 'c' {message}",
    ]


def test_a_serial_group_takes_turns_within_itself() -> None:
    group = f"{{id: g, verify: v, policy: serial, isolation: none, subplans: [{SLICE}, {{id: b, {X}}}]}}"
    assert problems(with_subplans(group, f"{{id: b, {X}}}")) == []


@pytest.mark.parametrize(
    "how",
    [
        {"configs": [read_config("isolation: none", "c.yaml", "user")]},
        {"flags": Layer("--isolation", {"isolation": "none"})},
    ],
)
def test_where_the_isolation_is_set_elsewhere_the_slice_is_reported(how: dict[str, object]) -> None:
    assert problems(with_subplans(SLICE), **how) == [
        "5:5 isolation: none lets agents work in one directory; they then need policy: serial"
    ]


# Prompts and checks.


def test_a_slice_needs_a_prompt_where_its_pipeline_reads_it() -> None:
    slices = (
        "{id: a, verify: v}",
        "{id: b, verify: v, steps: [{id: n, pipeline: tdd}]}",
        "{id: c, steps: [{id: r, run: x}]}",
    )
    assert problems(with_subplans(*slices)) == [
        "5:5 the slice needs a prompt: the pipeline 'direct' reads slice.prompt",
        "6:5 the slice needs a prompt: its pipeline reads slice.prompt",
    ]


def test_a_prompt_that_cannot_be_read_is_reported_once() -> None:
    assert problems(with_subplans("{id: a, prompt: [x], verify: v}")) == [
        "5:21 prompt is a list; it must be text"
    ]


def test_a_pipeline_that_does_not_exist_is_reported_with_the_nearest() -> None:
    assert problems(with_subplans(f"{{id: a, {X}, pipeline: tddd}}")) == [
        "5:45 unknown pipeline 'tddd'; did you mean 'tdd'?"
    ]


@pytest.mark.parametrize("pipelines", ["{mine: 5}", "[mine]", "{mine: []}"])
def test_a_pipeline_that_cannot_be_read_is_reported_once(pipelines: str) -> None:
    slices = (
        "{id: a, pipeline: mine}",
        "{id: b, steps: [{id: n, pipeline: mine}, {id: r, run: '{{ step.n.x.y }}'}]}",
    )
    assert len(problems(with_subplans(*slices, top=f"pipelines: {pipelines}\n"))) == 1


@pytest.mark.parametrize("broken", ["pipeline: 5", "steps: 5", "steps: []", "steps: [5]"])
def test_a_slice_whose_pipeline_cannot_be_read_is_reported_once(broken: str) -> None:
    assert len(problems(with_subplans(f"{{id: a, {X}, {broken}}}"))) == 1


def test_slices_that_nothing_verifies_are_reported_together() -> None:
    slices = [f"{{id: s{n}, prompt: x}}" for n in range(7)]
    assert problems(with_subplans(*slices, SLICE)) == [
        "5:5 7 slices have no verify, so nothing checks what is done in them: s0, s1, s2, s3, s4, …"
    ]
    assert problems(with_subplans(SLICE, slices[0])) == [
        "6:5 1 slice has no verify, so nothing checks what is done in it: s0"
    ]


def test_groups_of_several_parts_that_nothing_verifies_are_reported_together() -> None:
    several = [f"{{id: g{n}, subplans: [{SLICE}, {{id: b, {X}}}]}}" for n in range(2)]
    single = f"{{id: h, subplans: [{{id: i, verify: v, subplans: [{SLICE}, {{id: b, {X}}}]}}]}}"
    assert problems(with_subplans(*several, single)) == [
        "5:5 2 groups have no verify, so nothing checks the merged result of what is in them: g0, g1"
    ]
    assert problems(with_subplans(several[0])) == [
        "5:5 1 group has no verify, so nothing checks the merged result of what is in it: g0"
    ]


def test_a_verify_that_cannot_be_read_is_reported_once() -> None:
    assert len(problems(with_subplans("{id: a, prompt: x, verify: {}}"))) == 1


def test_a_limit_that_cannot_be_reached_is_warned_of() -> None:
    group = f"{{id: g, max_parallel: 8, verify: v, subplans: [{SLICE}, {{id: b, {X}, max_parallel: 9}}]}}"
    assert problems(with_subplans(group, top=f"{AGENT}max_parallel: 3\n")) == [
        "6:27 max_parallel 8 has no effect: the group around it allows 3"
    ]
    assert problems(with_subplans(group, top=f"{AGENT}max_parallel: 8\n")) == []
    assert problems(with_subplans(group), flags=Layer("--max-parallel", {"max_parallel": 2})) == []


def test_slices_that_are_alike_are_decided_together() -> None:
    back = "on_fail: {retry_from: a, max: 10}"
    steps = ", ".join(["{id: a, run: x}", *(f"{{id: {name}, run: x, {back}}}" for name in "bcd")])
    slices = [f"{{id: s{n}, pipeline: much}}" for n in range(50)]
    assert len(problems(with_subplans(*slices, top=f"pipelines: {{much: [{steps}]}}\n"))) == 1


def test_an_agent_is_an_entry_or_an_adapter_that_needs_no_more() -> None:
    plan = load_plan(HEAD + f"agents: {{coder: {{use: codex}}}}\nsubplans: [{SLICE}]")
    settings = plan.scopes[0].settings

    def use(name: str) -> str | None:
        agent = agent_of(AgentWork(prompt="x", agent=name), settings, plan.agents)
        return None if agent is None else agent.use

    assert [use(name) for name in ("coder", "claude", "command", "nobody")] == ["codex", "claude", None, None]


# Who resolves conflicts.

RESOLVES = "merge: {resolve: agent}\n"
COMMAND = "{id: a, verify: v, steps: [{id: r, run: x}]}"


def test_an_agent_that_resolves_conflicts_must_be_there_even_if_no_step_has_one() -> None:
    (message,) = problems(with_subplans(COMMAND, top=RESOLVES))
    assert message == (
        "3:8 merge.resolve needs an agent: set agent: to one that `weft agents` lists, or to an entry of agents; "
        "no agent's program is on the PATH"
    )
    assert problems(with_subplans(COMMAND, top=f"{RESOLVES}{AGENT}")) == []


def test_without_branches_no_agent_is_needed_for_conflicts() -> None:
    assert problems(with_subplans(COMMAND, top=f"{RESOLVES}isolation: dir\n")) == []


def test_an_agent_of_a_configuration_that_does_not_exist_is_reported_for_conflicts_too() -> None:
    config = read_config("agent: nobody\n", "c.yaml", "user")
    (message,) = problems(with_subplans(COMMAND, top=RESOLVES), configs=[config])
    assert message.startswith("3:8 merge.resolve needs an agent: 'nobody', of c.yaml:1:8, does not exist")


def test_that_nothing_checks_how_conflicts_are_resolved_is_reported() -> None:
    slices = (COMMAND, COMMAND.replace("id: a, verify: v", "id: b"))
    assert problems(with_subplans(*slices, top=f"{AGENT}{RESOLVES}")) == [
        "7:5 1 slice has no verify, so nothing checks how an agent resolves the conflicts of it: b"
    ]


def test_a_word_that_is_nearly_right_is_suggested() -> None:
    assert problems(with_subplans(COMMAND, top="merge: {resolve: agents}\n")) == [
        "3:18 resolve is 'agents'; it must be hold | agent; did you mean 'agent'?"
    ]


# Models.

NO_MODEL = "needs a model: the agent 'builtin' (builtin) has none of its own; set model: in the agent,"
OUR_OWN = "agent: builtin\n"


def test_an_agent_without_a_model_of_its_own_needs_one_and_is_reported_once() -> None:
    steps = ("{id: a, prompt: x}", "{id: b, prompt: x}")
    (message,) = problems(with_steps(*steps, top=OUR_OWN))
    assert message.startswith(f"9:9 step 'a' {NO_MODEL}")
    (message,) = problems(with_subplans(SLICE, top=OUR_OWN))
    assert message.startswith(f"5:5 step 'work' {NO_MODEL}")


@pytest.mark.parametrize(
    ("top", "step"),
    [
        ("agent: builtin\nmodel: m\n", "{id: a, prompt: x}"),
        ("agents: {own: {use: builtin, model: m}}\n", "{id: a, prompt: x}"),
        (OUR_OWN, "{id: a, prompt: x, model: m}"),
    ],
)
def test_the_plan_the_agent_or_the_step_may_name_the_model(top: str, step: str) -> None:
    assert problems(with_steps(step, top=top)) == []


def test_one_that_is_to_resolve_conflicts_needs_a_model_too() -> None:
    top = f"agent: builtin\n{RESOLVES}"
    (message,) = problems(with_subplans(COMMAND, top=top))
    assert message.startswith(f"4:8 merge.resolve {NO_MODEL}")
    assert problems(with_subplans(COMMAND, top=f"{top}model: m\n")) == []


# Readers.

READS = "{id: look, prompt: x, read_only: true}"


def reading(use: str, isolation: str) -> list[str]:
    top = f"agents: {{own: {use}}}\nisolation: {isolation}\npolicy: serial\n"
    return problems(with_steps(READS, top=top))


def test_that_nothing_keeps_a_reader_from_changing_files_is_reported_where_anybody_works() -> None:
    (message,) = reading("{use: aider}", "none")
    assert message.endswith(
        "nothing keeps step 'look' from changing files: the agent 'own' (aider) has no mode for reading, and with "
        "isolation: none changes cannot be attributed to a step"
    )
    assert reading("{use: claude}", "none") == []
    assert reading("{use: aider}", "dir") == []
