"""Converts plans of `brunch`: epics become groups, slices the subplans in them.

These keys are read: `epics[] {id, summary, depends_on[], verification[]}`, `slices[] {id, epic_id, definition,
depends_on[], verification[], writes[]}`, `profile` and `harnessNotes`. Any other key gives a note.

- A verification names a test file; Weft runs commands, so the runner of the `profile` is put before it.
- Its loop for a slice (tests, code, run the tests, at most 3 retries; a failure halts the slice, and the slices
  that do not depend on it still finish) is `pipeline: tdd`, `retries: 3` and `failure_mode: continue_on_error`. A
  slice without a test gets the default pipeline.
- An epic without slices is left out, because Weft refuses empty groups; its dependents wait for its dependencies.
- Duplicate ids, dependencies on oneself or on nothing, and cycles, also through both levels, are faults.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote

from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields, LocatedText
from weft.plan.convert.names import valid_ids
from weft.plan.convert.notes import ConversionSource
from weft.plan.convert.order import Group, cycle
from weft.plan.convert.plan_parts import (
    AGENT,
    ASSUMED,
    ID_RULE,
    NO_AGENT_NAMED,
    as_glob,
    one_or_all,
    without_empty,
)
from weft.plan.text.emit import Plain

RUNNERS = {
    "bun": "bun test",
    "node-vitest": "npx vitest run",
    "node-test": "node --test",
    "node-jest": "npx jest",
    "deno": "deno test",
}
USUAL_RUNNER = RUNNERS["bun"]
RETRIES = 3
_DOES_NOT_BOOT = "Weft does not boot what was built; a command under `verify` can"
_REASONS = {
    "mode": "Weft works in git worktrees wherever there is a repository; see `isolation`",
    "probe": _DOES_NOT_BOOT,
    "reachability": _DOES_NOT_BOOT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """An epic or a slice, as read."""

    id: str
    fields: Fields
    text: str
    needs: tuple[LocatedText, ...]
    targets: tuple[LocatedText, ...]
    epic: str = ""
    writes: tuple[str, ...] = ()


def convert_brunch(source: ConversionSource) -> dict[str, Plain]:
    """Returns the plan without its first keys."""
    top = Fields(source.table(), source)
    runner = _runner(top)
    epics = _parts(top, "epics", _epic)
    slices = _parts(top, "slices", _slice)
    goal = top.lines("harnessNotes")
    top.rest(_REASONS)
    _check(epics, slices, source)
    source.ledger.settle()
    source.note(1, *NO_AGENT_NAMED)
    return without_empty(
        {
            "goal": goal,
            "failure_mode": "continue_on_error",
            "retries": RETRIES,
            "agents": {AGENT: {"use": ASSUMED}},
            "subplans": _Writer(epics, slices, runner, source).groups(),
        }
    )


def _runner(top: Fields) -> str:
    profile = top.text("profile") or "bun"
    if profile not in RUNNERS:
        top.note("profile", f"profile {profile!r} is not known", f"its tests are run by `{USUAL_RUNNER}`")
    return RUNNERS.get(profile, USUAL_RUNNER)


def _parts(top: Fields, key: str, read: Callable[[Fields], _Part]) -> list[_Part]:
    parts = [read(fields) for fields in top.each(key)]
    if not parts:
        top.wrong(key, "must be a list of at least one")
    first_by_id: dict[str, _Part] = {}
    for part in parts:
        first = first_by_id.setdefault(part.id, part)
        if first is not part and part.id:
            part.fields.wrong("id", f"was already given in line {first.fields.line('id')}")
    return parts


def _epic(fields: Fields) -> _Part:
    id_ = fields.required_text("id")
    fields.named(f"epic {id_!r}")
    part = _Part(
        id=id_,
        fields=fields,
        text=fields.text("summary") or "",
        needs=fields.words("depends_on"),
        targets=_targets(fields),
    )
    fields.rest(_REASONS)
    return part


def _slice(fields: Fields) -> _Part:
    id_ = fields.required_text("id")
    fields.named(f"slice {id_!r}")
    part = _Part(
        id=id_,
        fields=fields,
        text=fields.required_text("definition"),
        needs=fields.words("depends_on"),
        targets=_targets(fields),
        epic=fields.required_text("epic_id"),
        writes=tuple(glob for word in fields.words("writes") if (glob := _glob(word, fields))),
    )
    fields.rest(_REASONS)
    return part


def _glob(word: LocatedText, fields: Fields) -> str:
    glob, fault = as_glob(word.text)
    if fault:
        fields.source.note(
            word.node.line, f"{fields.subject}: writes: {word.text!r} {NOT_CARRIED_OVER}", fault
        )
    return glob


def _targets(fields: Fields) -> tuple[LocatedText, ...]:
    targets: list[LocatedText] = []
    for entry in fields.each("verification"):
        entry.take("kind")
        targets.append(LocatedText(entry.text("target") or "", entry.table))
        entry.rest()
    return tuple(targets)


def _check(epics: Sequence[_Part], slices: Sequence[_Part], source: ConversionSource) -> None:
    by_epic = {part.id: part for part in epics}
    by_slice = {part.id: part for part in slices}
    valid = [
        *(_check_references(part, by_epic, "epic") for part in epics),
        *(_check_references(part, by_slice, "slice") for part in slices),
    ]
    for part in slices:
        if part.epic and part.epic not in by_epic:
            part.fields.wrong("epic_id", f"names {part.epic!r}, which is no epic")
            valid.append(False)
    # With wrong references, a search for cycles would report nonsense.
    if not all(valid):
        return
    # The cycle search needs valid references.
    members = {id_: {part.id: _ids(part) for part in slices if part.epic == id_} for id_ in by_epic}
    groups = {part.id: Group(needs=_ids(part), members=members[part.id]) for part in epics}
    cycle_text = cycle(groups, group_word="epic", member_word="slice")
    if cycle_text is not None:
        source.fault(1, f"the dependencies form a cycle: {cycle_text}")


def _check_references(part: _Part, parts: dict[str, _Part], word: str) -> bool:
    """Reports wrong dependencies, and returns whether there are none."""
    wrong = [need for need in part.needs if need.text == part.id or need.text not in parts]
    for need in wrong:
        target = "on itself" if need.text == part.id else f"on {need.text!r}, which is no {word}"
        part.fields.source.fault_at(need.node, f"{part.fields.subject}: depends_on: it depends {target}")
    return not wrong


def _ids(part: _Part) -> list[str]:
    return list(dict.fromkeys(need.text for need in part.needs))


class _Writer:
    """Writes subplans from parts with valid references."""

    def __init__(
        self, epics: Sequence[_Part], slices: Sequence[_Part], runner: str, source: ConversionSource
    ) -> None:
        self._epics = {part.id: part for part in epics}
        self._slices = {part.id: part for part in slices}
        self._runner = runner
        self._source = source
        self._filled = {part.epic for part in slices}
        self._epic_ids = valid_ids(self._epics, otherwise="epic")
        self._slice_ids = valid_ids(self._slices, otherwise="slice")

    def groups(self) -> list[Plain]:
        self._note_ids(self._epics, self._epic_ids)
        self._note_ids(self._slices, self._slice_ids)
        self._note_commands()
        return [self._group(part) for part in self._epics.values() if self._is_filled(part)]

    def _is_filled(self, epic: _Part) -> bool:
        if epic.id in self._filled:
            return True
        message = f"{epic.fields.subject} {NOT_CARRIED_OVER}"
        self._source.note(epic.fields.table.line, message, "it has no slices, and Weft has no empty groups")
        return False

    def _note_ids(self, parts: dict[str, _Part], ids: dict[str, str]) -> None:
        for old, new in ids.items():
            if old != new:
                parts[old].fields.note("id", f"its id is now {new!r}", ID_RULE)

    def _note_commands(self) -> None:
        targets = [
            target for part in (*self._epics.values(), *self._slices.values()) for target in part.targets
        ]
        if targets:
            line = min(target.node.line for target in targets)
            message = (
                f"a verification becomes the command `{self._runner} TARGET`; its kind {NOT_CARRIED_OVER}"
            )
            self._source.note(line, message, "the format names test files, and Weft runs commands")

    def _group(self, epic: _Part) -> Plain:
        # An empty epic has no subplan that could be waited for, so its own dependencies take its place.
        needs = [self._epic_ids[need] for need in self._needed_by_group(epic)]
        members = [part for part in self._slices.values() if part.epic == epic.id]
        return without_empty(
            {
                "id": self._epic_ids[epic.id],
                "title": epic.text,
                "depends_on": needs,
                "verify": one_or_all(self._commands(epic)),
                "subplans": [self._leaf(part) for part in members],
            }
        )

    def _needed_by_group(self, epic: _Part) -> list[str]:
        """Returns its dependencies; an empty epic is replaced by the dependencies of that epic."""
        needed: dict[str, None] = {}
        waiting = list(reversed(_ids(epic)))
        visited: set[str] = set()
        while waiting:
            need = waiting.pop()
            if need in self._filled:
                needed[need] = None
            elif need not in visited:
                waiting.extend(reversed(_ids(self._epics[need])))
            visited.add(need)
        return list(needed)

    def _leaf(self, part: _Part) -> Plain:
        commands = self._commands(part)
        if not commands:
            message = "it has no verification, and so the pipeline 'direct' in place of 'tdd'"
            self._source.note(
                part.fields.table.line, f"{part.fields.subject}: {message}", "there is no test to run"
            )
        return without_empty(
            {
                "id": self._slice_ids[part.id],
                "prompt": part.text,
                "depends_on": [self._reference(part, need) for need in _ids(part)],
                "files": list(dict.fromkeys(part.writes)),
                "verify": one_or_all(commands),
                "pipeline": "tdd" if commands else None,
            }
        )

    def _reference(self, part: _Part, need: str) -> str:
        epic, id_ = self._slices[need].epic, self._slice_ids[need]
        # A dependency in another group needs a path from the root.
        return id_ if epic == part.epic else f"/{self._epic_ids[epic]}/{id_}"

    def _commands(self, part: _Part) -> list[str]:
        return [f"{self._runner} {quote(word.text)}" if word.text else self._runner for word in part.targets]
