"""Where replications start: at the beginning of a plan, or where earlier runs have got to."""

from collections.abc import Mapping

from msgspec import Struct

from weft.engine.messages.facts import EarlierSlice, EarlierSpending


class Start(Struct, frozen=True, kw_only=True):
    """What was done before."""

    carried: tuple[str, ...] = ()
    """The subplans that earlier runs have completed."""
    landed: tuple[str, ...] = ()
    """Those of them that have landed."""
    earlier: tuple[EarlierSpending, ...] = ()
    """The spending of earlier runs that counts against the ceilings."""
    continued: tuple[EarlierSlice, ...] = ()
    """The slices that have completed some of their steps."""
    running: Mapping[tuple[str, str], float] = {}
    """By path and step of a run that is under way: the seconds for which its executions have run."""

    @property
    def is_between_slices(self) -> bool:
        """Whether no slice has completed only a part of its steps."""
        return not self.continued and not self.running
