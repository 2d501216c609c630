"""Tests of sums per class, which array kernels and databases share."""

from dataclasses import replace

import numpy as np

from tests.each import for_each

from .agreement import check
from .backends import RANGES, every_dtype, every_question, labelled, maybe_weighted


class ClassSums:
    """A test class inherits these tests, and defines the fixture ``backend``."""

    @every_question
    @every_dtype
    @maybe_weighted
    def test_sums_per_class_equal_the_oracle(self, backend, question, cast, weighted):
        host = labelled(question.features, weighted)
        check(backend, question, replace(host, x=cast(host.x)))

    @every_question
    @for_each("start, stop", RANGES)
    def test_only_rows_from_start_to_stop_count(self, backend, question, start, stop):
        check(backend, question, replace(labelled(question.features, True), start=start, stop=stop))

    @every_question
    @maybe_weighted
    @for_each("n", [0, 1, 14])
    def test_one_class_needs_no_y(self, backend, question, weighted, n):
        check(backend, question, replace(labelled(question.features, weighted, n), y=None), classes=1)

    @every_question
    def test_classes_may_be_missing(self, backend, question):
        host = labelled(question.features, True)
        check(backend, question, replace(host, y=np.where(host.y == 1, 4, 2)), classes=6)

    @every_question
    def test_a_class_may_weigh_nothing(self, backend, question):
        host = labelled(question.features, True)
        check(backend, question, replace(host, weight=np.where(host.y == 1, 0, host.weight)))
