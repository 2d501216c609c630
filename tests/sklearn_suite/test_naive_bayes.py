"""scikit-learn's tests of naive Bayes."""

import suffice
from tests.sklearn_suite.replacement import load_tests

NAMES = ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB")

globals().update(
    load_tests(
        "sklearn.tests.test_naive_bayes",
        "sklearn.naive_bayes",
        {name: getattr(suffice, name) for name in NAMES},
        leave_out=("array_api",),  # needs an environment variable that SciPy reads; tests/kernels runs array libraries
    )
)

DIFFERENCES = {
    "test_gnb_partial_fit[float32]": "by design: sums are float64, so batches of float32 rows add up exactly",
    "test_NB_partial_fit_no_first_classes": "by design: the first batch need not say which classes will come",
    "test_discretenb_provide_prior": "by design: `classes` of a later batch may repeat or leave out classes",
    "test_categoricalnb": "by design: a category that was never seen, as a negative one, has its smoothed probability",
    "test_alpha": "by design: the warning comes where the probabilities are first read from the sums, not in fit",
    "test_cnb": "message: it names the position and the value instead of '(input X)'",
    "test_alpha_vector": "message: it names the position and the value",
    "test_gnb_check_update_with_no_data": "private: _update_mean_variance",
    "test_check_alpha": "private: _check_alpha",
}
