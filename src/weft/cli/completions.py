"""Suggestions for the Tab key: names, with their meaning for shells that show it.

This code runs while the user is typing. So it reads little, starts nothing and never prints an error: where
something is wrong there is nothing to suggest.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import click

MOST = 1_000
"""How many suggestions are returned; a person does not choose from more."""

Items = list[Any]
"""A list of click's `CompletionItem`, which is imported only when the user presses Tab."""
Complete = Callable[[click.Context, click.Parameter, str], Items]
Named = tuple[str, str]
"""A name and its meaning."""


def _quietly(find: Callable[[click.Context, str], Iterable[Named]]) -> Complete:
    """Returns a completion of the names that start as typed, without those already on the command line."""

    @wraps(find)
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
        try:
            used = _names_used(context, parameter)
            fitting = (
                (name, help_)
                for name, help_ in find(context, incomplete)
                if name.startswith(incomplete) and name not in used
            )
            return [_item(name, help_) for name, help_ in islice(fitting, MOST)]
        except Exception:  # noqa: BLE001 - an error would garble the line that the user types
            return []

    return complete


def _names_used(context: click.Context, parameter: click.Parameter) -> Sequence[str]:
    values: tuple[str, ...] | None = context.params.get(parameter.name or "")
    return values or ()


def _item(name: str, help_: str) -> Any:  # noqa: ANN401
    from click.shell_completion import CompletionItem

    return CompletionItem(name, help=" ".join(help_.split()) or None)


def _directory(context: click.Context) -> Path:
    return Path(context.find_root().params.get("directory") or ".")


# Runs


@_quietly
def subplan_ids(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Completes subplans of the run; where nothing has been run, those of the plan in this directory."""
    return _of_run(context) or _of_plan(context, incomplete, None)


@_quietly
def subplans_and_steps(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Completes subplans, and after a colon the steps of a subplan."""
    if ":" not in incomplete:
        return _of_run(context) or _of_plan(context, incomplete, None)
    from weft.app.record import names

    run = context.params.get("run_id")
    return [(name, "") for name in names.subplans_and_steps(_directory(context), run, incomplete)]


@_quietly
def held_ids(context: click.Context, _incomplete: str) -> Iterable[Named]:
    """Completes subplans that wait for `weft merge`, with the reason."""
    from weft.app.control.holds import held
    from weft.app.record.journal import open_book

    with open_book(_directory(context), context.params.get("run_id")) as recorded_run:
        return {work.subplan: work.message.partition("\n")[0] for work in held(recorded_run)}.items()


@_quietly
def question_ids(context: click.Context, _incomplete: str) -> Iterable[Named]:
    """Completes the open questions, with their text."""
    from weft.app.control.questions import open_questions
    from weft.app.record.journal import open_book

    with open_book(_directory(context), context.params.get("run_id")) as recorded_run:
        return [(question.name, question.text) for question in open_questions(recorded_run)]


def _of_run(context: click.Context) -> list[Named]:
    """Returns the subplans of the run; empty if nothing has been run."""
    from weft.app.project.plan_names import subplans_in
    from weft.app.record.journal import open_book
    from weft.errors import InputError

    try:
        with open_book(_directory(context), context.params.get("run_id")) as recorded_run:
            return list(subplans_in(recorded_run.run.text))
    except InputError:
        return []


# Plans


@_quietly
def plan_words(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Completes `[PLAN] [ID…]`: a plan, and subplans of that plan."""
    words: tuple[str, ...] = context.params.get("words") or ()
    plan = next((word for word in words[:1] if word.endswith((".yaml", ".yml", ".json"))), None)
    plans = [] if words else _plans(context, incomplete)
    return [*plans, *_of_plan(context, incomplete, plan)]


@_quietly
def plan_places(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Completes subplans of the plan that is the command's argument."""
    # With an option that still lacks its value, click leaves the argument among the rest.
    return _of_plan(context, incomplete, context.params.get("plan") or next(iter(context.args), None))


def plan_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Completes plans; where no plan matches, the shell completes file names itself."""
    from click.shell_completion import CompletionItem

    items = _plan_files(context, parameter, incomplete)
    return items or [CompletionItem(incomplete, type="file")]


@_quietly
def _plan_files(context: click.Context, incomplete: str) -> Iterable[Named]:
    return _plans(context, incomplete)


def _plans(context: click.Context, incomplete: str) -> list[Named]:
    from weft.app.project import plan_names

    return [(name, "") for name in plan_names.plan_files(_directory(context), incomplete)]


def _of_plan(context: click.Context, incomplete: str, plan: str | None) -> list[Named]:
    from weft.app.project.plan_names import subplans_of
    from weft.app.project.plans import find_plan
    from weft.errors import InputError

    slash = "/" if incomplete.startswith("/") else ""
    try:
        source = find_plan(plan, _directory(context))
        return [(slash + path, title) for path, title in subplans_of(source)]
    except InputError:
        return []


# Agents


@_quietly
def agent_names(context: click.Context, _incomplete: str) -> Iterable[Named]:
    """Completes the agents of the plan, and those that Weft knows."""
    from weft.app.project.plan_names import agents_of
    from weft.app.project.plans import find_plan
    from weft.errors import InputError
    from weft.plan.language.agent_programs import AGENT_PROGRAMS

    adapters = {name: adapter.doc for name, adapter in AGENT_PROGRAMS.items()}
    try:
        own = dict(agents_of(find_plan(context.params.get("plan"), _directory(context))))
    except InputError:
        own = {}
    return (own | {name: doc for name, doc in adapters.items() if name not in own}).items()


# Settings


def flag_values(_context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Completes the values of a setting that has few."""
    from weft.plan.language.kinds import Choice
    from weft.plan.settings import flag_setting, setting_key

    kind = setting_key(flag_setting(parameter.name or "")).kind
    values = kind.values if isinstance(kind, Choice) else ()
    return [_item(value, "") for value in values if value.startswith(incomplete)]


@_quietly
def setting_names(_context: click.Context, _incomplete: str) -> Iterable[Named]:
    """Completes settings and the other keys of a configuration."""
    from weft.plan.language.tables import CONFIG, SETTINGS
    from weft.plan.settings import SETTING_NAMES, setting_key

    settings = [(name, setting_key(name).doc) for name in SETTING_NAMES]
    return [*settings, *((key.name, key.doc) for key in CONFIG.keys if key not in SETTINGS)]
