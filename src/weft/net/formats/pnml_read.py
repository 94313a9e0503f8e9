"""Reads PNML (ISO 15909-2): place/transition nets of the 2009 grammar.

The document passes by as a stream of expat's events and is never held as a tree. `_Reader` turns the
events into parts that know their line and column; `_Graph` then joins them, as references and arcs may
point forward. What only describes a net (graphics, names, other tools' notes) is skipped; what would
change its meaning and is not understood is refused, for a net read wrongly is worse than one not read.

Such files come from anywhere. There is no DTD, hence no entity to expand or load; the depth of nesting
and the length of one piece of markup are bounded; and expat gets the data in small pieces, because after
an error it still runs to the end of the piece it has.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from reprlib import Repr
from typing import NamedTuple
from xml.parsers import expat

from weft.errors import FileFormatError
from weft.ids import PlaceId, TransitionId
from weft.net.formats.pnml_write import MAX_DIGITS, NAMESPACE, PTNET, TOOL, TOOL_VERSION
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet

_TYPES = (PTNET, "http://www.pnml.org/version-2009/grammar/pnmlcoremodel", "P/T net")
_ALLOWED_TYPES = ", ".join(map(repr, _TYPES))
_KINDS = tuple(PlaceKind)
# Those that expat and Python can do; for others pyexpat raises errors of its own.
_ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")

_MAX_DEPTH = 64
_MAX_MARKUP = 1 << 20
_MAX_TEXT = 2 * MAX_DIGITS
_PIECE = 1 << 16
_PROLOG_PIECE = 64

_WHOLE = re.compile(rf"\+?[0-9]{{1,{MAX_DIGITS}}}")
_XML_SPACE = " \t\r\n"

_REQUIRED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("page", "place", "transition"), ()),
    **dict.fromkeys(("referencePlace", "referenceTransition"), ("ref",)),
    "arc": ("source", "target"),
}
"""The parts of a net, and the attributes that each needs besides its id."""
_LEAST = {"initialMarking": 0, "inscription": 1}
"""The labels that are numbers, and the smallest allowed."""
_TYPE_LABELS = ("type", "arctype")
_REMARKS = ("name", "graphics", "toolspecific")
_CONTENT: dict[str, tuple[str, ...]] = {
    "": ("pnml",),
    "pnml": ("net",),
    "net": tuple(_REQUIRED),  # without a page in between, as many tools write it
    "page": tuple(_REQUIRED),
    "place": ("initialMarking", "toolspecific"),
    "transition": ("toolspecific",),
    "arc": ("inscription", *_TYPE_LABELS),
    "toolspecific": ("node",),
    **dict.fromkeys((*_LEAST, *_TYPE_LABELS), ("text",)),
    **dict.fromkeys(("referencePlace", "referenceTransition", "text", "node"), ()),
}
_CHILDREN = {
    parent: {spelling: name for name in names for spelling in (name, f"{NAMESPACE} {name}")}
    for parent, names in _CONTENT.items()
}
"""For each element that is read: those inside it that are, by both of their spellings."""

_REPR = Repr()
_REPR.maxstring, _REPR.maxlist = 120, 10
_shown = _REPR.repr

_Attributes = dict[str, str]
_Wrong = Callable[[str, str, "_Position"], FileFormatError]


def read_pnml(data: bytes | Iterable[bytes], *, file: str) -> PlainNet:
    """The net of a PNML document, given whole or in chunks; `file` is its name in messages.

    Lines and columns in messages count from 1.
    """
    reader = _Reader(file)
    for chunk in (data,) if isinstance(data, bytes) else data:
        reader.feed(chunk)
    return reader.end()


class _Position(NamedTuple):
    line: int
    column: int


_TOP = _Position(1, 1)


@dataclass(slots=True)
class _Part:
    """What has an id: a net, page, node, reference or arc."""

    element: str
    id: str
    """The XML id, unless a note of ours gives a node another."""
    at: _Position
    ends: tuple[str, ...]
    """XML ids: the source and target of an arc, the one that a reference stands for."""
    number: int | None = None
    """Tokens or weight, if it says."""
    kind: PlaceKind = PlaceKind.CONTROL

    def __str__(self) -> str:
        return f"{self.element} {_shown(self.id)}"


class _Reader:
    """Takes expat's events; knows which elements are open and which part is being filled."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nets: list[tuple[str, _Position]] = []
        self._parts: dict[str, _Part] = {}
        self._part = _Part("", "", _TOP, ())
        self._open = [""]
        self._depth = self._skipped_depth = self._fed = 0
        self._label_at = self._text_at = _TOP
        self._text: str | None = None
        self._on_open: dict[str, Callable[[str, _Attributes], bool]] = {
            "pnml": lambda _name, _attributes: True,
            "net": self._open_net,
            **dict.fromkeys(_REQUIRED, self._open_part),
            **dict.fromkeys((*_LEAST, *_TYPE_LABELS), self._open_label),
            "text": self._open_text,
            "toolspecific": self._open_toolspecific,
            "node": self._open_note,
        }
        self._on_close: dict[str, Callable[[str], None]] = {
            **dict.fromkeys(_LEAST, self._close_number),
            **dict.fromkeys(_TYPE_LABELS, self._close_type),
            "text": self._close_text,
        }
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartDoctypeDeclHandler = self._refuse_dtd
        self._parser.EntityDeclHandler = self._refuse_dtd
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def feed(self, chunk: bytes) -> None:
        start = 0
        while start < len(chunk):
            pending = self._fed - max(self._parser.CurrentByteIndex, 0)
            if pending > _MAX_MARKUP:
                raise self._wrong("a tag or comment without end", f"{_MAX_MARKUP} bytes are allowed")
            # Before the root element the pieces are tiny: a DTD gets no time to declare anything. And a
            # piece is never shorter than the markup that waits for its end: expat scans that again.
            piece = chunk[start : start + max(_PIECE if self._depth else _PROLOG_PIECE, pending)]
            start += len(piece)
            self._fed += len(piece)
            self._parse(piece, final=False)

    def end(self) -> PlainNet:
        self._parse(b"", final=True)
        if not self._nets:
            raise self._wrong("no <net> inside <pnml>", "one is needed", _TOP)
        if len(self._nets) > 1:
            said = f"{len(self._nets)} nets in one file: {_shown([id_ for id_, _ in self._nets])}"
            raise self._wrong(said, "only one is allowed", self._nets[1][1])
        return _Graph(self._parts, self._wrong).net()

    def _parse(self, piece: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(piece, final)
        except expat.ExpatError as error:
            at = _Position(error.lineno, error.offset + 1)
            said = expat.ErrorString(error.code)
            raise self._wrong(f"not well-formed XML: {said}", "PNML is needed", at) from None

    def _here(self) -> _Position:
        return _Position(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _wrong(self, said: str, allowed: str, at: _Position | None = None) -> FileFormatError:
        line, column = at or self._here()
        return FileFormatError(f"{said}; {allowed}", file=self._file, line=line, column=column)

    # --- expat's events ---

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise self._wrong(f"the encoding {_shown(encoding)}", f"allowed: {', '.join(_ENCODINGS)}", _TOP)

    def _refuse_dtd(self, name: str, *_: object) -> None:
        raise self._wrong(f"a DOCTYPE ({_shown(name)})", "no DTD and no entities are allowed")

    def _start(self, tag: str, attributes: _Attributes) -> None:
        self._deeper(tag, attributes)
        name = _CHILDREN[self._open[-1]].get(tag)
        if name is None:
            self._check_skippable(tag, attributes)
        if name is not None and self._on_open[name](name, attributes):
            self._open.append(name)
        else:
            self._skip()

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        name = self._open.pop()
        if name in self._on_close:
            self._on_close[name](name)

    def _deeper(self, _tag: str, _attributes: _Attributes) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"{self._depth} elements, one in the other", f"{_MAX_DEPTH} are allowed")

    def _skip(self) -> None:
        self._skipped_depth = self._depth
        self._parser.StartElementHandler = self._deeper
        self._parser.EndElementHandler = self._end_skipped

    def _end_skipped(self, _tag: str) -> None:
        self._depth -= 1
        if self._depth < self._skipped_depth:
            self._parser.StartElementHandler = self._start
            self._parser.EndElementHandler = self._end

    def _check_skippable(self, tag: str, attributes: _Attributes) -> None:
        namespace, _, name = tag.rpartition(" ")
        parent = self._open[-1]
        if not parent:
            said = f"the root element {_shown(name)} of namespace {_shown(namespace)}"
            raise self._wrong(said, f"'pnml' of namespace {NAMESPACE!r} or '' is needed")
        if parent == "text":
            raise self._wrong(f"the element {_shown(name)} inside <text>", "only characters are allowed")
        # In PNML a part of the net has an id; a remark on one has none.
        if "id" in attributes and name not in _REMARKS and namespace in {"", NAMESPACE}:
            said = f"the element {_shown(name)} with the id {_shown(attributes['id'])} inside <{parent}>"
            raise self._wrong(said, f"parts of a net allowed there: {', '.join(_CONTENT[parent]) or 'none'}")

    # --- elements that begin: each answers whether what is inside is to be read ---

    def _open_net(self, name: str, attributes: _Attributes) -> bool:
        if self._nets:  # the others are only noted, to be named at the end
            self._nets.append((attributes.get("id", ""), self._here()))
            return False
        self._open_part(name, attributes)
        self._nets.append((self._part.id, self._part.at))
        type_ = attributes.get("type", "")
        if type_ not in _TYPES:
            raise self._wrong(f"{self._part} has the type {_shown(type_)}", f"allowed: {_ALLOWED_TYPES}")
        return True

    def _open_part(self, name: str, attributes: _Attributes) -> bool:
        id_ = self._attribute(name, "id", attributes)
        ends = tuple(self._attribute(name, end, attributes) for end in _REQUIRED.get(name, ()))
        self._part = _Part(name, id_, self._here(), ends)
        first = self._parts.setdefault(id_, self._part)
        if first is not self._part:
            raise self._wrong(f"{self._part} has the id of line {first.at.line}", "ids must differ")
        if name == "arc" and "type" in attributes:
            self._check_arc_type(attributes["type"], self._part.at)
        return True

    def _attribute(self, element: str, name: str, attributes: _Attributes) -> str:
        value = attributes.get(name)
        if not value:
            which = "" if name == "id" else f" {_shown(attributes['id'])}"
            raise self._wrong(f"<{element}>{which} has no {name}", "it needs one")
        return value

    def _open_label(self, name: str, attributes: _Attributes) -> bool:
        self._label_at = self._here()
        self._text = attributes.get("value") if name in _TYPE_LABELS else None
        return True

    def _open_text(self, _name: str, _attributes: _Attributes) -> bool:
        self._text_at = self._here()
        if self._text is not None:
            raise self._wrong(f"a second text in <{self._open[-1]}> of {self._part}", "one is allowed")
        self._text = ""
        self._parser.CharacterDataHandler = self._characters
        return True

    def _open_toolspecific(self, _name: str, attributes: _Attributes) -> bool:
        if attributes.get("tool") != TOOL:
            return False
        version = attributes.get("version", "")
        if version != TOOL_VERSION:
            said = f"<toolspecific> of {TOOL} has the version {_shown(version)}"
            raise self._wrong(said, f"allowed: {TOOL_VERSION!r}")
        return True

    def _open_note(self, _name: str, attributes: _Attributes) -> bool:
        self._part.id = attributes.get("id") or self._part.id
        kind = attributes.get("kind", PlaceKind.CONTROL)
        if kind not in _KINDS:
            raise self._wrong(f"{self._part} has the kind {_shown(kind)}", f"allowed: {', '.join(_KINDS)}")
        self._part.kind = PlaceKind(kind)
        return True

    # --- what is in them, and elements that end ---

    def _characters(self, characters: str) -> None:
        self._text = (self._text or "") + characters
        if len(self._text) > _MAX_TEXT:
            said = f"the text {_shown(self._text)} in <{self._open[-2]}> of {self._part}"
            raise self._wrong(said, f"{_MAX_TEXT} characters are allowed", self._text_at)

    def _close_text(self, _name: str) -> None:
        self._parser.CharacterDataHandler = None

    def _close_number(self, name: str) -> None:
        if self._part.number is not None:
            raise self._wrong(f"a second <{name}> of {self._part}", "one is allowed", self._label_at)
        if self._text is None:
            raise self._wrong(f"<{name}> of {self._part} has no <text>", "it needs one", self._label_at)
        text = self._text.strip(_XML_SPACE)
        if not _WHOLE.fullmatch(text) or int(text) < _LEAST[name]:
            allowed = f"a whole number ≥ {_LEAST[name]} is needed"
            raise self._wrong(f"<{name}> of {self._part} is {_shown(text)}", allowed, self._text_at)
        self._part.number = int(text)

    def _close_type(self, _name: str) -> None:
        self._check_arc_type((self._text or "").strip(_XML_SPACE), self._label_at)

    def _check_arc_type(self, type_: str, at: _Position) -> None:
        if type_ != "normal":
            raise self._wrong(f"{self._part} has the type {_shown(type_)}", "only 'normal' is allowed", at)


class _Graph:
    """Joins the parts, given by XML id in the order of the file, when all are there."""

    def __init__(self, parts: dict[str, _Part], wrong: _Wrong) -> None:
        self._parts = parts
        self._wrong = wrong
        self._ids: dict[str, list[str]] = {element: [] for element in ("net", *_REQUIRED)}
        for id_, part in parts.items():
            self._ids[part.element].append(id_)

    def net(self) -> PlainNet:
        places, transitions = ([self._parts[id_] for id_ in self._ids[e]] for e in ("place", "transition"))
        self._check_ids((*places, *transitions))
        inputs, outputs = self._joined()
        return PlainNet(
            place_ids=tuple(PlaceId(place.id) for place in places),
            transition_ids=tuple(TransitionId(transition.id) for transition in transitions),
            inputs=tuple(tuple(arcs.items()) for arcs in inputs),
            outputs=tuple(tuple(arcs.items()) for arcs in outputs),
            initial=tuple(place.number or 0 for place in places),
            place_kinds=tuple(place.kind for place in places),
        )

    def _check_ids(self, nodes: Iterable[_Part]) -> None:
        """XML ids differ already; those that notes of ours put in their place must, too."""
        seen: dict[str, _Part] = {}
        for node in nodes:
            first = seen.setdefault(node.id, node)
            if first is not node:
                raise self._wrong(f"{node} has the id of line {first.at.line}", "ids must differ", node.at)

    def _joined(self) -> tuple[list[dict[int, int]], list[dict[int, int]]]:
        """For each transition the weights of its arcs, by place number: inputs and outputs."""
        places = self._numbers("place", "referencePlace")
        transitions = self._numbers("transition", "referenceTransition")
        inputs: list[dict[int, int]] = [{} for _ in self._ids["transition"]]
        outputs: list[dict[int, int]] = [{} for _ in self._ids["transition"]]
        for arc in map(self._parts.__getitem__, self._ids["arc"]):
            source, target = arc.ends
            if source in places and target in transitions:
                place, arcs = places[source], inputs[transitions[target]]
            elif source in transitions and target in places:
                place, arcs = places[target], outputs[transitions[source]]
            else:
                said = f"{arc} leads from {self._described(source)} to {self._described(target)}"
                raise self._wrong(said, "it must join a place and a transition", arc.at)
            arcs[place] = arcs.get(place, 0) + (arc.number or 1)
        return inputs, outputs

    def _numbers(self, element: str, reference: str) -> dict[str, int]:
        """The number of each node, and of the node at the end of each chain of references."""
        numbers = {id_: number for number, id_ in enumerate(self._ids[element])}
        for start in self._ids[reference]:
            chain = {start}
            last = self._parts[start]
            while (ref := last.ends[0]) not in numbers:
                following = self._parts.get(ref)
                if following is None or following.element != reference:
                    said = f"{last} refers to {self._described(ref)}"
                    raise self._wrong(said, f"a {element} or {reference} is needed", last.at)
                if ref in chain:
                    raise self._wrong(f"{last} closes a circle", f"a {element} is needed", last.at)
                chain.add(ref)
                last = following
            numbers.update(dict.fromkeys(chain, numbers[ref]))
        return numbers

    def _described(self, id_: str) -> str:
        return str(self._parts.get(id_) or f"{_shown(id_)} (no such node)")
