"""The plan and the configuration: each error in one line."""

from app.doctor.patients import LANDS, Patient
from weft.app.doctor.findings import FindingState


def fine(patient: Patient, check: str) -> list[str]:
    return [one.finding.found for one in patient.doctor().of(FindingState.OK) if one.check.id == check]


def test_a_plan_is_named_wherever_one_asks(patient: Patient) -> None:
    assert fine(patient, "plan") == ["there is no weft.yaml here"]
    patient.plan(LANDS)
    assert fine(patient, "plan") == ["weft.yaml: the plan tried"]
    (patient.root / "deep" / "er").mkdir(parents=True)
    report = patient.doctor(at=patient.root / "deep" / "er")
    (plan,) = [one for one in report.results if one.check.id == "plan"]
    assert plan.finding.found == f"{patient.root / 'weft.yaml'}: the plan tried"


def test_each_error_of_a_plan_is_a_line(patient: Patient) -> None:
    patient.plan(f"max_parallel: 99\nretries: x\n{LANDS}")
    told = patient.told("plan")
    assert [one.finding.found.partition(": ")[0] for one in told] == ["weft.yaml:4:15", "weft.yaml:5:10"]
    assert {one.state for one in told} == {FindingState.PROBLEM}
    assert {one.finding.command for one in told} == {"weft check weft.yaml"}


def test_a_plan_that_cannot_be_opened_is_a_problem(patient: Patient) -> None:
    (patient.root / "weft.yaml").mkdir()
    told = patient.one("plan")
    assert told.finding.found == "cannot read weft.yaml: is a directory"


def test_what_is_wrong_with_the_configuration_is_reported_there(patient: Patient) -> None:
    patient.plan(LANDS)
    config = patient.root / ".weft" / "config.yaml"
    config.parent.mkdir()
    config.write_text("max_parallel: 99\n")
    told = patient.one("configuration")
    assert told.finding.found.startswith(".weft/config.yaml:1:15: ")
    assert told.finding.command == "weft schema --reference"
    assert fine(patient, "plan") == ["weft.yaml cannot be read before the configuration can"]
    config.write_text("max_parallel: 2\n")
    assert fine(patient, "configuration") == [".weft/config.yaml"]
    config.unlink()
    config.mkdir()
    assert patient.one("configuration").finding.command == f"ls -l {config}"
