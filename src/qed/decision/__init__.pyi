from qed.decision._bayes import BayesRule as BayesRule
from qed.decision._costs import CostTable as CostTable
from qed.decision._outliers import OutlierRule as OutlierRule
