"""Read PNML (ISO 15909-2): place/transition nets of the 2009 grammar, and of the dialects in use.

The document is processed as a stream of expat events and never held as a tree. `_Reader` turns the events into
parts with line and column; `PartGraph` joins them at the end, because references and arcs may point forward.
`pnml_dialects` lists the elements and attributes that are read, skipped or refused. Everything else is refused
too, because a net that is read wrongly is worse than a net that is not read.

Files are untrusted. A DTD is refused, so there is no entity to expand or load. The depth of nesting and the
length of one piece of markup are bounded. Expat gets the data in small pieces, because after an error it still
runs to the end of its current piece.
"""

import re
from collections.abc import Callable, Iterable
from xml.parsers import expat

from weft.errors import FileFormatError
from weft.net.formats import pnml_dialects as dialects
from weft.net.formats.pnml_dialects import Label
from weft.net.formats.pnml_graph import PartGraph, PnmlPart, PnmlPosition, shown
from weft.net.formats.pnml_write import MAX_DIGITS, NAMESPACE, TOOL, TOOL_VERSION
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet

_ALLOWED_TYPES = ", ".join(map(repr, dialects.TYPES))
_KINDS = tuple(PlaceKind)
# The encodings that both expat and Python support; for others pyexpat raises errors of its own.
_ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")

_MAX_DEPTH = 64
_MAX_MARKUP = 1 << 20
_MAX_TEXT = 2 * MAX_DIGITS
_PIECE = 1 << 16
_PROLOG_PIECE = 64

_WHOLE = re.compile(rf"\+?[0-9]{{1,{MAX_DIGITS}}}")
_BY_CLASS = re.compile(r"[^\W\d][^,]*,[^,]*(,[^\W\d][^,]*,[^,]*)*")
_XML_SPACE = " \t\r\n"

_CHILDREN = {
    parent: {f"{namespace} {name}".lstrip(): name for name in names for namespace in dialects.NAMESPACES}
    for parent, names in dialects.CONTENT.items()
}
"""For each element that is read: the elements inside it that are read too, by each of their spellings."""
_SKIPPED = {
    parent: {f"{namespace} {name}".lstrip() for name in names for namespace in dialects.NAMESPACES}
    for parent, names in dialects.DESCRIPTIVE.items()
}

_Attributes = dict[str, str]


def read_pnml(data: bytes | Iterable[bytes], *, file: str) -> PlainNet:
    """Returns the net of a PNML document, given whole or in chunks; `file` is its name in messages.

    Lines and columns in messages count from 1.
    """
    reader = _Reader(file)
    for chunk in (data,) if isinstance(data, bytes) else data:
        reader.feed(chunk)
    return reader.end()


_TOP = PnmlPosition(1, 1)


class _Reader:
    """Handles expat's events; tracks the open elements and the part being read."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._nets: list[tuple[str, PnmlPosition]] = []
        self._parts: dict[str, PnmlPart] = {}
        self._arcs: list[PnmlPart] = []
        self._part = PnmlPart("", "", _TOP)
        self._token_class: str | None = None
        self._open = [""]
        self._depth = self._skipped_depth = self._fed = 0
        self._label_at = self._text_at = _TOP
        self._text: str | None = None
        self._on_open: dict[str, Callable[[str, _Attributes], bool]] = {
            "pnml": lambda _name, _attributes: True,
            "net": self._open_net,
            **dict.fromkeys(dialects.REQUIRED, self._open_part),
            **dict.fromkeys(dialects.LABELS, self._open_label),
            **dict.fromkeys(("text", "value"), self._open_text),
            "toolspecific": self._open_toolspecific,
            "node": self._open_note,
            "token": self._open_token,
        }
        self._on_close: dict[str, Callable[[str], None]] = {
            **dict.fromkeys(dialects.NUMBER_LABELS, self._close_number),
            **dict.fromkeys(dialects.TYPE_LABELS, self._close_type),
            **dict.fromkeys(dialects.TRAIT_LABELS, self._close_trait),
            **dict.fromkeys(dialects.FIXED_LABELS, self._close_fixed),
            **dict.fromkeys(("text", "value"), self._close_text),
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
            # Before the root element the pieces are tiny, so that a DTD cannot declare anything before it is
            # refused. A piece is never shorter than the unfinished markup, which expat scans again each time.
            piece = chunk[start : start + max(_PIECE if self._depth else _PROLOG_PIECE, pending)]
            start += len(piece)
            self._fed += len(piece)
            self._parse(piece, final=False)

    def end(self) -> PlainNet:
        self._parse(b"", final=True)
        if not self._nets:
            raise self._wrong("no <net> inside <pnml>", "one is needed", _TOP)
        if len(self._nets) > 1:
            message = f"{len(self._nets)} nets in one file: {shown([id_ for id_, _ in self._nets])}"
            raise self._wrong(message, "only one is allowed", self._nets[1][1])
        return PartGraph(self._parts, self._arcs, self._wrong).net()

    def _parse(self, piece: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(piece, final)
        except expat.ExpatError as error:
            at = PnmlPosition(error.lineno, error.offset + 1)
            description = expat.ErrorString(error.code)
            raise self._wrong(f"not well-formed XML: {description}", "PNML is needed", at) from None

    def _here(self) -> PnmlPosition:
        return PnmlPosition(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _wrong(self, message: str, allowed: str, at: PnmlPosition | None = None) -> FileFormatError:
        line, column = at or self._here()
        return FileFormatError(f"{message}; {allowed}", file=self._file, line=line, column=column)

    def _refusal(self, message: str, class_: str, at: PnmlPosition | None = None) -> FileFormatError:
        """Returns the error for a net of a class that is not plain."""
        return self._wrong(f"{message}: this is {class_}", dialects.PLAIN_ONLY, at)

    # --- expat's events ---

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise self._wrong(f"the encoding {shown(encoding)}", f"allowed: {', '.join(_ENCODINGS)}", _TOP)

    def _refuse_dtd(self, name: str, *_: object) -> None:
        raise self._wrong(f"a DOCTYPE ({shown(name)})", "no DTD and no entities are allowed")

    def _start(self, tag: str, attributes: _Attributes) -> None:
        self._enter(tag, attributes)
        parent = self._open[-1]
        name = _CHILDREN[parent].get(tag)
        if name is None and tag not in _SKIPPED.get(parent, ()):
            raise self._unknown_element(parent, tag)
        if name is not None:
            self._check_attributes(name, attributes)
        if name is not None and self._on_open[name](name, attributes):
            self._open.append(name)
        else:
            self._skip()

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        name = self._open.pop()
        if name in self._on_close:
            self._on_close[name](name)

    def _enter(self, _tag: str, _attributes: _Attributes) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"{self._depth} elements, one in the other", f"{_MAX_DEPTH} are allowed")

    def _skip(self) -> None:
        self._skipped_depth = self._depth
        self._parser.StartElementHandler = self._enter
        self._parser.EndElementHandler = self._end_skipped

    def _end_skipped(self, _tag: str) -> None:
        self._depth -= 1
        if self._depth < self._skipped_depth:
            self._parser.StartElementHandler = self._start
            self._parser.EndElementHandler = self._end

    def _unknown_element(self, parent: str, tag: str) -> FileFormatError:
        namespace, _, name = tag.rpartition(" ")
        if not parent:
            message = f"the root element {shown(name)} of namespace {shown(namespace)}"
            return self._wrong(message, f"'pnml' of namespace {NAMESPACE!r} or '' is needed")
        if parent in {"text", "value"}:
            return self._wrong(f"the element {shown(name)} inside <{parent}>", "only characters are allowed")
        if parent == "page" and name == "net":
            return self._refusal(f"a net inside {self._part}", "a net with subprocesses")
        if name in dialects.REFUSED or (parent, name) == ("place", "type"):
            class_ = dialects.REFUSED.get(name, dialects.COLOURED)
            return self._refusal(f"the element {shown(name)} inside <{parent}>", class_)
        origin = f" of namespace {shown(namespace)}" if namespace not in dialects.NAMESPACES else ""
        allowed = (*dialects.CONTENT[parent], *dialects.DESCRIPTIVE.get(parent, ()))
        message = (
            f"the element {shown(name)}{origin} inside <{parent}> is not known and could change the behaviour"
        )
        return self._wrong(message, f"allowed there: {', '.join(dict.fromkeys(allowed)) or 'none'}")

    def _check_attributes(self, name: str, attributes: _Attributes) -> None:
        allowed = dialects.ATTRIBUTES.get(name)
        if allowed is None or attributes.keys() <= allowed:
            return
        # An attribute of another namespace, such as xml:space, does not belong to PNML.
        unknown = next((key for key in attributes if key not in allowed and " " not in key), None)
        if unknown is not None:
            message = (
                f"the attribute {shown(unknown)} of <{name}> is not known and could change the behaviour"
            )
            raise self._wrong(message, f"allowed there: {', '.join(sorted(allowed)) or 'none'}")

    # --- starts of elements: each handler returns whether the content is read ---

    def _open_net(self, name: str, attributes: _Attributes) -> bool:
        if self._nets:  # further nets are only recorded, for the error message at the end
            self._nets.append((attributes.get("id", ""), self._here()))
            return False
        self._open_part(name, attributes)
        self._nets.append((self._part.id, self._part.at))
        type_ = attributes.get("type", "")
        if type_ in dialects.REFUSED_TYPES:
            raise self._refusal(f"{self._part} has the type {shown(type_)}", dialects.REFUSED_TYPES[type_])
        if type_ not in dialects.TYPES:
            raise self._wrong(f"{self._part} has the type {shown(type_)}", f"allowed: {_ALLOWED_TYPES}")
        return True

    def _open_part(self, name: str, attributes: _Attributes) -> bool:
        for needed in dialects.REQUIRED.get(name, ("id",)):
            self._check_present(name, needed, attributes)
        ends = tuple(attributes[end] for end in ("source", "target", "ref") if end in attributes)
        id_ = attributes.get("id")
        self._part = PnmlPart(name, " to ".join(ends) if id_ is None else id_, self._here(), ends)
        if id_ is not None:
            self._check_new(id_)
        if name in dialects.ARCS:
            self._arcs.append(self._part)
            self._read_arc(attributes)
        elif len(attributes) > 1:
            self._read_node(attributes)
        return True

    def _check_present(self, element: str, name: str, attributes: _Attributes) -> None:
        if not attributes.get(name):
            which = f" {shown(attributes['id'])}" if attributes.get("id") else ""
            raise self._wrong(f"<{element}>{which} has no {name}", "it needs one")

    def _check_new(self, id_: str) -> None:
        first = self._parts.setdefault(id_, self._part)
        if first is self._part:
            return
        if (first.element, self._part.element) == ("transition", "page"):  # as WoPeD writes it
            raise self._refusal(f"{self._part} is the inside of {first}", "a net with subprocesses")
        raise self._wrong(f"{self._part} has the id of line {first.at.line}", "ids must differ")

    def _read_node(self, attributes: _Attributes) -> None:
        for name, label in dialects.FIXED_ATTRIBUTES.items():
            if name in attributes:
                self._check_fixed(f"{self._part} has the {name}", attributes[name], label, self._part.at)
        for trait in dialects.TRAIT_LABELS:
            if trait in attributes:
                self._part.traits[trait] = attributes[trait]
        if "initialMarking" in attributes:
            self._read_number("initialMarking", attributes["initialMarking"], self._part.at)

    def _read_arc(self, attributes: _Attributes) -> None:
        if "type" in attributes:
            self._check_arc_type(attributes["type"], self._part.at)
        inscription = attributes.get("inscription")
        if inscription is not None and inscription.lstrip()[:1] in {"[", "("}:
            interval = "".join(inscription.split())
            self._check_fixed(f"{self._part} has the interval", interval, dialects.UNTIMED, self._part.at)
            inscription = None
        if "weight" in attributes:
            self._read_number("weight", attributes["weight"], self._part.at)
            # TAPAAL writes inscription="1" besides each weight.
            inscription = None if inscription == "1" else inscription
        if inscription is not None:
            self._read_number("inscription", inscription, self._part.at)

    def _open_label(self, name: str, attributes: _Attributes) -> bool:
        self._label_at = self._here()
        self._text = attributes.get("value") if name in dialects.TYPE_LABELS else None
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
            message = f"<toolspecific> of {TOOL} has the version {shown(version)}"
            raise self._wrong(message, f"allowed: {TOOL_VERSION!r}")
        return True

    def _open_note(self, _name: str, attributes: _Attributes) -> bool:
        self._part.id = attributes.get("id") or self._part.id
        kind = attributes.get("kind", PlaceKind.CONTROL)
        if kind not in _KINDS:
            raise self._wrong(f"{self._part} has the kind {shown(kind)}", f"allowed: {', '.join(_KINDS)}")
        self._part.kind = PlaceKind(kind)
        return True

    def _open_token(self, _name: str, attributes: _Attributes) -> bool:
        """Reads a class of tokens, as PIPE declares it; with a second class the net is coloured."""
        if attributes.get("enabled") != "false":
            class_ = attributes.get("id", "")
            if self._token_class not in {None, class_}:
                message = f"the classes of tokens {shown(self._token_class)} and {shown(class_)}"
                raise self._refusal(message, dialects.COLOURED)
            self._token_class = class_
        return True

    # --- texts, and ends of elements ---

    def _characters(self, characters: str) -> None:
        self._text = (self._text or "") + characters
        if len(self._text) > _MAX_TEXT:
            message = f"the text {shown(self._text)} in <{self._open[-2]}> of {self._part}"
            raise self._wrong(message, f"{_MAX_TEXT} characters are allowed", self._text_at)

    def _close_text(self, _name: str) -> None:
        self._parser.CharacterDataHandler = None

    def _label_text(self, name: str) -> str:
        if self._text is None:
            raise self._wrong(f"<{name}> of {self._part} has no <text>", "it needs one", self._label_at)
        return self._text.strip(_XML_SPACE)

    def _close_number(self, name: str) -> None:
        if self._part.number is not None:
            raise self._wrong(f"a second <{name}> of {self._part}", "one is allowed", self._label_at)
        self._read_number(name, self._label_text(name), self._text_at)

    def _read_number(self, name: str, text: str, at: PnmlPosition) -> None:
        least = dialects.NUMBER_LABELS.get(name, 1)
        count = self._count_of_class(name, text, at) if "," in text else text
        if not _WHOLE.fullmatch(count) or int(count) < least:
            message = f"<{name}> of {self._part} is {shown(text)}"
            raise self._wrong(message, f"a whole number ≥ {least} is needed", at)
        if self._part.number not in {None, int(count)}:
            message = f"{self._part} has the weights {self._part.number} and {count}"
            raise self._wrong(message, "one is allowed", at)
        self._part.number = int(count)

    def _count_of_class(self, name: str, text: str, at: PnmlPosition) -> str:
        """Returns the number in a text such as `Default,2`, which PIPE writes: a class of tokens and a count."""
        if not _BY_CLASS.fullmatch(text):
            return text
        words = [word.strip() for word in text.split(",")]
        pairs = list(zip(words[::2], words[1::2], strict=True))
        counted = [pair for pair in pairs if pair[1] != "0"] or pairs[:1]
        class_, count = counted[0]
        if len(counted) > 1 or self._token_class not in {None, class_}:
            raise self._refusal(f"<{name}> of {self._part} is {shown(text)}", dialects.COLOURED, at)
        self._token_class = class_
        return count

    def _close_type(self, _name: str) -> None:
        type_ = (self._text or "").strip(_XML_SPACE)
        if self._part.element == "transition":
            message = f"{self._part} has the type"
            self._check_fixed(message, type_, dialects.TRANSITION_TYPES, self._label_at)
        else:
            self._check_arc_type(type_, self._label_at)

    def _check_arc_type(self, type_: str, at: PnmlPosition) -> None:
        class_ = dialects.ARC_TYPES.get(type_)
        if class_ is not None:
            raise self._refusal(f"{self._part} has the type {shown(type_)}", class_, at)
        if type_ not in dialects.ARC_TYPES:
            raise self._wrong(f"{self._part} has the type {shown(type_)}", "only 'normal' is allowed", at)

    def _close_trait(self, name: str) -> None:
        self._part.traits[name] = self._label_text(name)

    def _close_fixed(self, name: str) -> None:
        message = f"<{name}> of {self._part} is"
        self._check_fixed(message, self._label_text(name), dialects.FIXED_LABELS[name], self._label_at)

    def _check_fixed(self, message: str, text: str, label: Label, at: PnmlPosition) -> None:
        if text.lower() not in label.allowed:
            raise self._refusal(f"{message} {shown(text)}", label.otherwise, at)
