from web.api_types import TYPES, types_text


def test_the_types_of_the_page_are_those_of_the_server():
    assert TYPES.read_text(encoding="utf-8") == types_text(), "run: make format"
