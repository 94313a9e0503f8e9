import pytest

from weft.runtime.job_ids import JobId, parse_job_id


@pytest.mark.parametrize(
    "job", [JobId("20260101-120000-ab12", 7, 2), JobId("r", 7, 2, 12), JobId("a.b", 1, 1)]
)
def test_an_id_is_read_as_it_was_written(job: JobId) -> None:
    assert parse_job_id(str(job)) == job


def test_the_first_round_has_no_number() -> None:
    assert str(JobId("r", 7, 2)) == "r.7.2"
    assert str(JobId("r", 7, 2, 1)) == "r.7.2.1"


@pytest.mark.parametrize("name", ["", "r", "r.7", "r.queue.0123456789abcdef-0123456789ab.1", "r.x.1"])
def test_a_job_with_a_name_is_of_no_execution(name: str) -> None:
    assert parse_job_id(name) is None
