"""x"""
from qed.preprocessing._standard import StandardScaler
from qed.preprocessing._ranges import MinMaxScaler, MaxAbsScaler
from qed.preprocessing._robust import RobustScaler
from qed.preprocessing._rows import Normalizer, Binarizer
from qed.preprocessing._one_hot import OneHotEncoder
from qed.preprocessing._ordinal import OrdinalEncoder
__all__ = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer","OneHotEncoder","OrdinalEncoder"]
from qed.preprocessing._labels import *
from qed.preprocessing._ordered_codes import *
from qed.preprocessing._polynomial import PolynomialFeatures
__all__ += ["LabelEncoder","LabelBinarizer","MultiLabelBinarizer","PolynomialFeatures","ThermometerEncoder","FactoredEncoder"]
