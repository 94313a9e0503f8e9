"""Settings: which value is in force where, and where it comes from.

A *layer* is what one place sets: the user's configuration, the project's, the environment, the plan, a subplan.
Layers are stacked in a *scope*; the nearest to the work wins. A subplan without settings shares the scope of the
group around it, so that ten thousand slices share a few.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from weft.plan.hosts import LOCAL, HostChoice
from weft.plan.language.isolation import SANDBOX, SANDBOX_KEY
from weft.plan.language.kinds_of_many import Either
from weft.plan.language.merge import MERGE
from weft.plan.language.money import AMOUNT
from weft.plan.language.records import Key, Record, Values
from weft.plan.language.tables import SETTINGS
from weft.plan.sandbox import Sandbox, sandbox_parts
from weft.plan.text.document import Document, Node, Table
from weft.plan.text.problems import Position

AMOUNTS = tuple(key.name for key in SETTINGS if key.kind is AMOUNT)
"""Settings in dollars; with `.tokens` after the name they are in tokens."""


def _names(key: Key) -> list[str]:
    if key.kind is MERGE:
        return [f"merge.{part.name}" for part in MERGE.keys]
    if key is SANDBOX_KEY:
        return [f"sandbox.{part.name}" for part in SANDBOX.keys]
    return [key.name, f"{key.name}.tokens"] if key.name in AMOUNTS else [key.name]


SETTING_NAMES = tuple(name for key in SETTINGS for name in _names(key))
VARIABLE_SETTINGS = tuple(name for name in SETTING_NAMES if name != "host")
"""The settings that an environment variable can set. WEFT_HOST belongs to the processes that Weft starts."""
VARIABLE_PREFIX = "WEFT_"
"""The prefix of Weft's environment variables."""


BRANCHED = frozenset({"worktree", "clone"})
"""The kinds of isolation in which each slice has a branch."""


class Settings(Struct, frozen=True, kw_only=True):
    """The settings in force at one place."""

    max_parallel: int = 4
    max_concurrency: int | None = None
    failure_mode: str = "fail_fast"
    policy: str = "parallel"
    agent: str | None = None
    model: str | None = None
    retries: int = 2
    infra_retries: int = 2
    timeout: float = 1800.0
    idle_timeout: float | None = None
    grace: float = 10.0
    budget: int | None = None
    """In micro-dollars, as all amounts."""
    budget_tokens: int | None = None
    on_budget: str = "stop"
    reserve: int | None = None
    reserve_tokens: int | None = None
    merge_when: str = "milestone"
    merge_mode: str = "confirm"
    merge_order: str = "sequential"
    merge_take_branch: tuple[str, ...] = ()
    merge_resolve: str = "hold"
    merge_sign: str | bool = "auto"
    merge_batch: int = 32
    merge_push: bool | str = False
    """True means the upstream of the target; text names a remote."""
    merge_allow_red_base: bool = False
    strict_files: bool = False
    overlap: str = "warn"
    isolation: str = "worktree"
    worktrees: str = ".weft/worktrees/{{ plan.id }}/{{ slice.path }}"
    keep_worktrees: str = "failed"
    branch_prefix: str = "weft/"
    setup: tuple[Any, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    host: HostChoice = HostChoice((LOCAL,))
    isolated_home: bool = False
    sandbox_use: str = "none"
    sandbox_network: bool = True
    sandbox_hide: tuple[str, ...] = ()
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(
            use=self.sandbox_use,
            network=self.sandbox_network,
            hide=self.sandbox_hide,
            read=self.sandbox_read,
            write=self.sandbox_write,
        )

    @property
    def has_branch(self) -> bool:
        """Whether the work in a workspace is on a branch of its own."""
        return self.isolation in BRANCHED

    @property
    def resolves(self) -> bool:
        """Whether an agent resolves conflicts, which requires branches."""
        return self.merge_resolve == "agent" and self.has_branch

    @property
    def setup_commands(self) -> tuple[str | tuple[str, ...], ...]:
        return tuple(command if isinstance(command, str) else tuple(command) for command in self.setup)


def field_name(setting: str) -> str:
    return setting.replace(".", "_")


def variable_name(setting: str) -> str:
    """Returns the environment variable for a setting."""
    return f"{VARIABLE_PREFIX}{field_name(setting).upper()}"


_FLAG_SETTINGS = {"merge": "merge.mode"}


def flag_setting(flag: str) -> str:
    """Returns the setting for a flag of the command line, such as `max_parallel` or `merge`."""
    return _FLAG_SETTINGS.get(flag, flag)


def setting_key(setting: str) -> Key:
    """Returns the definition of a setting in the language."""
    name, _, part = setting.partition(".")
    key = next(key for key in SETTINGS if key.name == name)
    if not part:
        return key
    # `sandbox` and `budget` can be a single value or a mapping; the parts are keys of the mapping.
    record = key.kind.table if isinstance(key.kind, Either) else key.kind
    assert isinstance(record, Record)
    return record.key(part)


# The defaults are those of the class, so that there is one list of them.
_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Settings)}


class Layer(Struct, frozen=True, eq=False):
    """What one place sets, by dotted name."""

    where: str
    """The place, for people: "plan", "project", "WEFT_MAX_PARALLEL"."""
    values: Mapping[str, Any]
    document: Document | None = None
    table: Table | None = None

    def origin(self, setting: str) -> Position | None:
        """Returns where the value is written, if it is in a file."""
        if self.document is None:
            return None
        node: Node | None = self.table
        for part in setting.split("."):
            # A single value can stand for all parts, as in `budget: 20`.
            node = node.get(part) if isinstance(node, Table) else node
        return None if node is None else self.document.position(node)


def layer(where: str, document: Document, values: Values) -> Layer:
    return Layer(where, own_settings(values), document, values.table)


def own_settings(values: Values) -> dict[str, Any]:
    """Returns the settings among the values, with those of `merge` and `sandbox` under dotted names."""
    by_key = values.by_key
    own = {name: value for name, value in by_key.items() if name in _PLAIN_NAMES}
    merge = by_key.get("merge")
    if merge is not None:
        own.update((f"merge.{name}", value) for name, value in merge.by_key.items())
    if "sandbox" in by_key:
        own.update((f"sandbox.{name}", value) for name, value in sandbox_parts(by_key["sandbox"]).items())
    if isinstance(own.get("host"), str | tuple | Values):
        own["host"] = host_choice(own["host"])
    for name in AMOUNTS:
        # `budget: {usd: 20, tokens: 5M}` sets two settings.
        if isinstance(own.get(name), Values):
            own.update(_amounts(name, own.pop(name)))
    return own


def host_choice(value: str | tuple[str, ...] | Values) -> HostChoice:
    """Returns the choice for a value of `host` as it was read: a name, a list of names, or labels."""
    if isinstance(value, Values):
        return HostChoice(labels=value.get("labels", ()))
    return HostChoice(names=(value,) if isinstance(value, str) else tuple(dict.fromkeys(value)))


def _amounts(name: str, values: Values) -> Iterator[tuple[str, int]]:
    for part, setting in (("usd", name), ("tokens", f"{name}.tokens")):
        if part in values.by_key:
            yield setting, values.by_key[part]


_PLAIN_NAMES = {name for name in SETTING_NAMES if "." not in name}
DEFAULTS = Layer("default", {name: _DEFAULTS[field_name(name)] for name in SETTING_NAMES})


class Scope(Struct, frozen=True, eq=False, dict=True):
    """Layers, the nearest first; flags of the command line outrank them all."""

    layers: tuple[Layer, ...] = ()
    flags: Layer | None = None

    def within(self, inner: Layer) -> "Scope":
        """Returns the scope of a part that has settings of its own."""
        return Scope((inner, *self.layers), self.flags)

    def find(self, setting: str) -> tuple[Any, Layer]:
        """Returns the value in force, and the layer that sets it."""
        # A layer that sets a value to None still counts: it overrides the layers behind it.
        for candidate in (self.flags, *self.layers):
            if candidate is not None and setting in candidate.values:
                return candidate.values[setting], candidate
        return DEFAULTS.values[setting], DEFAULTS

    @cached_property
    def settings(self) -> Settings:
        return Settings(**{field_name(name): value for name, value, _ in self.settings_with_origin()})

    def settings_with_origin(self) -> Iterator[tuple[str, Any, Layer]]:
        """Yields each setting with its value and the layer that sets it."""
        for setting in SETTING_NAMES:
            yield (setting, *self.find(setting))
