"""What the shell is told when somebody presses Tab: names, with what they mean where a shell shows that.

This runs while a person is typing. So it reads little, starts nothing and never complains: where something is
wrong there is nothing to suggest.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import click

MOST = 1_000
"""More than anybody chooses from."""

Items = list[Any]
"""Of click's `CompletionItem`, which is loaded where somebody presses Tab, and nowhere else."""
Complete = Callable[[click.Context, click.Parameter, str], Items]
Named = tuple[str, str]
"""A name, and what it means."""


def _quietly(find: Callable[[click.Context, str], Iterable[Named]]) -> Complete:
    """The names that begin as what was typed, without those that stand there already."""

    @wraps(find)
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
        try:
            taken = _taken(context, parameter)
            fitting = (
                (name, help_)
                for name, help_ in find(context, incomplete)
                if name.startswith(incomplete) and name not in taken
            )
            return [_item(name, help_) for name, help_ in islice(fitting, MOST)]
        except Exception:  # noqa: BLE001 - whatever it is, nobody asked for more than a suggestion
            return []

    return complete


def _taken(context: click.Context, parameter: click.Parameter) -> Sequence[str]:
    given: tuple[str, ...] | None = context.params.get(parameter.name or "")
    return given or ()


def _item(name: str, help_: str) -> Any:  # noqa: ANN401
    from click.shell_completion import CompletionItem

    return CompletionItem(name, help=" ".join(help_.split()) or None)


def _directory(context: click.Context) -> Path:
    return Path(context.find_root().params.get("directory") or ".")


# Runs


@_quietly
def subplan_ids(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Subplans of the run that is meant; where nothing has been run, those of the plan that lies here."""
    return _of_run(context) or _of_plan(context, incomplete, None)


@_quietly
def subplans_and_steps(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Also the steps of a subplan, once a colon is typed."""
    if ":" not in incomplete:
        return _of_run(context) or _of_plan(context, incomplete, None)
    from weft.app.record import names

    run = context.params.get("run_id")
    return [(name, "") for name in names.subplans_and_steps(_directory(context), run, incomplete)]


@_quietly
def held_ids(context: click.Context, _incomplete: str) -> Iterable[Named]:
    """What waits for `weft merge`, and why."""
    from weft.app.control.holds import held
    from weft.app.record.journal import open_book

    with open_book(_directory(context), context.params.get("run_id")) as book:
        return {one.subplan: one.message.partition("\n")[0] for one in held(book)}.items()


@_quietly
def question_ids(context: click.Context, _incomplete: str) -> Iterable[Named]:
    from weft.app.control.questions import open_questions
    from weft.app.record.journal import open_book

    with open_book(_directory(context), context.params.get("run_id")) as book:
        return [(one.name, one.text) for one in open_questions(book)]


def _of_run(context: click.Context) -> list[Named]:
    """None if nothing has been run."""
    from weft.app.project.plan_names import subplans_in
    from weft.app.record.journal import open_book
    from weft.errors import InputError

    try:
        with open_book(_directory(context), context.params.get("run_id")) as book:
            return list(subplans_in(book.run.text))
    except InputError:
        return []


# Plans


@_quietly
def plan_words(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Of `[PLAN] [ID…]`: a plan, and subplans of the one that is meant."""
    words: tuple[str, ...] = context.params.get("words") or ()
    plan = next((word for word in words[:1] if word.endswith((".yaml", ".yml", ".json"))), None)
    found = [] if words else _plans(context, incomplete)
    return [*found, *_of_plan(context, incomplete, plan)]


@_quietly
def plan_places(context: click.Context, incomplete: str) -> Iterable[Named]:
    """Subplans of the plan that is the command's argument."""
    # With an option that still lacks its value, click leaves the argument among the rest.
    return _of_plan(context, incomplete, context.params.get("plan") or next(iter(context.args), None))


def plan_files(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Plans; where none begins so, the shell looks for files in its own way."""
    from click.shell_completion import CompletionItem

    found = _plan_files(context, parameter, incomplete)
    return found or [CompletionItem(incomplete, type="file")]


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
    """Those of the plan that is meant, and those that Weft knows."""
    from weft.app.project.plan_names import agents_of
    from weft.app.project.plans import find_plan
    from weft.errors import InputError
    from weft.plan.language.adapters import ADAPTERS

    known = {name: adapter.doc for name, adapter in ADAPTERS.items()}
    try:
        own = dict(agents_of(find_plan(context.params.get("plan"), _directory(context))))
    except InputError:
        own = {}
    return (own | {name: doc for name, doc in known.items() if name not in own}).items()


# Settings


def flag_values(_context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """The values of a setting that has few."""
    from weft.plan.language.kinds import Choice
    from weft.plan.settings import flag_setting, setting_key

    kind = setting_key(flag_setting(parameter.name or "")).kind
    values = kind.values if isinstance(kind, Choice) else ()
    return [_item(value, "") for value in values if value.startswith(incomplete)]


@_quietly
def setting_names(_context: click.Context, _incomplete: str) -> Iterable[Named]:
    """Also what else a configuration has."""
    from weft.plan.language.tables import CONFIG, SETTINGS
    from weft.plan.settings import SETTING_NAMES, setting_key

    settings = [(name, setting_key(name).doc) for name in SETTING_NAMES]
    return [*settings, *((key.name, key.doc) for key in CONFIG.keys if key not in SETTINGS)]
