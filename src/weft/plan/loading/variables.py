"""Settings in environment variables: `WEFT_MAX_PARALLEL=8` is `max_parallel: 8` for all that a shell starts.

A variable is the user's own and for the moment, so it counts before the files of configurations. A plan is nearer
to the work: what it says of itself, a variable that was set for something else does not undo. Flags do.

In a shell nobody can tell text from a number by quotes. So a value is read as the setting's kind reads a single
one, whether that would need quotes or not; and only where no single value is allowed, it is YAML: `[.env, certs]`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.errors import InputError
from weft.plan.language.money import amounts_in, kind_in_shell
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import Values
from weft.plan.loading.load import Config, check_place
from weft.plan.settings import (
    AMOUNTS,
    OURS,
    SETTING_NAMES,
    Layer,
    own_settings,
    setting_key,
    variable_name,
)
from weft.plan.text.document import Document, Node, Scalar, Table, read_document
from weft.plan.text.problems import PlanError, nearest

_OWN = frozenset(
    f"{OURS}{name}"
    for name in (
        "RUN", "SUBPLAN", "STEP", "ATTEMPT", "JOB", "HOST", "RESULT", "PLAN_DIR", "SESSION", "FORK", "READ_ONLY",
    )
)  # fmt: skip
_OWN_FAMILIES = (f"{OURS}POOL_", f"{OURS}NOTIFY_")
"""What Weft tells the processes that it starts. (WEFT_MODEL is told to agents, and is a setting elsewhere.)"""


class VariablesError(InputError):
    """Environment variables that cannot be used; says everything that is wrong with them."""

    def __init__(self, said: list[str]) -> None:
        super().__init__("\n".join(said))

    def lines(self) -> Iterator[str]:
        for one in str(self).split("\n"):
            yield f"error: {one}"


def read_variables(given: Mapping[str, str]) -> list[Config]:
    """What each variable sets whose name begins as ours do; raises `VariablesError`."""
    settings = {variable_name(setting): setting for setting in SETTING_NAMES}
    configs: list[Config] = []
    wrong: list[str] = []
    for name in sorted(given, key=lambda name: (settings.get(name) == "sandbox.use", name)):
        if name in settings:
            value, said = _read(name, settings[name], given[name])
            configs.append(Config(layer=Layer(name, _named(settings[name], value)), agents={}))
            wrong += [f"{name}: {one}" for one in said]
        else:
            wrong += _unknown(name, settings)
    if wrong:
        raise VariablesError(wrong)
    # WEFT_BUDGET_TOKENS counts before WEFT_BUDGET, which may say both; and WEFT_SANDBOX_USE before all about it.
    return configs[::-1]


def _named(setting: str, value: object) -> dict[str, Any]:
    """By the names of settings: an amount may be of dollars and of tokens."""
    name, _, part = setting.partition(".")
    if name == "sandbox":  # as in a file: whoever says something about it wants one
        return own_settings(Values({name: Values({part: value}, Table(1, 1))}, Table(1, 1)))
    return {setting: value} if part else own_settings(Values({setting: value}, Table(1, 1)))


def _unknown(name: str, settings: Mapping[str, str]) -> Iterator[str]:
    """A slip is told; a variable that is like no setting may be anybody's."""
    if name in _OWN or name.startswith(_OWN_FAMILIES):
        return
    by_ending = {variable.removeprefix(OURS).lower(): variable for variable in settings}
    near = nearest(name.removeprefix(OURS), by_ending)
    if near is not None:
        yield f"{name} is no setting; did you mean {by_ending[near]}? If not, type: unset {name}"


def _read(variable: str, setting: str, text: str) -> tuple[object, list[str]]:
    """The value, and what is wrong with it."""
    if not _is_text(text):
        return BAD, [f"{setting} is not text in UTF-8"]
    single = amounts_in(text) if setting in AMOUNTS else Scalar(text, 1, 1, "")
    value, said = _value(variable, setting, text, single)
    if not said:
        return value, []
    quoted, wrong = _value(variable, setting, text, Scalar(text, 1, 1, "'"))
    if not wrong:
        return quoted, []
    if text.lstrip().startswith(("[", "{")):
        try:
            root = read_document(text, variable).root
        except PlanError as error:
            return BAD, [f"{setting}: {problem.message}" for problem in error.problems]
        return _value(variable, setting, text, root)
    return BAD, said


def _value(variable: str, setting: str, text: str, node: Node) -> tuple[object, list[str]]:
    reader = Reader(Document(file=variable, text=text, root=node, problems=()))
    value: object = kind_in_shell(setting_key(setting).kind).read(node, reader, setting)
    if setting == "worktrees" and isinstance(value, str):
        check_place(node, value, reader)
    return value, [problem.message for problem in reader.problems]


def _is_text(value: str) -> bool:
    """Python keeps bytes that are not UTF-8 as signs that cannot be written down."""
    return value.isascii() or value.encode(errors="replace").decode() == value
