"""Folders as parts: the grouping that the authors of the files have already made.

The first candidates are the subfolders of the deepest common folder. A folder with more than half of the load
would make the tree deeper without making the work smaller, so its contents replace it.

If sibling folders do not suffice, smaller folders from the whole tree are gathered: `pieces` are whole folders, as
high up as their size allows.
"""

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from weft.decompose.paths import folder_of
from weft.decompose.split.graph import Graph
from weft.decompose.split.links import Group, total

_AFTER_SLASH = "0"  # the character after "/": all paths in a folder sort before its name plus this


class FolderNodes(Struct, frozen=True, kw_only=True):
    """Nodes of one folder. `whole` means that they include those of its subfolders."""

    path: str
    nodes: Group
    whole: bool

    @property
    def around(self) -> str:
        """The folder that this is a piece of."""
        return folder_of(self.path) if self.whole else self.path


def common_folder(paths: Sequence[str]) -> str:
    """Returns the deepest folder that contains all paths. They are sorted, so the first and the last suffice."""
    shared = list[str]()
    for first_name, last_name in zip(paths[0].split("/")[:-1], paths[-1].split("/")[:-1], strict=False):
        if first_name != last_name:
            break
        shared.append(first_name)
    return "/".join(shared)


def siblings(graph: Graph, *, most: int, load: int) -> list[Group]:
    """Returns groups of nodes in the order of their first paths. A group above `load` has no subfolders.

    There may be more than `most` groups, if a folder has more subfolders, or if fewer would be too large.
    """
    # A part with more than half of everything has not made the work smaller.
    enough = min(load, sum(graph.loads) // 2)
    folders = _list_contents(graph, graph.nodes)
    open_folders = [_heap_entry(graph, folder) for folder in folders if folder.whole]
    settled = [folder.nodes for folder in folders if not folder.whole]
    heapify(open_folders)
    while open_folders and -open_folders[0][0] > enough:
        contents = _list_contents(graph, open_folders[0][2].nodes)
        # Opening a folder replaces it by its contents.
        too_many = len(open_folders) + len(settled) - 1 + len(contents) > most
        # A folder above `load` must be opened, even if there are then too many groups.
        if -open_folders[0][0] <= load and too_many:
            break
        heappop(open_folders)
        for folder in contents:
            if folder.whole:
                heappush(open_folders, _heap_entry(graph, folder))
            else:
                settled.append(folder.nodes)
    settled.extend(folder.nodes for _load, _first, folder in open_folders)
    return sorted(settled, key=lambda group: group[0])


def pieces(graph: Graph, *, largest: int, down_to_nodes: bool) -> list[FolderNodes]:
    """Returns whole folders of at most `largest`, and the own files of folders that are larger.

    With `down_to_nodes`, own files that exceed `largest` become single nodes. In the order of the first nodes.
    """
    folders, pending = list[FolderNodes](), _list_contents(graph, graph.nodes)
    while pending:
        folder = pending.pop()
        if len(folder.nodes) == 1 or total(graph.loads, folder.nodes) <= largest:
            folders.append(folder)
        elif folder.whole:
            pending += _list_contents(graph, folder.nodes)
        elif down_to_nodes:
            folders += [FolderNodes(path=folder.path, nodes=[node], whole=False) for node in folder.nodes]
        else:
            folders.append(folder)
    return sorted(folders, key=lambda folder: folder.nodes[0])


def _heap_entry(graph: Graph, folder: FolderNodes) -> tuple[int, int, FolderNodes]:
    """Returns a heap entry: the largest folder first, then by first node."""
    return -total(graph.loads, folder.nodes), folder.nodes[0], folder


def _list_contents(graph: Graph, nodes: Group) -> list[FolderNodes]:
    """Returns the contents of the common folder. A subfolder's files are contiguous, so most paths are skipped."""
    paths = graph.paths
    top = common_folder([paths[nodes[0]], paths[nodes[-1]]])
    begin = len(top) + 1 if top else 0
    own_nodes, folders, index = list[int](), list[FolderNodes](), 0
    while index < len(nodes):
        slash = paths[nodes[index]].find("/", begin)
        if slash < 0:
            own_nodes.append(nodes[index])
            index += 1
            continue
        folder = paths[nodes[index]][:slash]
        # Skips the whole subfolder at once.
        end = bisect_left(nodes, folder + _AFTER_SLASH, lo=index, key=paths.__getitem__)
        folders.append(FolderNodes(path=folder, nodes=nodes[index:end], whole=True))
        index = end
    return [FolderNodes(path=top, nodes=own_nodes, whole=False), *folders] if own_nodes else folders
