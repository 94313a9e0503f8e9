"""From the text of a plan to its proof."""

from benchmarks.plan_texts import plan_text
from weft.net.model import Net
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.plan.proof.prove import Proof, prove
from weft.plan.report.check import CheckReport, check_report
from weft.plan.text.document import Document, read_document


class PlanFiles:
    params = (10, 1_000, 10_000)
    param_names = ("slices",)
    timeout = 300

    def setup(self, slices: int) -> None:
        self.text = plan_text(slices)
        self.plan = load_plan(self.text)
        self.compiled = compile_plan(self.plan)
        self.proof = prove(self.compiled)

    def time_reading_yaml(self, *_: object) -> Document:
        return read_document(self.text, "weft.yaml")

    def time_loading(self, *_: object) -> Plan:
        return load_plan(self.text)

    def time_compiling(self, *_: object) -> CompiledPlan:
        return compile_plan(self.plan)

    def time_putting_together_one_net(self, *_: object) -> Net:
        return compile_plan(self.plan).net

    def time_proving(self, *_: object) -> Proof:
        return prove(self.compiled)

    def time_reporting(self, *_: object) -> CheckReport:
        return check_report(self.compiled, self.proof)

    def peakmem_compiled(self, *_: object) -> CompiledPlan:
        return compile_plan(load_plan(self.text))
