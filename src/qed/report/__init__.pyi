from qed.report._contributions import explanation_report as explanation_report
from qed.report._parts import Figure as Figure
from qed.report._parts import Section as Section
from qed.report._parts import Table as Table
from qed.report._parts import Verdict as Verdict
from qed.report._regression import regression_report as regression_report
from qed.report._report import Report as Report
from qed.report._study import study_report as study_report
