"""What is known about a set of files, and the tree of parts that is made of it."""

import re
from collections.abc import Iterator

from msgspec import Struct

from weft.errors import ConfigError

LONGEST_ID = 64
ID = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_ID - 1}}}")
"""What plans take for one."""
FEW_FILES = 50
"""Below this, a tree of more than two levels would be more to read than the files."""
DEPTH_FOR_FEW_FILES = 2
A_COMMIT = 1000
"""What two files are bound by that a commit changed, and no others."""


class Limits(Struct, frozen=True, kw_only=True):
    """When a part is split no further."""

    max_depth: int = 6
    min_files_per_subplan: int = 3
    max_files_per_subplan: int = 25
    max_tokens_per_subplan: int = 100_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a whole number from 1 on, and is {value!r}")
        if self.min_files_per_subplan > self.max_files_per_subplan:
            raise ConfigError(
                f"min_files_per_subplan is {self.min_files_per_subplan}, and max_files_per_subplan only "
                f"{self.max_files_per_subplan}; give a maximum that is not below the minimum"
            )

    def depth_for(self, files: int) -> int:
        return min(self.max_depth, DEPTH_FOR_FEW_FILES) if files < FEW_FILES else self.max_depth


class Signals(Struct, frozen=True, kw_only=True):
    """What is known about files. They are numbered in the order of their paths."""

    paths: tuple[str, ...]
    """From the root of the set, with `/`; sorted, none twice."""
    tokens: tuple[int, ...]
    """About how many an agent reads with each."""
    uses: tuple[tuple[int, int], ...] = ()
    """Which file refers to which; sorted, none twice, none to itself."""
    together: tuple[tuple[int, int, int], ...] = ()
    """Two files, the smaller number first, and how much they changed together: for each commit its share, in
    thousandths (`A_COMMIT`), of all pairs that one file of it is in; sorted."""
    symbols: tuple[str, ...] = ()
    """For each file the name that most others take from it, empty if none do; none at all if that is not known."""
    attachments: tuple[int, ...] = ()
    """Files that are no work of their own, such as pictures: each joins a leaf that the others make. Sorted, and
    never all files."""


class Risk(Struct, frozen=True, kw_only=True):
    """Two parts beside each other with files that may get in each other's way, as no order is between them."""

    first: str
    second: str
    circle: bool
    """There are references between them that no order could follow, as others lead back; else they only tend to
    change together."""
    links: int
    """How many pairs of files stand behind it."""
    files: tuple[tuple[str, str], ...]
    """Some of the pairs, those with most between them first."""


class Part(Struct, frozen=True, kw_only=True):
    """A node of the tree: a leaf has files and no parts, a group the files of its parts."""

    id: str
    title: str
    files: tuple[str, ...]
    tokens: int
    parts: tuple["Part", ...] = ()
    depends_on: tuple[str, ...] = ()
    """As in plans: ids of parts beside it, or paths from the top, `/store/model`."""
    risks: tuple[Risk, ...] = ()
    """Among its parts."""
    too_large: bool = False
    """A leaf with more tokens than an agent should read, because nothing could split it, or not any deeper. Many
    files alone do not make it so: what counts for an agent is how much there is to read."""
    prompt: str = ""
    """What is to be done in a leaf, if somebody has put it into words."""

    def leaves(self) -> Iterator["Part"]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    @property
    def depth(self) -> int:
        """How many levels are below; 0 for a leaf."""
        return max((part.depth + 1 for part in self.parts), default=0)
