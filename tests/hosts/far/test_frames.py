from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.hosts.far.frames import PIECE, FrameDecoder, FrameError, encode_frame, encode_pieces

_HEADERS = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name != "payload"),
    st.integers() | st.text(max_size=20),
    max_size=3,
)


@given(st.lists(st.tuples(_HEADERS, st.binary(max_size=50)), max_size=5), st.data())
def test_frames_arrive_as_they_were_sent_in_whatever_pieces(
    frames: list[tuple[dict[str, Any], bytes]], data: st.DataObject
) -> None:
    stream = b"".join(encode_frame(header, payload) for header, payload in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    decoder = FrameDecoder()
    arrived = [
        frame
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for frame in decoder.feed(stream[start:end])
    ]
    assert arrived == frames


def test_a_frame_that_is_cut_short_is_not_taken() -> None:
    frame = encode_frame({"piece": 1}, b"abc")
    for length in range(len(frame)):
        assert list(FrameDecoder().feed(frame[:length])) == []


def test_long_data_goes_in_pieces() -> None:
    frames = list(FrameDecoder().feed(b"".join(encode_pieces({"lines": 1}, bytes(2 * PIECE + 1)))))
    assert [(header, len(payload)) for header, payload in frames] == [
        ({"lines": 1}, PIECE),
        ({"lines": 1}, PIECE),
        ({"lines": 1}, 1),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"Last login: Thu Nov 19 from 10.0.0.1\n",
        b"\0\0\0\2[]",
        b"\0\0\0\3{:}",
        b'\0\0\0\x14{"payload":99999999}',
        b'\0\0\0\x0e{"payload":-1}',
        b'\0\0\0\x0f{"payload":"x"}',
    ],
)
def test_bytes_that_are_no_frames_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        list(FrameDecoder().feed(data))
    assert issubclass(FrameError, ValueError)
