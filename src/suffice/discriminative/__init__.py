"""Models of p(y | x): the linear family and its neighbours."""
