"""Folders as parts: what somebody has put together already.

The folders below the one that all files share are the first candidates. One that holds more than half of
everything would only make the tree deeper and not the work smaller: it is replaced by what is in it.

Where folders beside each other do not do, smaller ones do, gathered from all over the tree: `pieces` are whole
folders, as high up as their size allows.
"""

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from weft.decompose.paths import folder_of
from weft.decompose.splitting.graph import Graph
from weft.decompose.splitting.links import Group, total

_AFTER_SLASH = "0"  # the next letter there is: paths in a folder are those up to its name with this


class Folder(Struct, frozen=True, kw_only=True):
    """Nodes of one folder; `whole` if those further down are among them."""

    path: str
    nodes: Group
    whole: bool

    @property
    def around(self) -> str:
        """The folder that it is one piece of."""
        return folder_of(self.path) if self.whole else self.path


def common_folder(paths: Sequence[str]) -> str:
    """The deepest folder that they are all in; paths are sorted, so the first and the last tell it."""
    shared = list[str]()
    for one, other in zip(paths[0].split("/")[:-1], paths[-1].split("/")[:-1], strict=False):
        if one != other:
            break
        shared.append(one)
    return "/".join(shared)


def siblings(graph: Graph, *, most: int, load: int) -> list[Group]:
    """Groups of nodes, in the order of their first paths, none above `load` as far as there are folders in it.

    There may be more than `most`, if there are that many at once or else they would be too large.
    """
    enough = min(load, sum(graph.loads) // 2)
    found = _below(graph, graph.nodes)
    whole = [_by_load(graph, folder) for folder in found if folder.whole]
    settled = [folder.nodes for folder in found if not folder.whole]
    heapify(whole)
    while whole and -whole[0][0] > enough:
        inside = _below(graph, whole[0][2].nodes)
        too_many = len(whole) + len(settled) - 1 + len(inside) > most
        if -whole[0][0] <= load and too_many:
            break
        heappop(whole)
        for folder in inside:
            if folder.whole:
                heappush(whole, _by_load(graph, folder))
            else:
                settled.append(folder.nodes)
    settled.extend(folder.nodes for _load, _first, folder in whole)
    return sorted(settled, key=lambda group: group[0])


def pieces(graph: Graph, *, largest: int, down_to_nodes: bool) -> list[Folder]:
    """Whole folders not above `largest`, and the own files of those that had to be opened.

    These own files may be above it all the same, unless the way goes down to single nodes. In the order of the
    first nodes.
    """
    found, pending = list[Folder](), _below(graph, graph.nodes)
    while pending:
        folder = pending.pop()
        if len(folder.nodes) == 1 or total(graph.loads, folder.nodes) <= largest:
            found.append(folder)
        elif folder.whole:
            pending += _below(graph, folder.nodes)
        elif down_to_nodes:
            found += [Folder(path=folder.path, nodes=[node], whole=False) for node in folder.nodes]
        else:
            found.append(folder)
    return sorted(found, key=lambda folder: folder.nodes[0])


def _by_load(graph: Graph, folder: Folder) -> tuple[int, int, Folder]:
    """The largest is the least; the first node tells two apart."""
    return -total(graph.loads, folder.nodes), folder.nodes[0], folder


def _below(graph: Graph, nodes: Group) -> list[Folder]:
    """What is in a folder. Files further down follow each other, so most paths need not be looked at."""
    paths = graph.paths
    top = common_folder([paths[nodes[0]], paths[nodes[-1]]])
    begin = len(top) + 1 if top else 0
    own, found, at = list[int](), list[Folder](), 0
    while at < len(nodes):
        slash = paths[nodes[at]].find("/", begin)
        if slash < 0:
            own.append(nodes[at])
            at += 1
            continue
        folder = paths[nodes[at]][:slash]
        end = bisect_left(nodes, folder + _AFTER_SLASH, lo=at, key=paths.__getitem__)
        found.append(Folder(path=folder, nodes=nodes[at:end], whole=True))
        at = end
    return [Folder(path=top, nodes=own, whole=False), *found] if own else found
