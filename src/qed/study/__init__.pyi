from qed.study._compare_models import Versus as Versus
from qed.study._compare_models import versus as versus
from qed.study._fit import Study as Study
from qed.study._fit import fit as fit
from qed.study._model import TableModel as TableModel
from qed.study._model import load as load
from qed.study._source import read_table as read_table
from qed.study._unsupervised_model import UnsupervisedModel as UnsupervisedModel
