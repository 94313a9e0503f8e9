"""The analyses of `weft net`: each reads a net from a file, answers one question, and returns a report.

Files can come from any source, so each defect of a file is an `InputError` that names the file.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, assert_never

from weft.app.project.files import InputSource, open_input
from weft.errors import FileFormatError, InputError, NetError
from weft.ids import PlaceId, TransitionId
from weft.net.explore import MAX_BYTES, MAX_STATES, Exploration, explore
from weft.net.formats import dump_net, load_net, read_pnml, to_dot, to_mermaid, write_pnml
from weft.net.invariants import FARKAS_LIMIT, check_invariant, p_invariants, t_invariants
from weft.net.model import Net, PlaceKind
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import MAX_STATES as MAX_CHECKED_STATES
from weft.net.soundness import Soundness, soundness
from weft.net.verdict import Answer, Verdict


class Target(StrEnum):
    """The format to convert to."""

    PNML = "pnml"
    DOT = "dot"
    MERMAID = "mermaid"
    JSON = "json"


_CHUNK = 1 << 16
_BY_SUFFIX = {".pnml": "pnml", ".xml": "pnml", ".json": "json"}
_BY_FIRST_BYTE = {b"<": "pnml", b"{": "json"}
_BEFORE_TEXT = b" \t\r\n\xef\xbb\xbf\xff\xfe\0"
"""Blanks, byte order marks, and the other half of a letter in UTF-16."""


# --- reading ---


def read_net(source: InputSource) -> Net | PlainNet:
    """Returns the net in a file: a plain one from PNML, one with outcomes from JSON."""
    with open_input(source) as stream:
        head = stream.read(_CHUNK)
        if not head:
            raise FileFormatError("the file is empty; a net is needed", file=source.shown)
        if _format(source, head) == "pnml":
            return read_pnml(_chunks(head, stream), file=source.shown)
        return load_net(head + stream.read(), file=source.shown)


def read_plain_net(source: InputSource) -> PlainNet:
    """Returns the net in a file, unfolded for analysis."""
    net = read_net(source)
    try:
        return unfold(net) if isinstance(net, Net) else net
    except NetError as error:
        raise FileFormatError(f"when unfolded, {error}", file=source.shown) from None


def _chunks(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    chunk = head
    while chunk:
        yield chunk
        chunk = stream.read(_CHUNK)


def _format(source: InputSource, head: bytes) -> str:
    named = _BY_SUFFIX.get(Path(source.name).suffix.lower())
    file_format = named or _BY_FIRST_BYTE.get(head.lstrip(_BEFORE_TEXT)[:1])
    if file_format is None:
        problem = "neither PNML, which starts with '<', nor a net in JSON, which starts with '{'"
        raise FileFormatError(problem, file=source.shown)
    return file_format


# --- explore ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreReport:
    """The result of `weft net explore`."""

    exploration: Exploration
    with_trace: bool
    """Whether the report includes the firings that lead to the nearest deadlock."""
    cpu_seconds: float
    """Of the search alone, without reading the file."""

    @property
    def deadlock(self) -> Answer:
        """Whether the net can deadlock: proved by a trace, refuted by a complete search, else unknown."""
        if self.exploration.deadlock_trace is not None:
            return Answer.PROVED
        return Answer.REFUTED if self.exploration.complete else Answer.UNKNOWN

    def to_json(self) -> dict[str, Any]:
        exploration = self.exploration
        data: dict[str, Any] = {
            "states": exploration.states,
            "edges": exploration.edges,
            "deadlocks": exploration.deadlocks,
            "place_bound": exploration.place_bound,
            "marking_bound": exploration.marking_bound,
            "dead_transitions": list(exploration.dead_transitions),
            "complete": exploration.complete,
            "cpu_seconds": round(self.cpu_seconds, 6),
        }
        if self.with_trace:
            data["trace"] = None if exploration.deadlock_trace is None else list(exploration.deadlock_trace)
        if not exploration.complete:
            data["why"] = exploration.why
        return data


def explore_net(
    source: InputSource,
    *,
    with_trace: bool = False,
    max_states: int = MAX_STATES,
    max_bytes: int = MAX_BYTES,
    use_numpy: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> ExploreReport:
    """Explores the reachable markings. The search is breadth-first, so the first deadlock is the nearest."""
    net = read_plain_net(source)
    # CPU time, since benchmarks compare it and other programs share the machine.
    started = time.process_time()
    exploration = explore(
        net, max_states=max_states, max_bytes=max_bytes, use_numpy=use_numpy, progress=progress
    )
    cpu_seconds = time.process_time() - started
    return ExploreReport(exploration=exploration, with_trace=with_trace, cpu_seconds=cpu_seconds)


# --- check ---


@dataclass(frozen=True, slots=True, kw_only=True)
class NetCheckReport:
    """The result of `weft net check`."""

    soundness: Soundness
    why: str

    def to_json(self) -> dict[str, Any]:
        verdict = self.soundness.verdict
        return {
            "free_choice": self.soundness.free_choice,
            "workflow_net": self.soundness.workflow_net,
            "sound": str(verdict.answer),
            "why": self.why,
            "trace": list(verdict.trace),
        }


def check_net(source: InputSource, *, max_states: int = MAX_CHECKED_STATES) -> NetCheckReport:
    """Returns whether the net is a sound workflow net. Pools are left out."""
    net = read_plain_net(source)
    pools = net.place_kinds.count(PlaceKind.POOL)
    # Soundness is a property of the control part. A pool starts with tokens and gets them back, so it is neither
    # source nor sink, and a net with a pool would not be a workflow net.
    result = soundness(net.skeleton() if pools else net, max_states=max_states)
    left_out = f"; pools left out: {pools}" if pools else ""
    return NetCheckReport(soundness=result, why=result.verdict.why + left_out)


# --- invariants ---


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantsReport:
    """The result of `weft net invariants`."""

    places: tuple[dict[PlaceId, int], ...]
    sums: tuple[int, ...]
    """For each P-invariant, the sum that never changes."""
    transitions: tuple[dict[TransitionId, int], ...]

    def to_json(self) -> dict[str, Any]:
        return {"p_invariants": list(self.places), "t_invariants": list(self.transitions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantCheckReport:
    """The result of `weft net invariants --check`."""

    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        return {"invariant": str(self.verdict.answer), "why": self.verdict.why}


def list_invariants(source: InputSource, *, limit: int = FARKAS_LIMIT) -> InvariantsReport:
    """Returns all minimal semi-positive P- and T-invariants."""
    net = read_plain_net(source)
    places, transitions = p_invariants(net, limit=limit), t_invariants(net, limit=limit)
    initial = dict(zip(net.place_ids, net.initial, strict=True))
    sums = tuple(sum(weight * initial[id_] for id_, weight in weights.items()) for weights in places)
    numbers = (n for rows in (places, transitions) for row in rows for n in row.values())
    _check_writable(source, [*sums, *numbers])
    return InvariantsReport(places=places, sums=sums, transitions=transitions)


def _check_writable(source: InputSource, numbers: list[int]) -> None:
    """Refuses huge numbers: Python does not print them, and Farkas' algorithm multiplies those of the file."""
    digits = sys.get_int_max_str_digits()
    if digits and max(numbers, default=0) >= 10**digits:
        problem = f"an invariant of this net has a number of more than {digits:,} digits"
        raise InputError(f"{source.shown}: {problem}, too long to write")


def check_sum(source: InputSource, expression: str) -> InvariantCheckReport:
    """Returns whether the sum of tokens that the expression describes is the same in every marking."""
    net = read_plain_net(source)
    return InvariantCheckReport(verdict=check_invariant(net, parse_sum(expression, net.place_ids)))


_TERM = re.compile(
    r"""\s* (?P<sign>[+-])?
        \s* (?: (?P<weight>[0-9]{1,1000}) \s* \* )?
        \s* (?: "(?P<quoted>(?:[^"\\]|\\.)*)" | (?P<bare>[^\s+*"-]+) ) \s*""",
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r'[^\s+*"-]+')


def parse_sum(expression: str, places: tuple[PlaceId, ...]) -> dict[PlaceId, int]:
    """Returns the weights in a sum such as `pool + 2*run - "a b"`. Each place must be in the net."""
    place_ids = set(places)
    weights: dict[PlaceId, int] = {}
    at = 0
    while at < len(expression) or not weights:
        term = _TERM.match(expression, at)
        # After the first term a sign is needed; otherwise `a b` would be read as a sum.
        if term is None or (at and not term["sign"]):
            raise _misread(expression, at)
        bare = term["bare"]
        place = PlaceId(re.sub(r"\\(.)", r"\1", term["quoted"], flags=re.DOTALL) if bare is None else bare)
        if place not in place_ids:
            raise InputError(f"the net has no place {place!r}{_nearest(place, places)}")
        weight = int(term["weight"] or 1)
        weights[place] = weights.get(place, 0) + (-weight if term["sign"] == "-" else weight)
        at = term.end()
    if not any(weights.values()):
        raise InputError(f"the sum {expression!r} has only weights of 0, so it has no meaning")
    return weights


def _misread(expression: str, at: int) -> InputError:
    rest = expression[at:].strip()
    actual = repr(rest if len(rest) <= 20 else rest[:20] + "…") if rest else "its end"  # noqa: PLR2004
    expected = "'+' or '-' and a term" if at else "a term"
    return InputError(
        f"cannot read the sum {expression!r}: after {at} characters comes {actual}, where {expected} is needed; "
        'a term is a place or a weight such as 2*place, and a place with blanks or one of +-*" is quoted'
    )


def _nearest(name: str, places: tuple[PlaceId, ...]) -> str:
    """Suggests a place that is spelled alike, or one with a name that continues after the term."""
    alike: list[str] = get_close_matches(name, places, n=1, cutoff=0.5)
    # The place `step-1`, unquoted, is read as `step` minus `1`; this finds the place that was probably meant.
    alike += [place for place in places if place.startswith(name) and not _BARE.fullmatch(place)]
    return f"; did you mean {written(alike[0])}?" if alike else ""


def written(name: str) -> str:
    """Returns a name in the syntax of `parse_sum`."""
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def written_sum(weights: Mapping[PlaceId, int] | Mapping[TransitionId, int]) -> str:
    return " + ".join(f"{n}*{written(id_)}" if n != 1 else written(id_) for id_, n in weights.items())


# --- convert ---


def convert_net(source: InputSource, to: Target) -> str:
    """Returns the net of a file as text in another format."""
    match to:
        case Target.PNML:
            stem = Path(source.name).stem if source.path else ""
            return write_pnml(read_plain_net(source), name=stem if stem and stem.isprintable() else "net")
        case Target.JSON:
            net = read_net(source)
            return dump_net(net if isinstance(net, Net) else net.to_net())
        case Target.DOT:
            return to_dot(read_net(source))
        case Target.MERMAID:
            return to_mermaid(read_net(source))
        case _:
            assert_never(to)
