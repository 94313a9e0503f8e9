"""Loads a plan from its record, for views.

A recorded plan was checked before its run started, and its subplans differ in little but their names and texts:
the ten thousand slices of a large plan have a handful of combinations of pipeline, settings and estimate. So this
module loads a small plan with one subplan for each combination, and copies these. The result equals that of
`load_plan` but for the positions in the file, at a fraction of its time and memory.

A record in another form, as of a plan that JSON cannot hold, is loaded as a whole.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from sys import intern

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from weft.ids import SubplanPath
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan, Subplan
from weft.plan.order.outline import ROOT, Outline
from weft.plan.settings import Layer, Scope
from weft.plan.text.problems import PlanError

_Fields = dict[str, Raw]
_OWN = frozenset({"id", "title", "prompt", "depends_on", "files", "subplans"})
"""The keys that are copied from each subplan itself."""
_STEPS = Raw(b'[{"id":"x","run":"true"}]')
_CONTENTS = Raw(b'[{"id":"x","steps":%b}]' % bytes(_STEPS))
_Traits = tuple[tuple[str, bytes], ...]
"""The other keys of a subplan with their values as JSON, and which of the own keys it has."""

_decode_fields = msgspec.json.Decoder(_Fields).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class _Own(Struct):
    """What a subplan does not share with others."""

    id: str
    title: str = ""
    prompt: str | None = None
    depends_on: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


_decode_own = msgspec.json.Decoder(_Own).decode


def load_record(text: str, file: str) -> Plan:
    """Returns the plan of a record, as `record_plan` writes it. Raises `PlanError` if it is none."""
    load = partial(load_plan, file=file, surroundings=Surroundings(git=False))
    if not text.startswith("{"):
        return load(text)
    try:
        head = _decode_fields(text)
        rows = _Rows()
        rows.add_contents(ROOT, head.pop("subplans", Raw(b"[]")))
        examples = [_example(number, traits) for number, traits in enumerate(rows.traits)]
        small = load(_encode(head | {"subplans": examples}).decode())
        return rows.plan(small)
    except (msgspec.DecodeError, PlanError, KeyError):
        # The record was edited, or a check fails without the rest of the plan.
        return load(text)


class _Rows:
    """The subplans of a record in plan order, without the plan itself."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.outline.add(SubplanPath(""), -1, leaf=False)
        self.own: list[_Own] = []
        self.numbers: list[int] = []
        """For each subplan, the number of its traits."""
        self.traits: dict[_Traits, int] = {}

    def add_contents(self, group: int, subplans: Raw) -> None:
        prefix = f"{self.outline.paths[group]}/" if group != ROOT else ""
        for raw in _decode_list(subplans):
            fields, own = _decode_fields(raw), _decode_own(raw)
            contents = fields.get("subplans")
            row = self.outline.add(SubplanPath(intern(f"{prefix}{own.id}")), group, leaf=contents is None)
            self.own.append(own)
            self.numbers.append(self.traits.setdefault(_traits(fields), len(self.traits)))
            if contents is not None:
                self.add_contents(row, contents)
        self.outline.close(group)

    def plan(self, small: Plan) -> Plan:
        """Returns the whole plan; the small one has an example of each combination of traits."""
        examples = [small.subplans[row] for row in small.outline.children(ROOT)]
        scopes = _Scopes(small.scopes[ROOT])
        subplans = [small.subplans[ROOT]]
        for own, number in zip(self.own, self.numbers, strict=True):
            scopes.add(self.outline.parents[len(subplans)], examples[number].settings)
            subplans.append(_copy(examples[number], own))
        self._resolve()
        return replace(
            small, subplans=tuple(subplans), outline=self.outline, scopes=tuple(scopes.rows), warnings=()
        )

    def _resolve(self) -> None:
        """Resolves dependencies, which records write as paths from the root."""
        rows = {str(path): row for row, path in enumerate(self.outline.paths)}
        for row, own in enumerate(self.own, start=1):
            if own.depends_on:
                self.outline.depends_on[row] = tuple(rows[path.removeprefix("/")] for path in own.depends_on)


class _Scopes:
    """The scope of each row. Rows in the same scope with the same settings share theirs."""

    def __init__(self, root: Scope) -> None:
        self.rows = [root]
        self._inner: dict[tuple[int, int], Scope] = {}

    def add(self, parent: int, settings: Mapping[str, object]) -> None:
        scope = self.rows[parent]
        if settings:
            # The examples and the scopes around them live as long as this object, so their ids name them.
            key = (id(scope), id(settings))
            if key not in self._inner:
                self._inner[key] = scope.within(Layer("subplan", settings))
            scope = self._inner[key]
        self.rows.append(scope)


def _traits(fields: _Fields) -> _Traits:
    # The presence of a prompt or of files counts, because templates may demand them.
    return tuple((key, b"" if key in _OWN else bytes(value)) for key, value in fields.items())


def _example(number: int, traits: _Traits) -> _Fields:
    return dict(_example_fields(f"s{number}", traits))


def _example_fields(id_: str, traits: _Traits) -> Iterator[tuple[str, Raw]]:
    stand_ins = {
        "id": Raw(_encode(id_)),
        "title": Raw(_encode(id_)),
        "prompt": Raw(_encode(id_)),
        # Of its own, so that it overlaps with nothing.
        "files": Raw(_encode([id_])),
        "subplans": _CONTENTS,
    }
    for key, value in traits:
        if key not in _OWN:
            yield key, Raw(value)
        elif key in stand_ins:
            yield key, stand_ins[key]


def _copy(example: Subplan, own: _Own) -> Subplan:
    return Subplan(
        id=own.id,
        title=own.title or own.id,
        prompt=own.prompt,
        depends_on=own.depends_on,
        files=own.files,
        verify=example.verify,
        pipeline=example.pipeline,
        steps=example.steps,
        estimate=example.estimate,
        settings=example.settings,
        source=example.source,
    )
