"""Measurements in bins: the edges of one feature as a flat list, and their names in explanations."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import CategoricalNB

AREAS = np.array([[300.0], [500.0], [900.0], [1500.0], [np.nan]])


def test_edges_of_one_feature_are_a_flat_list():
    flat = CategoricalNB(bins=[400, 800, 1200]).fit(AREAS, [0, 0, 1, 1, 1])
    nested = CategoricalNB(bins=[[400, 800, 1200]]).fit(AREAS, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(flat.bin_edges_[0], [400, 800, 1200])
    np.testing.assert_array_equal(flat.predict_proba(AREAS), nested.predict_proba(AREAS))


def test_a_flat_list_of_edges_for_two_features_raises():
    for edges in ([400, 800, 1200], [400, 800]):  # two numbers are not one edge for each feature
        with pytest.raises(ValueError, match=r"a list of edges for each of 2 features; got \[400, 800"):
            CategoricalNB(bins=edges).fit(np.c_[AREAS, AREAS], [0, 0, 1, 1, 1])


def test_edges_must_be_known():
    with pytest.raises(ValueError, match=r"bins must have no edge that is nan; got \[400, nan\]"):
        CategoricalNB(bins=[400, np.nan]).fit(AREAS, [0, 0, 1, 1, 1])


def test_explanations_name_the_bin():
    explained = CategoricalNB(bins=[400, 800]).fit(AREAS, [0, 0, 1, 1, 1]).explain(AREAS[[1, 2]])
    assert explained[0].contributions[0].value == "500 in [400, 800)"
    assert "x0 = 900 in [800, inf)" in str(explained)
