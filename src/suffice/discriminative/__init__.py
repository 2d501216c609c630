"""Models of p(y | x): the linear family and its neighbours."""

from suffice.discriminative.local import LocallyWeightedRegression
from suffice.discriminative.local_door import FarFromDataWarning

__all__ = ["FarFromDataWarning", "LocallyWeightedRegression"]
