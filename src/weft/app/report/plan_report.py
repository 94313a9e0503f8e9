"""The forecast of a plan as a report shows it."""

from collections.abc import Sequence

from weft import __version__
from weft.app.forecast.forecast import PlanForecast
from weft.app.read_model.chart_shapes import CheckSection, PlanAnswer
from weft.app.read_model.graph import plan_graph
from weft.app.read_model.page_process import forecast_answer
from weft.app.read_model.report_shapes import ReportFile
from weft.plan.compile.compile import compile_plan


def plan_report(answer: PlanForecast, file: str, sections: Sequence[CheckSection], now: float) -> ReportFile:
    """Returns the report of a forecast. `sections` say it in words."""
    return ReportFile(
        version=__version__,
        made_at=now,
        plan=PlanAnswer(
            plan=answer.plan,
            file=file,
            problems=(),
            sections=sections,
            graph=None if answer.loaded_plan is None else plan_graph(compile_plan(answer.loaded_plan)),
            # Of nothing there is no forecast; the sections say so.
            forecast=forecast_answer(answer, now) if answer.slices else None,
            states={},
            start_command="weft start",
        ),
    )
