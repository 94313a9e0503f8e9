"""One part into several: along folders, or across them where the links say so.

Three strategies are tried, and an earlier one is left for a later only if that cuts clearly less.

1. *Folders beside each other*: parts that people know by name.
2. *Whole folders from anywhere*: code and its tests, say, which are in trees of their own. METIS gathers pieces of
   a third of a part at most into parts of about equal load, with the fewest links between them.
3. *Files from anywhere*: the same with pieces so small that their size does not matter any more. Where parts are
   small, these are single files.

METIS sees folders, too, as nodes without load that hold together what is in them.

What "clearly" means depends on what becomes of the parts. Those that are split again need names most of all, and
`moving` brings single files to where they belong in the end. Those that become leaves should hold together.

**Non-progress.** METIS would cut anything in two, even files of which each belongs to each. So files from anywhere
count only if more links stay inside the parts than chance would leave there. What all three leave, a folder of
files that have nothing to do with each other, may still be split by names (`families`). If nothing gives two
parts, the part is a leaf.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.decompose.model import Limits
from weft.decompose.paths import folder_of
from weft.decompose.splitting.families import families
from weft.decompose.splitting.folders import Folder, pieces, siblings
from weft.decompose.splitting.graph import LOAD_OF_AN_AGENT, Coupling, Graph, coupling
from weft.decompose.splitting.joining import without_small
from weft.decompose.splitting.links import Group, Links, total
from weft.decompose.splitting.partition import partition

_PARTS = 8  # about as many as a person takes in at a glance
# So much more of the links may be cut for the sake of names: by parts that are split again, and by leaves.
_WORSE_ABOVE, _WORSE_LEAVES = 0.15, 0.05
_BETTER_THAN_CHANCE = 0.1
_LARGE_PIECES = 3  # of them make a part at least, as far as folders can be opened
_SMALL_PIECES = 24
_UNEVEN = (13, 10)  # how much larger than its share a part may be that is split again
_IN_FOLDER = 8
_FOLDER_IN_FOLDER = 4


def cut(graph: Graph, limits: Limits, levels: int) -> list[list[int]]:
    """Two groups or more, sorted, or none. `levels` is how many are left, this one included."""
    room = _Room.of(graph, limits, levels)
    if room.most < 2:  # noqa: PLR2004 - two
        return []
    found = pieces(graph, largest=room.share // _SMALL_PIECES, down_to_nodes=True)
    small = graph.joined([piece.nodes for piece in found]) if len(found) < len(graph.paths) else graph
    groups = _Cutting(graph=small, pieces=found, room=room).best().groups
    return sorted([sorted(node for piece in group for node in found[piece].nodes) for group in groups])


class _Room(Struct, frozen=True, kw_only=True):
    """How many groups there may be, and how large."""

    least: int
    """Files in a group."""
    most: int
    """Groups."""
    parts: int
    """How many groups are to be made where nothing else says how many there are."""
    share: int
    """Of load, in each of so many."""
    load: int
    """What a group may have, so that it can still be split into leaves that fit on the levels below."""

    @classmethod
    def of(cls, graph: Graph, limits: Limits, levels: int) -> "_Room":
        load = sum(graph.loads)
        full, loose = -(-load // LOAD_OF_AN_AGENT), -(-load * 6 // (LOAD_OF_AN_AGENT * 5))
        widest = max(_PARTS, _root(loose, levels))  # a sixth of each agent's share is left free
        most = min(sum(graph.files) // limits.min_files_per_subplan, widest)
        parts = max(2, min(most, full))
        return cls(
            least=limits.min_files_per_subplan,
            most=most,
            parts=parts,
            share=load // parts,
            load=LOAD_OF_AN_AGENT * widest ** (levels - 1),
        )

    @property
    def worse(self) -> float:
        """How much more of the links may be cut for the sake of names."""
        return _WORSE_ABOVE if self.share > LOAD_OF_AN_AGENT else _WORSE_LEAVES


def _root(number: int, degree: int) -> int:
    """The least whole number whose power is not below."""
    root = 1
    while root**degree < number:
        root += 1
    return root


class _Cut(Struct, frozen=True, kw_only=True):
    groups: list[Group]
    """None, or two and more."""
    coupling: Coupling
    excess: int
    """Load beyond what the levels below can still split."""

    def is_clearly_better(self, other: "_Cut", worse: float) -> bool:
        if not other.groups or self.excess != other.excess:
            return not other.groups or self.excess < other.excess
        return self.coupling.cut + worse < other.coupling.cut


_NONE = _Cut(groups=[], coupling=Coupling(cut=0.0, modularity=0.0), excess=0)


class _Cutting(Struct, frozen=True, kw_only=True):
    graph: Graph
    """A node for each of the pieces."""
    pieces: Sequence[Folder]
    room: _Room

    def best(self) -> _Cut:
        best = _NONE
        for strategy in (self._along_folders, self._of_whole_folders, self._of_files):
            found = strategy()
            if found.groups and found.is_clearly_better(best, self.room.worse):
                best = found
            if self._is_good_enough(best):
                break
        return best if best.groups else self._along_names()

    def _is_good_enough(self, found: _Cut) -> bool:
        """Nothing could be clearly better."""
        return bool(found.groups) and not found.excess and found.coupling.cut <= self.room.worse

    def _along_folders(self) -> _Cut:
        """Few parts cut little in any case: what counts is whether as many others would cut clearly less."""
        groups = siblings(self.graph, most=self.room.most, load=self.room.load)
        found = self._measured(groups) if len(groups) <= self.room.most else _NONE
        if self._is_good_enough(found) or not 1 < len(found.groups) < self.room.parts:
            return found
        as_many = self._whole_folders(len(found.groups))
        return _NONE if as_many.groups and as_many.is_clearly_better(found, self.room.worse) else found

    def _of_whole_folders(self) -> _Cut:
        return self._whole_folders(self.room.parts)

    def _whole_folders(self, parts: int) -> _Cut:
        found = pieces(self.graph, largest=self.room.share // _LARGE_PIECES, down_to_nodes=False)
        groups = _gathered(self.graph.joined([piece.nodes for piece in found]), found, parts)
        return self._measured([[node for piece in group for node in found[piece].nodes] for group in groups])

    def _of_files(self) -> _Cut:
        if not self.graph.links.neighbours:
            return _NONE
        found = self._measured(_gathered(self.graph, self.pieces, self.room.parts))
        return found if found.coupling.modularity >= _BETTER_THAN_CHANCE else _NONE

    def _along_names(self) -> _Cut:
        """Links that say nothing are no obstacle, those that bind all to all are."""
        found = self._measured(families(self.graph, self.room.parts))
        return found if found.coupling.modularity >= 0 else _NONE

    def _measured(self, candidate: list[Group]) -> _Cut:
        """None of the groups is too small."""
        groups = without_small(self.graph, candidate, self.room.least)
        if len(groups) < 2:  # noqa: PLR2004 - two
            return _NONE
        excess = sum(max(0, total(self.graph.loads, group) - self.room.load) for group in groups)
        return _Cut(groups=groups, coupling=coupling(self.graph, groups), excess=excess)


def _gathered(graph: Graph, places: Sequence[Folder], parts: int) -> list[Group]:
    """So many groups of nodes, of which each is in one place; fewer if there are too few."""
    share = sum(graph.loads) // parts
    over, under = _UNEVEN
    most = LOAD_OF_AN_AGENT if share <= LOAD_OF_AN_AGENT else share * over // under
    links = _with_folders(graph.links, places)
    loads = [*graph.loads, *[0] * (len(links.starts) - 1 - len(places))]
    found = partition(loads, links, parts, most=most)
    groups = ([node for node in group if node < len(places)] for group in found)
    return [group for group in groups if group]


def _with_folders(links: Links, places: Sequence[Folder]) -> Links:
    """A node more for each folder, bound to what is in it and to the next one around that has a node."""
    first, numbers = len(places), dict[str, int]()
    around = [numbers.setdefault(place.around, first + len(numbers)) for place in places]
    bonds: list[dict[int, int]] = [{} for _ in numbers]
    for node, folder in enumerate(around):
        bonds[folder - first][node] = _IN_FOLDER
    for path, folder in numbers.items():
        further = _next_around(path, numbers)
        if further is not None:
            bonds[folder - first][further] = bonds[further - first][folder] = _FOLDER_IN_FOLDER
    return links.with_more([{folder: _IN_FOLDER} for folder in around], bonds)


def _next_around(folder: str, known: Mapping[str, int]) -> int | None:
    while folder:
        folder = folder_of(folder)
        if folder in known:
            return known[folder]
    return None
