"""Files that a person names: how much of them is read, and what is said when they are not text."""

import io
from pathlib import Path

import pytest

from weft.app.project.files import InputSource, read_bytes, read_text, save_text
from weft.errors import FileFormatError, InputError


def piped(content: bytes) -> InputSource:
    return InputSource(name="-", stdin=io.BytesIO(content))


def test_a_file_is_read_up_to_the_limit_and_one_beyond_it_is_refused() -> None:
    assert read_bytes(piped(b"12345"), most=5) == b"12345"
    with pytest.raises(
        FileFormatError, match=r"^standard input: the file is too large; allowed are 5 bytes$"
    ):
        read_bytes(piped(b"123456"), most=5)


def test_no_more_is_read_than_is_needed_to_refuse() -> None:
    source = piped(b"x" * 100)
    with pytest.raises(FileFormatError):
        read_bytes(source, most=5)
    assert source.stdin is not None
    assert source.stdin.tell() == 6


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(
        FileFormatError, match=r"^/dev/zero: the file is too large; allowed are 1,000,000 bytes$"
    ):
        read_text(InputSource(name="/dev/zero"), most=1_000_000)


@pytest.mark.parametrize(
    ("content", "line", "column", "said"),
    [
        (b"a: \xe9", 1, 4, "byte 0xe9 has no meaning here"),
        (b"a: b\nc: \xc3\xa9 \xff", 2, 6, "byte 0xff has no meaning here"),
        (b"a\r\n\r\n\x80", 3, 1, "byte 0x80 has no meaning here"),
        ("a: 1".encode("utf-16"), 1, 1, "it starts with the byte order mark of UTF-16"),
        (
            "a: 1".encode("utf-16-be").join([b"\xfe\xff", b""]),
            1,
            1,
            "it starts with the byte order mark of UTF-16",
        ),
        (b"\xe2\x82", 1, 1, "byte 0xe2 has no meaning here"),
    ],
)
def test_what_is_not_utf_8_is_reported_with_line_and_column(
    content: bytes, line: int, column: int, said: str
) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_text(piped(content), most=100)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.bare_message == f"the file is not text in UTF-8: {said}; save it as UTF-8"


def test_a_file_is_called_by_its_label_if_it_has_one(tmp_path: Path) -> None:
    source = InputSource(name=str(tmp_path / "no"), label="~/no")
    with pytest.raises(InputError, match=r"^cannot read ~/no: no such file or directory$"):
        read_text(source, most=5)


def test_what_is_read_from_is_named_when_it_would_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "weft.yaml").touch()
    source = InputSource(name="weft.yaml", directory=tmp_path, holds="plan")
    with pytest.raises(InputError, match="it is the file that the plan is read from"):
        save_text("x", "weft.yaml", source=source)
