"""Settings in environment variables: `WEFT_MAX_PARALLEL=8` means `max_parallel: 8` for everything a shell starts.

The user sets a variable for a while, so it overrides configuration files. It does not override what a plan says
itself, because it may have been set for another plan. Flags override both.

Quotes cannot distinguish text from a number in a shell. A value is therefore read as a single value of the
setting's kind, whether or not YAML would need quotes. Only where no single value is allowed is it YAML: `[.env,
certs]`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.errors import InputError
from weft.plan.language.money import amounts_in, kind_in_shell
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import Values
from weft.plan.loader.load import Config, check_worktrees
from weft.plan.settings import (
    AMOUNTS,
    VARIABLE_PREFIX,
    VARIABLE_SETTINGS,
    Layer,
    own_settings,
    setting_key,
    variable_name,
)
from weft.plan.text.document import Document, Node, Scalar, Table, read_document
from weft.plan.text.problems import PlanError, nearest

_OWN = frozenset(
    f"{VARIABLE_PREFIX}{name}"
    for name in (
        "RUN", "SUBPLAN", "STEP", "ATTEMPT", "JOB", "HOST", "RESULT", "PLAN_DIR", "SESSION", "FORK", "READ_ONLY",
    )
)  # fmt: skip
_OWN_FAMILIES = (f"{VARIABLE_PREFIX}POOL_", f"{VARIABLE_PREFIX}NOTIFY_")
"""Variables that Weft sets for the processes it starts. WEFT_MODEL is missing: outside a step it is a setting."""


class VariablesError(InputError):
    """Environment variables that cannot be used, with everything that is wrong with them."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("\n".join(messages))

    def lines(self) -> Iterator[str]:
        for message in str(self).split("\n"):
            yield f"error: {message}"


def read_variables(environment: Mapping[str, str]) -> list[Config]:
    """Returns what each variable with Weft's prefix sets; raises `VariablesError`."""
    # By the names of variables, since `merge.when` and `merge_when` become the same one.
    settings = {variable_name(setting): setting for setting in VARIABLE_SETTINGS}
    configs: list[Config] = []
    errors: list[str] = []
    # `sandbox.use` comes last here and, after the reversal below, first.
    for name in sorted(environment, key=lambda name: (settings.get(name) == "sandbox.use", name)):
        if name in settings:
            value, messages = _read(name, settings[name], environment[name])
            configs.append(Config(layer=Layer(name, _as_settings(settings[name], value)), agents={}))
            errors += [f"{name}: {message}" for message in messages]
        else:
            errors += _unknown(name, settings)
    if errors:
        raise VariablesError(errors)
    # The first counts: WEFT_BUDGET_TOKENS before WEFT_BUDGET, which may set both, and WEFT_SANDBOX_USE before
    # the variables that imply it.
    return configs[::-1]


def _as_settings(setting: str, value: object) -> dict[str, Any]:
    """Returns the settings that a value stands for: an amount can set dollars and tokens."""
    name, _, part = setting.partition(".")
    if name == "sandbox":  # as in a file, setting a part of the sandbox turns it on
        return own_settings(Values({name: Values({part: value}, Table(1, 1))}, Table(1, 1)))
    return {setting: value} if part else own_settings(Values({setting: value}, Table(1, 1)))


def _unknown(name: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yields an error for a misspelt setting.

    A variable that resembles no setting may belong to another program.
    """
    if name in _OWN or name.startswith(_OWN_FAMILIES):
        return
    by_ending = {variable.removeprefix(VARIABLE_PREFIX).lower(): variable for variable in settings}
    near = nearest(name.removeprefix(VARIABLE_PREFIX), by_ending)
    if near is not None:
        yield f"{name} is not a setting; did you mean {by_ending[near]}? If not, type: unset {name}"


def _read(variable: str, setting: str, text: str) -> tuple[object, list[str]]:
    """Returns the value and its errors."""
    if not _is_text(text):
        return BAD, [f"{setting} is not text in UTF-8"]
    single = amounts_in(text) if setting in AMOUNTS else Scalar(text, 1, 1, "")
    value, messages = _value(variable, setting, text, single)
    if not messages:
        return value, []
    # `true` or `8` are fine as text where the setting is text.
    quoted, quoted_errors = _value(variable, setting, text, Scalar(text, 1, 1, "'"))
    if not quoted_errors:
        return quoted, []
    if text.lstrip().startswith(("[", "{")):
        try:
            root = read_document(text, variable).root
        except PlanError as error:
            return BAD, [f"{setting}: {problem.message}" for problem in error.problems]
        return _value(variable, setting, text, root)
    return BAD, messages


def _value(variable: str, setting: str, text: str, node: Node) -> tuple[object, list[str]]:
    reader = Reader(Document(file=variable, text=text, root=node, problems=()))
    value: object = kind_in_shell(setting_key(setting).kind).read(node, reader, setting)
    if setting == "worktrees" and isinstance(value, str):
        check_worktrees(node, value, reader)
    return value, [problem.message for problem in reader.problems]


def _is_text(value: str) -> bool:
    """Returns whether a value is UTF-8. Python represents other bytes as surrogates, which cannot be encoded."""
    return value.isascii() or value.encode(errors="replace").decode() == value
