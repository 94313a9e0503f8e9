"""`weft net`: questions about a Petri net in a file. What takes time to import is imported by the commands."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from weft.cli.output import note, progress_on_terminal, show_json, show_lines, write_text
