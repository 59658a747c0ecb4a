from qed.inspection._coefficient_path import CoefficientPathDisplay as CoefficientPathDisplay
from qed.inspection._decision_boundary import DecisionBoundaryDisplay as DecisionBoundaryDisplay
from qed.inspection._fit_pictures import FitDisplay as FitDisplay
from qed.inspection._fit_pictures import ProjectionDisplay as ProjectionDisplay
from qed.inspection._loss_curve import LossCurveDisplay as LossCurveDisplay
from qed.inspection._norm_ball import NormBallDisplay as NormBallDisplay
from qed.inspection._scree import ScreeDisplay as ScreeDisplay
