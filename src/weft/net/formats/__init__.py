"""Nets as text: PNML and JSON to exchange them, DOT and Mermaid to look at them."""

from weft.net.formats.dot import to_dot
from weft.net.formats.json_text import dump_net, load_net, marking_from_json, net_from_json, net_to_json
from weft.net.formats.mermaid import to_mermaid
from weft.net.formats.pnml_read import read_pnml
from weft.net.formats.pnml_write import write_pnml

__all__ = [
    "dump_net",
    "load_net",
    "marking_from_json",
    "net_from_json",
    "net_to_json",
    "read_pnml",
    "to_dot",
    "to_mermaid",
    "write_pnml",
]
