"""Values in templates: how a path leads to one, how one is written, and what is said where there is none."""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import msgspec
from msgspec import Struct

from weft.errors import WeftError
from weft.plan.templates.names import MOST_LISTED, written
from weft.plan.templates.parse import Name, Path
from weft.plan.text.problems import nearest

Values = Mapping[str, object]


class RenderError(WeftError):
    """A template cannot be evaluated with the values there are."""

    def __init__(self, message: str, *, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        """Where in the template it stands; 0 also if that is not known."""


class NotThereError(LookupError):
    """Raised by a mapping that can say better than others why it does not have a key."""


class Put(str):
    """A value, as text, among the pieces of a rendered template; the other pieces are the template's own."""

    __slots__ = ()


class Missing(Struct, frozen=True):
    """A key that was looked up in vain."""

    owner: object
    key: object

    def said(self, path: Path = ()) -> str:
        """In words; `path` is the way to the key, with the key, if it is known."""
        before = f"'{written(path)}': " if path[1:] else ""
        return before + self._said(path)

    def _said(self, path: Path) -> str:
        if len(path) == 1:
            return f"there is no name '{self.key}' here; {known_keys(self.owner, self.key)}"
        owner = _called(path[-2]) if path[1:] else "the value"
        key = f"[{self.key}]" if isinstance(self.key, int) else f"'{self.key}'"
        match self.owner:
            case Mapping():
                said = _said_by(cast("Mapping[object, object]", self.owner), self.key)
                return said or f"{owner} has no {key}; {known_keys(cast('object', self.owner), self.key)}"
            case list() | tuple():
                count = len(cast("list[object]", self.owner))
                return f"{owner} is a list of {count:,}: it has no {key}, only numbers from [0]"
            case str():
                count = len(self.owner)
                return f"{owner} is a text of {count:,} characters: it has no {key}"
            case _:
                return f"{owner} is {_shown(self.owner)}: it has no {key}"


def _called(key: str | int) -> str:
    return f"item [{key}]" if isinstance(key, int) else f"'{key}'"


def _said_by(owner: Mapping[object, object], key: object) -> str:
    said = ""
    try:
        owner[key]
    except NotThereError as error:
        said = str(error)
    except LookupError:
        pass
    return said


def known_keys(owner: object, key: object) -> str:
    """The end of a sentence about a key that a mapping does not have: what was meant, and what there is."""
    names = sorted(map(str, cast("Iterable[object]", owner)))
    near = nearest(str(key), names)
    hint = f"did you mean '{near}'? " if near else ""
    return f"{hint}there are {listed(names)}" if names else "there is nothing to read here"


def listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:MOST_LISTED]) + (", …" if found[MOST_LISTED:] else "")


def _shown(value: object) -> str:
    try:
        return text_of(value)
    except RenderError:
        return "no mapping"


def look_up(values: Values, name: Name) -> object:
    """What the path of a name leads to: keys of mappings, numbers of lists and texts."""
    found: object = values
    for at, key in enumerate(name.path):
        try:
            found = _under(key, found)
        except (LookupError, TypeError) as error:
            said = Missing(found, key).said(name.path[: at + 1])
            raise RenderError(said, offset=name.offset) from error
    return found


def where_missing(missing: Missing, names: Iterable[Name], values: Values) -> RenderError:
    """The error to tell: with the path, if one of the names leads there."""
    for name in names:
        for at, owner in enumerate(_way(values, name.path)):
            if owner is missing.owner and name.path[at] == missing.key:
                return RenderError(missing.said(name.path[: at + 1]), offset=name.offset)
    return RenderError(missing.said())


def _way(values: Values, path: Path) -> Iterator[object]:
    """What each key of the path is looked up in, for as long as it leads somewhere."""
    found: object = values
    for key in path:
        yield found
        try:
            found = _under(key, found)
        except (LookupError, TypeError):
            return


def _under(key: str | int, value: object) -> object:
    return cast("Mapping[str | int, object]", value)[key]


def text_of(value: object) -> str:
    """A value as it is put into a text: JSON, but texts without quotes around them."""
    match value:
        case str():
            return value
        case bool() | None | list() | tuple() | dict():
            return json_text(cast("object", value))
        case int() | float():
            return str(value)
        case _:
            raise RenderError(_no_value(value))


def json_text(value: object) -> str:
    """Compact JSON, in the order that objects have."""
    try:
        return msgspec.json.encode(value, enc_hook=_refused).decode()
    except (RecursionError, ValueError) as error:  # too deep, or a text that is not Unicode
        raise RenderError(f"this value cannot be written as JSON: {error}") from error


def _refused(value: object) -> object:
    str(value)  # what Jinja makes of an unknown name says at this which one it is
    raise RenderError(_no_value(value))


def _no_value(value: object) -> str:
    if isinstance(value, Mapping):
        names = listed(map(str, cast("Mapping[object, object]", value)))
        return f"this alone is no value: say what of it; there are {names}"
    return f"this is no value that can be put into a text, but a {type(value).__name__}"
