"""The plan and the configuration that a project begins with: small, and meant to be changed."""

import re
from collections.abc import Iterator

from weft.app.survey import Found
from weft.plan.language.adapters import ADAPTERS, Adapter
from weft.plan.text.emit import to_yaml

_LONGEST_ID = 64


def plan_id(name: str) -> str:
    """The id of a plan for a directory of that name."""
    id_ = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:_LONGEST_ID]
    return id_ or "plan"


def _yaml(text: str) -> str:
    return to_yaml(text).strip()


# --- the plan ---


def plan_text(found: Found, *, name: str, schema: str) -> str:
    """A plan that is valid as it stands. `schema` is where an editor finds what may be in it."""
    parts = [_head(plan_id(name), schema), *_around(found), _agents(found), _BUDGET, *_subplans(found)]
    return "\n\n".join(parts) + "\n"


def _head(id_: str, schema: str) -> str:
    return f"""\
# yaml-language-server: $schema={schema}
#
# A plan for Weft. The parts below are examples: put what you want to have done in their place.
#   weft check                is it right, what can run at once, what may it cost
#   weft run                  run it
#   weft schema --reference   all that can be said here
weft: 1
plan: {_yaml(id_)}
goal: What it is all for; every agent is told this."""


def _around(found: Found) -> Iterator[str]:
    """Where work starts and lands, and what must pass."""
    if not found.git.is_repository:
        yield """\
# This is no git repository, so each part works in a directory of its own, with nothing in it but the files of
# what it depends on. In a repository it has a worktree, and what passes is merged and lands on your branch."""
        return
    yield f"""\
# Where work starts and results land. Without it that is the branch that is checked out.
# base: {_yaml(found.git.branch or "main")}"""
    if found.setup:
        yield f"""\
# Run once in each fresh worktree, which has only what is in git.
setup: {_yaml(found.setup)}"""
    if found.tests:
        yield f"""\
# Must pass on all that was done, together, before it lands.
verify: {_yaml(found.tests[0].command)}"""
    else:
        yield """\
# A command that must pass on all that was done, together, before it lands. None was found here.
# verify: make test"""


_BUDGET = """\
# What all agents together may cost, in dollars.
# budget: 10"""

_NO_AGENT = """\
# No agent was found on this machine: {known}.
# Install one, or name any program that works by a prompt on its standard input; or, with a key to a model in
# OPENAI_API_KEY or ANTHROPIC_API_KEY, take the small agent that Weft has itself:
# agents:
#   coder: {{use: builtin, model: NAME}}
#   other: {{use: command, command: ./my-agent.sh}}
# Then give the parts below a `prompt`, in place of `steps`."""


def _agents(found: Found) -> str:
    if not found.agents:
        programs = [one.program for one in ADAPTERS.values() if one.program is not None]
        return _NO_AGENT.format(known=f"neither {', '.join(programs[:-1])} nor {programs[-1]}")
    first, *others = found.agents
    lines = ["# Who does the work, where a part of it does not say otherwise.", "agent: coder", "agents:"]
    lines += _agent("coder", first)
    for other in others:
        lines += (f"  # {line[2:]}" for line in _agent(other.name, other))
    return "\n".join(lines)


def _agent(name: str, adapter: Adapter) -> list[str]:
    return [f"  {name}:  # {adapter.doc}", f"    use: {adapter.name}"]


_OF_A_PROJECT = (
    ("survey", "Write SURVEY.md: in a line or two for each part of this project, what it is for."),
    ("open-ends", "Write OPEN.md: the remarks in this project that say TODO or FIXME, each with its file."),
    ("advice", "Read SURVEY.md and OPEN.md, and write ADVICE.md: the three things most worth doing."),
)
_OF_NOTHING = (
    ("survey", "Write SURVEY.md: in ten lines, what a small tool for notes should be able to do."),
    ("open-ends", "Write OPEN.md: in ten lines, what can go wrong in such a tool."),
    ("advice", "Read SURVEY.md and OPEN.md, and write ADVICE.md: the three things to begin with."),
)
_COMMANDS_ONLY = (
    ("survey", "date > SURVEY.md"),
    ("open-ends", "uname > OPEN.md"),
    ("advice", "cat SURVEY.md OPEN.md > ADVICE.md"),
)
_FILES = ("SURVEY.md", "OPEN.md", "ADVICE.md")


def _subplans(found: Found) -> Iterator[str]:
    examples = _OF_A_PROJECT if found.git.is_repository else _OF_NOTHING
    one, two, three = (
        _slice(id_, does, file, is_prompt=bool(found.agents))
        for (id_, does), file in zip(examples if found.agents else _COMMANDS_ONLY, _FILES, strict=True)
    )
    yield f"subplans:\n  # These two need nothing of each other, and run at the same time.\n{one}\n{two}"
    after = three.replace("\n", "\n    depends_on: [survey, open-ends]\n", 1)
    yield f"  # This one starts with what they have done.\n{after}"


def _slice(id_: str, does: str, file: str, *, is_prompt: bool) -> str:
    work = f"prompt: {_yaml(does)}" if is_prompt else f"steps: [{{id: make, run: {_yaml(does)}}}, {_CHECK}]"
    return f"  - id: {id_}\n    {work}\n    files: [{file}]\n    verify: test -s {file}"


_CHECK = "{id: check, action: verify}"


# --- the configuration ---


def config_text(found: Found) -> str:
    parts = (_SETTINGS, _for_agents(found), _for_tests(found), _NOTIFY)
    return "\n\n".join(parts) + "\n"


_SETTINGS = """\
# Settings for all plans of this project; a plan may say otherwise. This file belongs into git.
# Which are in force, and why:   weft config

# How many parts may be under way at once, 1 to 32.
max_parallel: 4

# How results get onto your branch: `confirm` asks at the end of a run, `auto` does not ask, `manual` waits for
# `weft merge`.
merge:
  mode: confirm"""

_NOTIFY = """\
# Who is told when a run needs somebody, or is over.
# notify: {desktop: true}"""


def _for_agents(found: Found) -> str:
    if not found.agents:
        return "# Agents that any plan can name. None was found on this machine.\n# agents: {}"
    names = ", ".join(one.name for one in found.agents)
    entry = "\n".join(f"# {line}" for line in _agent("coder", found.agents[0]))
    return f"# Agents that any plan can name. Found on this machine: {names}.\n# agents:\n{entry}"


def _for_tests(found: Found) -> str:
    if not found.tests:
        return "# No command was found that tests this project. A plan names one with `verify`."
    lines = (f"#   {one.command}  ({one.file})" for one in found.tests)
    return "\n".join(("# What tests this project, for `verify` in plans:", *lines))
