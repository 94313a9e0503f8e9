"""How the programs are called."""

import pytest

from agents.calls import call
from agents.recorded import USES, call_of
from weft.agents.adapters import adapter_of
from weft.agents.mini_swe_agent import LONGEST_PROMPT
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.ports.agent import AgentAdapter, Invocation

READ_ONLY = {
    "claude": ("--permission-mode", "plan"),
    "codex": ("-s", "read-only"),
    "gemini": ("--approval-mode", "plan"),
    "pi": ("--tools", "read,grep,find,ls"),
}
RESUMED = {
    "claude": ("--resume", "S"),
    "codex": ("resume", "S"),
    "gemini": ("--resume", "S"),
    "opencode": ("--session", "S"),
    "goose": ("--name", "S", "--resume"),
    "vibe": ("--resume", "S"),
    "pi": ("--session", "S"),
}
FORKED = {
    "claude": ("--resume", "S", "--fork-session"),
    "codex": ("fork", "S"),
    "opencode": ("--session", "S", "--fork"),
    "pi": ("--fork", "S"),
}


def invoked(use: str, **more: object) -> Invocation:
    return adapter_of(use).invoke(call_of(use, **more))


def has(invocation: Invocation, words: tuple[str, ...]) -> bool:
    argv = invocation.argv
    return any(argv[at : at + len(words)] == words for at in range(len(argv)))


@pytest.mark.parametrize("use", USES)
def test_the_program_that_is_called_is_the_one_that_is_looked_for(use: str) -> None:
    assert AGENT_PROGRAMS[use].program in invoked(use).argv


@pytest.mark.parametrize("use", sorted(set(USES) - {"mini-swe-agent"}))
def test_the_prompt_is_never_on_the_command_line(use: str) -> None:
    prompt = "- x" * 100_000
    invocation = invoked(use, prompt=prompt)
    assert invocation.stdin == prompt
    assert prompt not in invocation.argv


def test_mini_swe_agent_takes_the_prompt_as_an_argument_as_long_as_one_may_be() -> None:
    prompt = "-" + "ä" * (LONGEST_PROMPT // 2 - 1)
    invocation = invoked("mini-swe-agent", prompt=prompt)
    assert (invocation.argv[-1], invocation.stdin) == (f"--task={prompt}", None)
    with pytest.raises(InputError, match=r"bytes, and mini-SWE-agent takes it as an argument.*another agent"):
        invoked("mini-swe-agent", prompt=prompt + "ä")


@pytest.mark.parametrize("use", sorted(set(USES) - {"vibe"}))
def test_the_model_of_the_step_comes_before_that_of_the_agent(use: str) -> None:
    option = "-m" if use in {"codex", "gemini", "mini-swe-agent"} else "--model"
    assert option not in invoked(use).argv
    assert has(invoked(use, agent={"model": "a"}), (option, "a"))
    assert has(invoked(use, agent={"model": "a"}, model="b"), (option, "b"))


def test_vibe_gets_its_model_in_the_environment() -> None:
    assert "VIBE_ACTIVE_MODEL" not in invoked("vibe").env
    assert invoked("vibe", agent={"model": "a"}).env["VIBE_ACTIVE_MODEL"] == "a"
    assert invoked("vibe", agent={"model": "a"}, model="b").env["VIBE_ACTIVE_MODEL"] == "b"


@pytest.mark.parametrize("use", sorted(READ_ONLY))
def test_one_that_has_a_mode_for_reading_is_called_with_it(use: str) -> None:
    assert has(invoked(use, read_only=True), READ_ONLY[use])
    assert not has(invoked(use), READ_ONLY[use])


def test_opencode_may_neither_edit_nor_call_a_shell_if_it_is_to_read_whatever_the_plan_sets() -> None:
    invocation = invoked("opencode", read_only=True, agent={"env": {"OPENCODE_PERMISSION": "{}"}})
    assert invocation.env["OPENCODE_PERMISSION"] == '{"edit":"deny","bash":"deny"}'
    assert "OPENCODE_PERMISSION" not in invoked("opencode").env


@pytest.mark.parametrize("use", sorted(set(USES) - set(READ_ONLY) - {"opencode"}))
def test_one_that_has_none_is_called_as_ever(use: str) -> None:
    assert invoked(use, read_only=True).argv == invoked(use).argv
    assert invoked(use, read_only=True).env["WEFT_READ_ONLY"] == "1"


@pytest.mark.parametrize("use", sorted(RESUMED))
def test_a_conversation_is_resumed(use: str) -> None:
    assert has(invoked(use, session="S"), RESUMED[use])
    assert not has(invoked(use), RESUMED[use][:1]) or use == "goose"


@pytest.mark.parametrize("use", sorted(set(USES) - set(RESUMED)))
def test_one_that_keeps_no_conversation_starts_afresh(use: str) -> None:
    assert invoked(use, session="S").argv == invoked(use).argv


def test_a_conversation_is_forked_by_all_that_say_they_can() -> None:
    assert {use for use in USES if AGENT_PROGRAMS[use].forks} == set(FORKED)


@pytest.mark.parametrize("use", sorted(FORKED))
def test_a_fork_leaves_the_conversation_as_it_is(use: str) -> None:
    assert has(invoked(use, session="S", fork=True), FORKED[use])
    assert not has(invoked(use, session="S"), FORKED[use])


@pytest.mark.parametrize("use", ["codex", "goose"])
def test_the_usage_mark_is_not_passed_to_the_program(use: str) -> None:
    assert has(invoked(use, session="S#1/2/3"), RESUMED[use])


def test_goose_conversations_have_names_of_their_own() -> None:
    names = {invoked("goose", result_file=file).argv[4] for file in ("/a.json", "/b.json", "/a.json")}
    assert len(names) == 2


@pytest.mark.parametrize("use", USES)
def test_the_arguments_of_the_plan_are_passed_on(use: str) -> None:
    assert has(invoked(use, agent={"args": ("--one", "two three")}), ("--one", "two three"))


def test_no_argument_lets_claude_do_more_than_read() -> None:
    argv = invoked("claude", read_only=True, agent={"args": ("--permission-mode", "acceptEdits")}).argv
    assert argv[-2:] == ("--permission-mode", "plan")


@pytest.mark.parametrize(
    "args", [("-s", "danger-full-access"), ("--sandbox=x",), ("--dangerously-bypass-approvals-and-sandbox",)]
)
def test_the_sandbox_of_codex_is_given_once(args: tuple[str, ...]) -> None:
    assert not has(invoked("codex", agent={"args": args}), ("-s", "workspace-write"))
    assert has(invoked("codex", agent={"args": ("--search",)}), ("-s", "workspace-write"))


@pytest.mark.parametrize("use", USES)
def test_what_the_plan_sets_in_the_environment_stands(use: str) -> None:
    mine = dict.fromkeys(invoked(use, model="m").env, "mine")
    ours = {name for name in invoked(use, model="m", agent={"env": mine}).env if not name.startswith("WEFT_")}
    assert ours == set()
    assert invoked(use, model="m").env["WEFT_MODEL"] == "m"


def test_retries_of_the_programs_are_few_where_they_can_be() -> None:
    assert invoked("claude").env["CLAUDE_CODE_MAX_RETRIES"] == "1"
    assert invoked("mini-swe-agent").env["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] == "2"


def test_aider_leaves_nothing_in_the_worktree() -> None:
    argv = invoked("aider", result_file="/logs/x.result.json").argv
    assert {"/logs/x.result.aider.md", "/logs/x.result.aider.txt"} < set(argv)
    assert has(invoked("aider"), ("--map-tokens", "0"))


def test_mini_swe_agent_leaves_its_story_where_a_report_is_looked_for() -> None:
    assert has(invoked("mini-swe-agent", result_file="/logs/r.json"), ("-o", "/logs/r.json"))


@pytest.mark.parametrize("use", USES)
def test_an_adapter_has_both_functions(use: str) -> None:
    adapter: AgentAdapter = adapter_of(use)
    assert callable(adapter.invoke)
    assert callable(adapter.judge)


@pytest.mark.parametrize(
    "name", sorted(name for name, adapter in AGENT_PROGRAMS.items() if adapter.reads_only)
)
def test_an_adapter_that_has_a_mode_for_reading_uses_it(name: str) -> None:
    invoke, agent = adapter_of(name).invoke, {"use": name, "model": "m"}
    assert invoke(call(agent=agent, read_only=True)) != invoke(call(agent=agent))
