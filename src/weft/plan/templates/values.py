"""Values in templates: how a path leads to one, how it is written as text, and the error if it is missing."""

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
    """A template cannot be evaluated with the available values."""

    def __init__(self, message: str, *, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        """The position in the template; 0 if unknown."""


class NotThereError(LookupError):
    """Raised by a mapping that can explain better why it lacks a key."""


class Put(str):
    """A value as text, among the pieces of a rendered template. Other pieces are the template's own text."""

    __slots__ = ()


class MissingKey(Struct, frozen=True):
    """A key that was not found."""

    owner: object
    key: object

    def message(self, path: Path = ()) -> str:
        """Returns an error message; `path` is the path to the key, including the key, if known."""
        before = f"'{written(path)}': " if path[1:] else ""
        return before + self._reason(path)

    def _reason(self, path: Path) -> str:
        if len(path) == 1:
            return f"unknown name '{self.key}'; {known_keys(self.owner, self.key)}"
        owner = _describe_owner(path[-2]) if path[1:] else "the value"
        key = f"[{self.key}]" if isinstance(self.key, int) else f"'{self.key}'"
        match self.owner:
            case Mapping():
                explanation = _explanation(cast("Mapping[object, object]", self.owner), self.key)
                return (
                    explanation or f"{owner} has no {key}; {known_keys(cast('object', self.owner), self.key)}"
                )
            case list() | tuple():
                count = len(cast("list[object]", self.owner))
                return f"{owner} is a list of {count:,}: it has no {key}, only numbers from [0]"
            case str():
                count = len(self.owner)
                return f"{owner} is a text of {count:,} characters: it has no {key}"
            case _:
                return f"{owner} is {_show_value(self.owner)}: it has no {key}"


def _describe_owner(key: str | int) -> str:
    return f"item [{key}]" if isinstance(key, int) else f"'{key}'"


def _explanation(owner: Mapping[object, object], key: object) -> str:
    explanation = ""
    try:
        owner[key]
    except NotThereError as error:
        explanation = str(error)
    except LookupError:
        pass
    return explanation


def known_keys(owner: object, key: object) -> str:
    """Returns the end of a sentence about a missing key: the probable one, and those that exist."""
    names = sorted(map(str, cast("Iterable[object]", owner)))
    near = nearest(str(key), names)
    hint = f"did you mean '{near}'? " if near else ""
    return f"{hint}there are {name_list(names)}" if names else "there is nothing to read here"


def name_list(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:MOST_LISTED]) + (", …" if ordered[MOST_LISTED:] else "")


def _show_value(value: object) -> str:
    try:
        return text_of(value)
    except RenderError:
        return "no mapping"


def look_up(values: Values, name: Name) -> object:
    """Returns the value at the path of a name: keys of mappings, numbers of lists and texts."""
    value: object = values
    for depth, key in enumerate(name.path):
        try:
            value = _under(key, value)
        except (LookupError, TypeError) as error:
            message = MissingKey(value, key).message(name.path[: depth + 1])
            raise RenderError(message, offset=name.offset) from error
    return value


def where_missing(missing: MissingKey, names: Iterable[Name], values: Values) -> RenderError:
    """Returns the error for a missing key, with the path if one of the names leads there."""
    for name in names:
        for depth, owner in enumerate(_owners_on_path(values, name.path)):
            # Identity, because equal values can be in several places.
            if owner is missing.owner and name.path[depth] == missing.key:
                return RenderError(missing.message(name.path[: depth + 1]), offset=name.offset)
    return RenderError(missing.message())


def _owners_on_path(values: Values, path: Path) -> Iterator[object]:
    """Yields the value in which each key of the path is looked up, as long as there is one."""
    value: object = values
    for key in path:
        yield value
        try:
            value = _under(key, value)
        except (LookupError, TypeError):
            return


def _under(key: str | int, value: object) -> object:
    return cast("Mapping[str | int, object]", value)[key]


def text_of(value: object) -> str:
    """Returns a value as it is inserted into a text: JSON, but texts without quotes."""
    match value:
        case str():
            return value
        # bool comes before int, of which it is a subclass.
        case bool() | None | list() | tuple() | dict():
            return json_text(cast("object", value))
        case int() | float():
            return str(value)
        case _:
            raise RenderError(_no_value(value))


def json_text(value: object) -> str:
    """Returns compact JSON, with keys in the order of the object."""
    try:
        return msgspec.json.encode(value, enc_hook=_refuse).decode()
    except (RecursionError, ValueError) as error:  # too deep, or a text that is not Unicode
        raise RenderError(f"this value cannot be written as JSON: {error}") from error


def _refuse(value: object) -> object:
    str(value)  # an undefined value of Jinja raises here, and names the missing key
    raise RenderError(_no_value(value))


def _no_value(value: object) -> str:
    if isinstance(value, Mapping):
        names = name_list(map(str, cast("Mapping[object, object]", value)))
        return f"this is not a value; name a field of it; there are {names}"
    return f"a {type(value).__name__} cannot be inserted into a text"
