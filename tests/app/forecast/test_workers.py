"""Replications in worker processes: all of them, once each, and nothing left behind."""

import os
import signal
from pathlib import Path

import pytest

from forecast.rehearsals import leaf, rehearsal, work
from weft.app.forecast import workers
from weft.app.forecast.workers import Deadline, play, processors
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.tally import Tally

REHEARSAL = rehearsal(*[leaf(f"s{number}", work(minutes="1..9")) for number in range(3)], max_parallel=2)


class _Breaks(Rehearsal):
    """Fails in the worker that plays a certain replication."""

    how = "raises"

    def add_to(self, tally: Tally, replication: int, *, watches_pools: bool = True) -> None:
        if replication == 3:
            if self.how == "raises":
                raise ZeroDivisionError("the replication is broken")
            os.kill(os.getpid(), signal.SIGKILL)
        super().add_to(tally, replication, watches_pools=watches_pools)


class _Interrupts(Rehearsal):
    """Is interrupted, as by Ctrl-C, before a certain replication."""

    after = 4

    def add_to(self, tally: Tally, replication: int, *, watches_pools: bool = True) -> None:
        if replication == self.after:
            raise KeyboardInterrupt
        super().add_to(tally, replication, watches_pools=watches_pools)


def broken(type_: type[Rehearsal]) -> Rehearsal:
    return type_(REHEARSAL.compiled.plan)


def use(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(workers, "processors", lambda: count)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_result_does_not_depend_on_the_number_of_workers(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, count)
    before = children()
    seen: list[int] = []
    result = play(REHEARSAL, 23, progress=seen.append)
    expected = play_all(REHEARSAL, range(23))
    assert result.seconds == expected.seconds
    assert sorted(result.costs) == sorted(expected.costs)
    assert result.paths == expected.paths
    assert seen == sorted(seen)
    assert seen[-1] == result.runs == 23
    assert children() == before


def test_fewer_replications_than_processors_need_fewer_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 8)
    assert play(REHEARSAL, 1).seconds == play_all(REHEARSAL, [0]).seconds
    assert play(REHEARSAL, 2).seconds == play_all(REHEARSAL, [0, 1]).seconds


@pytest.mark.parametrize("count", [1, 2])
def test_a_deadline_ends_the_replications_after_the_least(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, count)
    result = play(REHEARSAL, 10_000, seconds=0.0, least=7)
    assert 7 <= result.runs < 10_000
    assert play(REHEARSAL, 5, seconds=1e9).runs == 5


def test_pools_are_watched_if_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)
    assert play(REHEARSAL, 4).pools
    assert not play(REHEARSAL, 4, watches_pools=False).pools


@pytest.mark.parametrize("how", ["raises", "dies"])
def test_a_worker_that_fails_is_reported(
    how: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, 2)
    monkeypatch.setattr(_Breaks, "how", how)
    before = children()
    with pytest.raises(RuntimeError, match="a worker of the forecast ended with status"):
        play(broken(_Breaks), 10)
    assert children() == before
    assert ("the replication is broken" in capfd.readouterr().err) == (how == "raises")


def test_without_workers_an_interruption_returns_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 1)
    assert sorted(play(broken(_Interrupts), 10).seconds) == [0, 1, 2, 3]
    monkeypatch.setattr(_Interrupts, "after", 0)
    with pytest.raises(KeyboardInterrupt):
        play(broken(_Interrupts), 10)


def test_an_interruption_of_the_parent_ends_the_workers_and_returns_what_has_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, 2)
    before = children()

    def interrupt(done: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    result = play(REHEARSAL, 10_000, progress=interrupt)
    assert 6 <= result.runs < 10_000
    assert children() == before


def test_an_interruption_before_anything_has_arrived_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 2)

    def interrupt(_workers: object) -> list[Tally]:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_pieces", interrupt)
    before = children()
    with pytest.raises(KeyboardInterrupt):
        play(REHEARSAL, 10)
    assert children() == before


def test_a_deadline_without_a_time_is_never_over() -> None:
    assert not Deadline(None).is_over
    assert Deadline(0.0).is_over
    assert not Deadline(1e6).is_over
    assert processors() >= 1
