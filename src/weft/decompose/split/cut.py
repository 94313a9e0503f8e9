"""Cut one part into several: along folders, or across them where the links suggest it.

Three strategies are tried in order. A later one replaces an earlier one only if it cuts clearly fewer links.

1. *Sibling folders*: parts that people know by name.
2. *Whole folders from anywhere*: for example code and its tests, which are in separate trees. METIS gathers
   folders of at most a third of a part into parts of about equal load, with the fewest links between them.
3. *Files from anywhere*: the same with pieces so small that their size no longer matters. In small parts these
   are single files.

METIS also sees folders, as nodes without load that are linked to their contents.

What "clearly" means depends on the parts. Parts that are split again need good names most of all; `reassignment`
later brings single files to the right leaf. Parts that become leaves should be cohesive.

**Termination.** METIS cuts anything in two, even files that are all linked to each other. Files from anywhere
therefore count only if more links stay inside the parts than chance would leave there. A folder of unrelated files
may still be split by names (`families`). If no strategy yields two parts, the part is a leaf.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.decompose.model import Limits
from weft.decompose.paths import folder_of
from weft.decompose.split.families import group_by_family
from weft.decompose.split.folders import FolderNodes, pieces, siblings
from weft.decompose.split.graph import LOAD_OF_AN_AGENT, Coupling, Graph, measure_coupling
from weft.decompose.split.links import Group, Links, total
from weft.decompose.split.partition import partition
from weft.decompose.split.small_groups import join_small_groups

_PARTS = 8  # about as many as a person grasps at a glance
# The additional share of links that may be cut for the sake of names: in parts that are split again, and in
# leaves.
_WORSE_ABOVE, _WORSE_LEAVES = 0.15, 0.05
_BETTER_THAN_CHANCE = 0.1
_LARGE_PIECES = 3  # at least so many make a part, as far as folders can be opened
_SMALL_PIECES = 24
_IMBALANCE = (13, 10)  # how much larger than its share a part may be if it is split again
_FILE_IN_FOLDER = 8
_FOLDER_IN_FOLDER = 4


def cut(graph: Graph, limits: Limits, levels: int) -> list[list[int]]:
    """Returns two or more sorted groups, or none. `levels` counts the remaining levels, this one included."""
    room = _Room.of(graph, limits, levels)
    if room.most < 2:  # noqa: PLR2004 - two
        return []
    small_pieces = pieces(graph, largest=room.share // _SMALL_PIECES, down_to_nodes=True)
    piece_graph = (
        graph.contract([piece.nodes for piece in small_pieces])
        if len(small_pieces) < len(graph.paths)
        else graph
    )
    groups = _CutSearch(graph=piece_graph, pieces=small_pieces, room=room).best().groups
    return sorted([sorted(node for piece in group for node in small_pieces[piece].nodes) for group in groups])


class _Room(Struct, frozen=True, kw_only=True):
    """The number and the size of the groups that a cut may make."""

    least: int
    """The fewest files in a group."""
    most: int
    """The most groups."""
    parts: int
    """The number of groups to make where folders do not decide it."""
    share: int
    """The load of each of that many groups."""
    load: int
    """The most load of a group that the levels below can still split into leaves that fit."""

    @classmethod
    def of(cls, graph: Graph, limits: Limits, levels: int) -> "_Room":
        load = sum(graph.loads)
        # `full` agents would suffice if each were filled completely; `loose` leaves a sixth of each free.
        full, loose = -(-load // LOAD_OF_AN_AGENT), -(-load * 6 // (LOAD_OF_AN_AGENT * 5))
        widest = max(_PARTS, _ceil_root(loose, levels))  # leaves a sixth of each agent's capacity free
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
        """The additional share of links that may be cut for the sake of names."""
        return _WORSE_ABOVE if self.share > LOAD_OF_AN_AGENT else _WORSE_LEAVES


def _ceil_root(number: int, degree: int) -> int:
    """Returns the least integer that, raised to this degree, is at least `number`."""
    root = 1
    while root**degree < number:
        root += 1
    return root


class _Cut(Struct, frozen=True, kw_only=True):
    groups: list[Group]
    """Empty, or at least two."""
    coupling: Coupling
    excess: int
    """The load that the levels below cannot split any more."""

    def is_clearly_better(self, best_so_far: "_Cut", worse: float) -> bool:
        # Load that no level below can split counts more than any number of links.
        if not best_so_far.groups or self.excess != best_so_far.excess:
            return not best_so_far.groups or self.excess < best_so_far.excess
        return self.coupling.cut + worse < best_so_far.coupling.cut


_NO_CUT = _Cut(groups=[], coupling=Coupling(cut=0.0, modularity=0.0), excess=0)


class _CutSearch(Struct, frozen=True, kw_only=True):
    graph: Graph
    """One node for each piece."""
    pieces: Sequence[FolderNodes]
    room: _Room

    def best(self) -> _Cut:
        best = _NO_CUT
        for strategy in (self._along_folders, self._of_whole_folders, self._of_files):
            candidate = strategy()
            if candidate.groups and candidate.is_clearly_better(best, self.room.worse):
                best = candidate
            # The later strategies cost more, and could not be clearly better.
            if self._is_good_enough(best):
                break
        return best if best.groups else self._along_names()

    def _is_good_enough(self, candidate: _Cut) -> bool:
        """Returns whether no other cut could be clearly better."""
        return bool(candidate.groups) and not candidate.excess and candidate.coupling.cut <= self.room.worse

    def _along_folders(self) -> _Cut:
        """Cuts into sibling folders, unless as many parts from anywhere would cut clearly less."""
        groups = siblings(self.graph, most=self.room.most, load=self.room.load)
        candidate = self._measure(groups) if len(groups) <= self.room.most else _NO_CUT
        if self._is_good_enough(candidate) or not 1 < len(candidate.groups) < self.room.parts:
            return candidate
        # Compared with the same number of parts: more parts always cut more links.
        alternative = self._whole_folders(len(candidate.groups))
        return (
            _NO_CUT
            if alternative.groups and alternative.is_clearly_better(candidate, self.room.worse)
            else candidate
        )

    def _of_whole_folders(self) -> _Cut:
        return self._whole_folders(self.room.parts)

    def _whole_folders(self, parts: int) -> _Cut:
        folders = pieces(self.graph, largest=self.room.share // _LARGE_PIECES, down_to_nodes=False)
        groups = _gather(self.graph.contract([piece.nodes for piece in folders]), folders, parts)
        return self._measure([[node for piece in group for node in folders[piece].nodes] for group in groups])

    def _of_files(self) -> _Cut:
        # Without links METIS would cut at random.
        if not self.graph.links.neighbours:
            return _NO_CUT
        candidate = self._measure(_gather(self.graph, self.pieces, self.room.parts))
        return candidate if candidate.coupling.modularity >= _BETTER_THAN_CHANCE else _NO_CUT

    def _along_names(self) -> _Cut:
        """Cuts by names, unless links bind all files to each other."""
        candidate = self._measure(group_by_family(self.graph, self.room.parts))
        return candidate if candidate.coupling.modularity >= 0 else _NO_CUT

    def _measure(self, candidate: list[Group]) -> _Cut:
        """Joins groups that are too small, and measures the result."""
        groups = join_small_groups(self.graph, candidate, self.room.least)
        if len(groups) < 2:  # noqa: PLR2004 - two
            return _NO_CUT
        excess = sum(max(0, total(self.graph.loads, group) - self.room.load) for group in groups)
        return _Cut(groups=groups, coupling=measure_coupling(self.graph, groups), excess=excess)


def _gather(graph: Graph, places: Sequence[FolderNodes], parts: int) -> list[Group]:
    """Gathers nodes into at most `parts` groups. `places` are the folders of the nodes."""
    share = sum(graph.loads) // parts
    over, under = _IMBALANCE
    largest_load = LOAD_OF_AN_AGENT if share <= LOAD_OF_AN_AGENT else share * over // under
    links = _add_folder_nodes(graph.links, places)
    # The nodes of folders have no load, so they do not distort the balance.
    loads = [*graph.loads, *[0] * (len(links.starts) - 1 - len(places))]
    node_groups = partition(loads, links, parts, most=largest_load)
    # Folder nodes have served their purpose; a part of nothing but folders disappears.
    groups = ([node for node in group if node < len(places)] for group in node_groups)
    return [group for group in groups if group]


def _add_folder_nodes(links: Links, places: Sequence[FolderNodes]) -> Links:
    """Adds a node for each folder, linked to its contents and to the nearest enclosing folder with a node."""
    first, numbers = len(places), dict[str, int]()
    folder_nodes = [numbers.setdefault(place.around, first + len(numbers)) for place in places]
    bonds: list[dict[int, int]] = [{} for _ in numbers]
    for node, folder in enumerate(folder_nodes):
        bonds[folder - first][node] = _FILE_IN_FOLDER
    for path, folder in numbers.items():
        parent_node = _enclosing_node(path, numbers)
        if parent_node is not None:
            bonds[folder - first][parent_node] = bonds[parent_node - first][folder] = _FOLDER_IN_FOLDER
    return links.with_more([{folder: _FILE_IN_FOLDER} for folder in folder_nodes], bonds)


def _enclosing_node(folder: str, node_of: Mapping[str, int]) -> int | None:
    while folder:
        folder = folder_of(folder)
        if folder in node_of:
            return node_of[folder]
    return None
