"""x"""
from qed.preprocessing._standard import StandardScaler
from qed.preprocessing._ranges import MinMaxScaler, MaxAbsScaler
from qed.preprocessing._robust import RobustScaler
from qed.preprocessing._rows import Normalizer, Binarizer
__all__ = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer"]
