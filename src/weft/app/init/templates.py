"""Templates of the first plan and configuration of a project. They are small and meant to be edited."""

import json
import re
from collections.abc import Iterator

from weft.app.init.survey import ProjectSurvey
from weft.plan.agent_program import AgentProgram
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.text.emit import to_yaml

_LONGEST_ID = 64


def plan_id(name: str) -> str:
    """Returns a plan id for a directory of that name."""
    id_ = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:_LONGEST_ID]
    return id_ or "plan"


def _yaml(text: str) -> str:
    return to_yaml(text).strip()


# --- the plan ---


def plan_text(found: ProjectSurvey, *, name: str, schema: str) -> str:
    """Returns the text of a valid plan. `schema` is the path of the JSON Schema, for editors."""
    parts = [_head(plan_id(name), schema), *_around(found), _agents(found), _BUDGET, *_subplans(found)]
    return "\n\n".join(parts) + "\n"


def _head(id_: str, schema: str) -> str:
    return f"""\
# yaml-language-server: $schema={schema}
#
# A plan for Weft. The parts below are examples: replace them by your own work.
#   weft check                checks it; shows what runs at once and what it may cost
#   weft run                  runs it
#   weft logs /               the output of its steps
#   weft schema --reference   all keys that a plan can have
weft: 1
plan: {_yaml(id_)}
goal: The purpose of the work; every agent sees it."""


def _around(found: ProjectSurvey) -> Iterator[str]:
    """Yields the sections about base, setup and verify."""
    if not found.git.is_repository:
        yield """\
# This is not a git repository, so each part works in a directory of its own, with nothing in it but the files of
# what it depends on. In a repository it has a worktree, and what passes is merged and lands on your branch."""
        return
    yield f"""\
# Where work starts and results land. Default: the branch that is checked out.
# base: {_yaml(found.git.branch or "main")}"""
    if found.setup:
        yield f"""\
# Runs once in each new worktree, which has only the files that are in git.
setup: {_yaml(found.setup)}"""
    if found.tests:
        yield f"""\
# Must pass on the merged result before it lands.
verify: {_yaml(found.tests[0].command)}"""
    else:
        yield """\
# A command that must pass on the merged result before it lands. None was found here.
# verify: make test"""


_BUDGET = """\
# What all agents together may cost, in dollars.
# budget: 10"""

_NO_AGENT = """\
# No agent was found on this machine: {known}.
# Install one, or name any program that reads a prompt from its standard input; or, with a key to a model in
# OPENAI_API_KEY or ANTHROPIC_API_KEY, use Weft's own small agent:
# agents:
#   coder: {{use: builtin, model: NAME}}
#   other: {{use: command, command: ./my-agent.sh}}
# Then give the parts below a `prompt`, in place of `steps`."""


def _agents(found: ProjectSurvey) -> str:
    if not found.agents:
        programs = [adapter.program for adapter in AGENT_PROGRAMS.values() if adapter.program is not None]
        return _NO_AGENT.format(known=f"neither {', '.join(programs[:-1])} nor {programs[-1]}")
    first, *others = found.agents
    lines = ["# The agent of every part that does not name another one.", "agent: coder", "agents:"]
    lines += _agent("coder", first)
    # The other agents are written as comments: naming them costs nothing, and the user sees what else could be
    # used.
    for other in others:
        lines += (f"  # {line[2:]}" for line in _agent(other.name, other))
    return "\n".join(lines)


def _agent(name: str, adapter: AgentProgram) -> list[str]:
    return [f"  {name}:  # {adapter.doc}", f"    use: {adapter.name}"]


# What the parts of the example do. In a repository they only read, so that a person who tries the example and then
# edits it does not find its files on a branch. Elsewhere they write, in directories below .weft.
_READ = (
    ("survey", "Say in a line or two for each part of this project what it is for."),
    ("open-ends", "List the remarks in this project that say TODO or FIXME, each with its file."),
    ("advice", "Name the three things that are most worth doing in this project, each with its reason."),
)
_READ_BY_COMMANDS = (
    ("survey", "git ls-files"),
    ("open-ends", "git grep -n -e TODO -e FIXME -- ':!weft.yaml' || echo none"),
    ("advice", "git log --oneline -5"),
)
_WRITE = (
    ("survey", "Write SURVEY.md: in ten lines, what a small tool for notes should be able to do."),
    ("open-ends", "Write OPEN.md: in ten lines, what can go wrong in such a tool."),
    ("advice", "Read SURVEY.md and OPEN.md, and write ADVICE.md: the three things to do first."),
)
_WRITE_BY_COMMANDS = (
    ("survey", "date > SURVEY.md"),
    ("open-ends", "uname > OPEN.md"),
    ("advice", "cat SURVEY.md OPEN.md > ADVICE.md"),
)
_FILES = ("SURVEY.md", "OPEN.md", "ADVICE.md")


def what_to_edit(found: ProjectSurvey, plan: str) -> str:
    """Returns one sentence for the user about what to edit in the plan."""
    harmless = "only read, and nothing lands" if found.git.is_repository else "write below .weft only"
    return f"{plan}: replace its `subplans`, which are an example, by your own work; they {harmless}"


def _subplans(found: ProjectSurvey) -> Iterator[str]:
    first, second, third = _reading_slices(found) if found.git.is_repository else _writing_slices(found)
    heading = f"{_own_work(found)}\n  # These two do not depend on each other, and run at the same time."
    yield f"{heading}\n{first}\n{second}"
    after = third.replace("\n", "\n    depends_on: [survey, open-ends]\n", 1)
    yield f"  # This one starts when they are done.\n{after}"


def _own_work(found: ProjectSurvey) -> str:
    is_example = (
        "An example that only reads: it changes no file, and nothing lands."
        if found.git.is_repository
        else "An example: it writes in directories below .weft, and nowhere else."
    )
    verify = found.tests[0].command if found.tests else "make test"
    work = "prompt: What the agent does" if found.agents else "steps: [{id: make, run: ./make-it.sh}]"
    return f"""\
subplans:
  # {is_example}
  # Put your own work in its place, such as:
  # - id: my-change
  #   {work}
  #   verify: {_yaml(verify)}
"""


def _reading_slices(found: ProjectSurvey) -> Iterator[str]:
    for id_, does in _READ if found.agents else _READ_BY_COMMANDS:
        work = f"read_only: true, prompt: {_quote(does)}" if found.agents else f"run: {_quote(does)}"
        yield f"  - id: {id_}\n    steps: [{{id: read, {work}}}]"


def _writing_slices(found: ProjectSurvey) -> Iterator[str]:
    for (id_, does), file in zip(_WRITE if found.agents else _WRITE_BY_COMMANDS, _FILES, strict=True):
        work = (
            f"prompt: {_yaml(does)}"
            if found.agents
            else f"steps: [{{id: make, run: {_yaml(does)}}}, {_CHECK}]"
        )
        yield f"  - id: {id_}\n    {work}\n    files: [{file}]\n    verify: test -s {file}"


def _quote(text: str) -> str:
    """Returns the text as it can stand in a YAML flow sequence."""
    return json.dumps(text)


_CHECK = "{id: check, action: verify}"


# --- the configuration ---


def config_text(found: ProjectSurvey) -> str:
    sandbox = (_SANDBOX,) if found.has_sandbox else ()
    parts = (_SETTINGS, *sandbox, _for_agents(found), _for_tests(found), _NOTIFY)
    return "\n\n".join(parts) + "\n"


_SETTINGS = """\
# Settings for all plans of this project; a plan can override them. Commit this file.
# To see the settings in force:   weft config

# The most parts that run at once, 1 to 32.
max_parallel: 4

# How results get onto your branch: `confirm` asks at the end of a run, `auto` does not ask, `manual` waits for
# `weft merge`.
merge:
  mode: confirm"""

_SANDBOX = """\
# bubblewrap works on this machine. Without the `#` steps can change nothing outside of their workspace, and see
# nothing of your home: agents are not logged in there, and need a key such as ANTHROPIC_API_KEY.
# sandbox: bwrap"""

_NOTIFY = """\
# Notify you when a run needs you, or is over.
# notify: {desktop: true}"""


def _for_agents(found: ProjectSurvey) -> str:
    if not found.agents:
        return "# Agents that any plan can name. None was found on this machine.\n# agents: {}"
    names = ", ".join(adapter.name for adapter in found.agents)
    entry = "\n".join(f"# {line}" for line in _agent("coder", found.agents[0]))
    return f"# Agents that any plan can name. Found on this machine: {names}.\n# agents:\n{entry}"


def _for_tests(found: ProjectSurvey) -> str:
    if not found.tests:
        return "# No command was found that tests this project. A plan names one with `verify`."
    lines = (f"#   {test.command}  ({test.file})" for test in found.tests)
    return "\n".join(("# What tests this project, for `verify` in plans:", *lines))
