from qed.calibration._classifier import CalibratedClassifierCV as CalibratedClassifierCV
from qed.calibration._curve import CalibrationDisplay as CalibrationDisplay
from qed.calibration._curve import calibration_curve as calibration_curve
from qed.calibration._isotonic import IsotonicRegression as IsotonicRegression
from qed.calibration._isotonic import check_increasing as check_increasing
from qed.calibration._isotonic import isotonic_regression as isotonic_regression
