"""The guide about notifications says what is so."""

import json
import re
from pathlib import Path

from app.receivers import NOTICE
from weft.app.notify.channels import ANSWER_SECONDS, COMMAND_SECONDS
from weft.app.notify.notifier import LAST_SECONDS, MOST_WAITING
from weft.plan.language.notify import EVENTS
from weft.plan.loader.load import read_config

TEXT = (Path(__file__).parents[2] / "docs" / "guide" / "notifications.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_what_it_writes_can_be_written() -> None:
    item, several = (read_config(block, "config.yaml", "user").notify for block in blocks("yaml"))
    assert item is not None
    assert several is not None
    assert (len(item), len(several)) == (1, 2)


def test_what_it_shows_has_the_shape_of_what_is_sent() -> None:
    (block,) = blocks("json")
    assert list(json.loads(block)) == list(NOTICE.to_json())


def test_every_event_is_explained() -> None:
    assert tuple(re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)) == EVENTS


def test_the_limits_it_names_are_those_that_there_are() -> None:
    assert f"It has {COMMAND_SECONDS:.0f} seconds" in TEXT
    assert f"after {ANSWER_SECONDS:.0f} seconds without an answer" in TEXT
    assert f"beyond {MOST_WAITING} waiting notices" in TEXT
    assert f"waiting notices have {LAST_SECONDS:.0f} seconds" in TEXT
