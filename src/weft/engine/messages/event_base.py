"""The part that all events share, and how a class of events declares what is stored of it."""

from typing import TypeVar

from msgspec import Struct, field

from weft.engine.messages.facts import AnyFact

Value = TypeVar("Value")


def written(default: Value, *, name: str | None = None) -> Value:
    """Declares a field that is always stored, even if it has its default.

    All other fields are stored only if they differ from their default. The default applies to journals in which
    the field is missing.
    """
    return field(default_factory=lambda: default, name=name)


class Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """The envelope of an event, which the journal stores in columns of their own.

    The tag of a class is the kind of its events. The fields of a class are the data of its kind. The fields of the
    envelope have names that no data has, since data of some kinds has a `subplan` or a `step` of its own.
    """

    subplan: str = field(default="", name="@subplan")
    """The path; empty for the whole plan."""
    step: str = field(default="", name="@step")
    """The address of the step; a step that is not part of the plan has a name with @, as `@merge`."""
    attempt: int = field(default=0, name="@attempt")
    cost: int | None = field(default=None, name="@cost")
    """In micro-dollars."""
    tokens: int | None = field(default=None, name="@tokens")
    fact: AnyFact | None = field(default=None, name="@fact")
    """The fact that this event records; None for an event that follows from an earlier fact."""
