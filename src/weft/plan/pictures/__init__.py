"""Draws a plan or its net: built as plain data, written as SVG, DOT or Mermaid."""

from weft.plan.pictures.build import dependency_picture, tree_picture
from weft.plan.pictures.dot import picture_to_dot
from weft.plan.pictures.fold import fold_rows
from weft.plan.pictures.mermaid import picture_to_mermaid
from weft.plan.pictures.model import (
    Cluster,
    Edge,
    EdgeKind,
    Node,
    NodeKind,
    Picture,
    PictureRow,
    TooLargeToDrawError,
)
from weft.plan.pictures.nets import net_picture
from weft.plan.pictures.svg import picture_to_svg

__all__ = [
    "Cluster",
    "Edge",
    "EdgeKind",
    "Node",
    "NodeKind",
    "Picture",
    "PictureRow",
    "TooLargeToDrawError",
    "dependency_picture",
    "fold_rows",
    "net_picture",
    "picture_to_dot",
    "picture_to_mermaid",
    "picture_to_svg",
    "tree_picture",
]
