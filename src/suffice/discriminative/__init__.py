"""Models of p(y | x): the linear family and its neighbours."""

from suffice.discriminative.local import FarFromDataWarning, LocallyWeightedRegression

__all__ = ["FarFromDataWarning", "LocallyWeightedRegression"]
