"""Expected conflicts are reported once, and so is their end."""

from weft.engine.messages.facts import Foreseen
from weft.runtime.conflict_outlook import Outlook


def seen(one: str, other: str, *files: str) -> Foreseen:
    return Foreseen(at=1.0, subplan=one, other=other, files=files)


def test_a_conflict_is_reported_when_it_first_appears_for_either_subplan() -> None:
    outlook = Outlook()
    assert list(outlook.news("b", {"a": ["one"]}, at=1.0)) == [seen("a", "b", "one")]
    assert list(outlook.news("b", {"a": ["one"]}, at=1.0)) == []
    assert list(outlook.news("a", {"b": ["one"]}, at=1.0)) == []


def test_other_files_are_news_and_so_is_the_end() -> None:
    outlook = Outlook()
    list(outlook.news("a", {"b": ["one"], "c": ["one"]}, at=1.0))
    assert list(outlook.news("a", {"b": ["one", "two"], "c": ["one"]}, at=1.0)) == [
        seen("a", "b", "one", "two")
    ]
    assert list(outlook.news("b", {}, at=1.0)) == [seen("a", "b")]
    assert list(outlook.news("b", {}, at=1.0)) == []
    assert list(outlook.news("a", {}, at=1.0)) == [seen("a", "c")]


def test_what_concerns_others_is_left_as_it_is() -> None:
    outlook = Outlook()
    list(outlook.news("a", {"b": ["one"]}, at=1.0))
    assert list(outlook.news("c", {"d": ["two"]}, at=1.0)) == [seen("c", "d", "two")]
    assert list(outlook.news("a", {}, at=1.0)) == [seen("a", "b")]
