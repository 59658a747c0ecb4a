from qed.calibration._isotonic import IsotonicRegression as IsotonicRegression
from qed.calibration._isotonic import check_increasing as check_increasing
from qed.calibration._isotonic import isotonic_regression as isotonic_regression
