import anyio
import pytest

from weft import AsyncSemaphoreLimiter, ConfigError

pytestmark = pytest.mark.anyio


async def test_at_most_so_many_are_inside_and_the_rest_wait() -> None:
    limiter = AsyncSemaphoreLimiter(3)
    all_in, leave = anyio.Event(), anyio.Event()

    async def body() -> None:
        async with limiter:
            if limiter.active == 3:
                all_in.set()
            await leave.wait()

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(body)
        await all_in.wait()
        await anyio.wait_all_tasks_blocked()
        assert (limiter.active, limiter.waiting, limiter.peak) == (3, 7, 3)
        leave.set()
    assert (limiter.active, limiter.waiting, limiter.peak) == (0, 0, 3)


async def test_a_body_that_raises_gives_its_place_back() -> None:
    limiter = AsyncSemaphoreLimiter(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="inside"):
            async with limiter:
                raise ValueError("inside")
    assert limiter.active == 0


async def test_cancelled_while_waiting_leaves_no_trace() -> None:
    limiter = AsyncSemaphoreLimiter(1)
    async with limiter:
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with limiter:
                raise AssertionError
        assert (limiter.active, limiter.waiting) == (1, 0)
    assert limiter.active == 0


@pytest.mark.parametrize("value", [0, 33, "4", 2.5, True])
async def test_a_limit_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="from 1 to 32"):
        AsyncSemaphoreLimiter(value)  # type: ignore[arg-type]
