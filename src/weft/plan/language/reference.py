"""The reference of the plan language, as Markdown generated from the tables of the loader."""

from collections.abc import Iterable, Iterator, Sequence

from weft.plan.language.adapters import ADAPTERS
from weft.plan.language.kinds import Choice, Duration, Money, Tokens
from weft.plan.language.kinds_of_many import Either, ListOf, MapOf
from weft.plan.language.merge import MERGE
from weft.plan.language.money import PLAIN_AMOUNT
from weft.plan.language.reader import Kind
from weft.plan.language.records import Key, Later, Record, Words
from weft.plan.language.tables import PLAN, RECORDS, SETTINGS, STEP
from weft.plan.language.values import COMMAND, COMMANDS, EXPRESSION, GLOB, ID, PLAIN_COMMAND, TEMPLATE

MADE_BY = "weft schema --reference"

TEMPLATE_NAMES = (
    ("`slice.id`, `slice.path`, `slice.title`", "the slice: its id, its path from the root, its title"),
    ("`slice.prompt`, `slice.verify`", "what is to be done, and the commands that must pass"),
    ("`plan.id`, `plan.goal`", "the plan: its id, and what it is all for"),
    (
        "`feedback`",
        "why the last attempt failed: the command, its exit code, the end of its output; empty at first",
    ),
    ("`attempt`", "the number of this attempt, from 1"),
    ("`step.ID.result`", "the result of a step: an agent's last words, a command's output, a join's text"),
    ("`step.ID.stdout`, `step.ID.stderr`, `step.ID.exit_code`", "of a command"),
    ("`step.ID.json`", "the result, parsed; `step.ID.field` and `step.ID.list[0]` lead further down"),
    ("`step.JOIN.ID.field`", "of a join with JSON: what one of its steps gave"),
    ("`step.OUTER.INNER.result`", "of a step within another pipeline"),
    ("`env.NAME`", "an environment variable that `env_allow` lists"),
    ("`run.id`", "the id of the run"),
)
"""The names that a template may read, with their meaning."""

_HEAD = f"""\
<!-- Made by `{MADE_BY}`; changes belong into the tables in src/weft/plan/language/tables.py. -->

# The plan file

A plan is a YAML file: a tree of subplans, and how they are done. An unknown key is an error, as is a value that is
not allowed; all errors of a file are told at once, each with its line and column.

Values are read as in YAML 1.2: `yes`, `on` and `1:30` are text. A number where text is wanted needs quotes.
Anchors, aliases and `<<` work as usual; tags have no meaning."""

_SHORT: dict[Kind, str] = {
    ID: "an id",
    GLOB: "a glob",
    TEMPLATE: "a template",
    EXPRESSION: "an expression",
    COMMAND: "a command",
    PLAIN_COMMAND: "a command",
    COMMANDS: "commands",
    Duration(): "a duration",
    PLAIN_AMOUNT: "an amount",
    Money(): "an amount",
    Money.from_zero(): "an amount, or 0",
    Tokens(): "a number of tokens",
}
"""Kinds that many keys have: explained once, and then only named."""

_SETTINGS = """\
A setting may stand in the user's configuration, in the project's, in an environment variable such as
`WEFT_MAX_PARALLEL`, at the top of the plan and on any subplan; the last column says which ones a step has, too.
The nearest to the work counts: step, subplan, the subplans around it, plan, variable, project, user, default."""

_TEMPLATES = """\
`{{ … }}` in a text that is a template is replaced when the step starts. An unknown name is an error, never an
empty text. In a `run` that is text, values are quoted for the shell, unless they are piped through `| raw`. Where
another program reads an argument as code (`sh -c "echo {{ … }}"`, `eval`, `ssh HOST …`, `python -c`), in a text as
in a list, a value is refused, unless it is an id or a number; `| raw` allows it. An id with a `-` in it is written
`step['my-step'].result`. Braces that are to stay stand in `{% raw %}…{% endraw %}`.
Texts of subplans (`prompt`, `title`, `verify`, `setup`) and the `goal` are no templates: braces in them stay."""


def plan_reference() -> str:
    """Returns the reference of the whole language."""
    meanings = {name: kind.words for kind, name in _SHORT.items()}
    values = [(name, words.replace("src/store/**", "`src/store/**`")) for name, words in meanings.items()]
    parts: list[str] = [_HEAD, _table(("in short", "in full"), values)]
    for record in RECORDS:
        parts += _record(record)
        if record is PLAN:
            parts += ["## Settings", _SETTINGS, _settings()]
    parts += ["## Adapters", "What `use` of an agent may name.", _adapters()]
    parts += ["## Templates", _TEMPLATES, _table(("name", "what it is"), TEMPLATE_NAMES)]
    return "\n\n".join(parts) + "\n"


def _record(record: Record) -> Iterator[str]:
    yield f"## {record.title.capitalize() if record.title != record.name else record.title}"
    yield record.doc
    settings = [key for key in record.keys if key in SETTINGS]
    own = [key for key in record.keys if key not in settings]
    yield _table(("key", "allowed", "default", "meaning"), map(_row, own))
    if settings:
        yield "Further, any of the [settings](#settings)."
    if record.rules:
        yield "\n".join(f"- {rule.sentence}" for rule in record.rules)


def _row(key: Key) -> Sequence[str]:
    example = "" if key.example is None else f" Example: `{key.example}`"
    return (f"`{key.name}`", _allowed(key.kind), _default(key), key.doc + example)


def _settings() -> str:
    of_a_step = {key.name for key in STEP.keys}
    rows: list[Sequence[str]] = []
    for key in SETTINGS:
        if key.kind is MERGE:
            rows += [(f"`merge.{part.name}`", *_row(part)[1:], "") for part in MERGE.keys]
        else:
            rows.append((*_row(key), "yes" if key.name in of_a_step else ""))
    return _table(("setting", "allowed", "default", "meaning", "on a step"), rows)


def _adapters() -> str:
    rows = [
        (
            f"`{adapter.name}`",
            adapter.doc,
            f"`{adapter.program}`" if adapter.program else "",
            "yes" if adapter.forks else "",
        )
        for adapter in ADAPTERS.values()
    ]
    return _table(("name", "what it drives", "program it needs", "can fork a conversation"), rows)


def _allowed(kind: Kind) -> str:
    """Returns what is allowed as messages describe it, but shorter and with links."""
    if kind in _SHORT:
        return _SHORT[kind]
    match kind:
        case Choice():
            return ", ".join(f"`{value}`" for value in kind.values)
        case Later():
            return _allowed(kind.record())
        case Record():
            return f"[{kind.name if kind.title != kind.name else 'a mapping'}](#{kind.title})"
        case ListOf():
            return f"a list of: {_allowed(kind.item)}"
        case MapOf():
            return f"a mapping of names to: {_allowed(kind.value)}"
        case Either(description=""):
            return ", or ".join(map(_allowed, kind.kinds()))
        case _:
            return kind.words


def _default(key: Key) -> str:
    if key.required:
        return "required"
    if key.default is None:
        return ""
    return key.default if isinstance(key.default, Words) else f"`{key.default}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
