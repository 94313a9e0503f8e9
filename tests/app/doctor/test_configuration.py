"""The plan and the configuration: each error in one line."""

from app.doctor.patients import LANDS, Patient
from weft.app.doctor.findings import FindingState


def fine(patient: Patient, check: str) -> list[str]:
    return [item.finding.found for item in patient.doctor().of(FindingState.OK) if item.check.id == check]


def test_a_plan_is_named_wherever_one_asks(patient: Patient) -> None:
    assert fine(patient, "plan") == ["there is no weft.yaml here"]
    patient.plan(LANDS)
    assert fine(patient, "plan") == ["weft.yaml: the plan tried"]
    (patient.root / "deep" / "er").mkdir(parents=True)
    report = patient.doctor(at=patient.root / "deep" / "er")
    (plan,) = [result for result in report.results if result.check.id == "plan"]
    assert plan.finding.found == f"{patient.root / 'weft.yaml'}: the plan tried"


def test_each_error_of_a_plan_is_a_line(patient: Patient) -> None:
    patient.plan(f"max_parallel: 99\nretries: x\n{LANDS}")
    events = patient.told("plan")
    assert [item.finding.found.partition(": ")[0] for item in events] == ["weft.yaml:4:15", "weft.yaml:5:10"]
    assert {entry.state for entry in events} == {FindingState.PROBLEM}
    assert {outcome.finding.command for outcome in events} == {"weft check weft.yaml"}


def test_a_plan_that_cannot_be_opened_is_a_problem(patient: Patient) -> None:
    (patient.root / "weft.yaml").mkdir()
    result = patient.one("plan")
    assert result.finding.found == "cannot read weft.yaml: is a directory"


def test_what_is_wrong_with_the_configuration_is_reported_there(patient: Patient) -> None:
    patient.plan(LANDS)
    config = patient.root / ".weft" / "config.yaml"
    config.parent.mkdir()
    config.write_text("max_parallel: 99\n")
    result = patient.one("configuration")
    assert result.finding.found.startswith(".weft/config.yaml:1:15: ")
    assert result.finding.command == "weft schema --reference"
    assert fine(patient, "plan") == ["weft.yaml cannot be read before the configuration can"]
    config.write_text("max_parallel: 2\n")
    assert fine(patient, "configuration") == [".weft/config.yaml"]
    config.unlink()
    config.mkdir()
    assert patient.one("configuration").finding.command == f"ls -l {config}"
