"""scikit-learn's tests of least squares."""

import suffice
from tests.sklearn_suite.replacement import load_tests

globals().update(
    load_tests(
        "sklearn.linear_model.tests.test_base",
        "sklearn.linear_model",
        {"LinearRegression": suffice.LinearRegression},
        leave_out=("preprocess_", "sparse_preprocess", "rescale_data", "fused_types", "array_api", "predict_proba_lr"),
    )
)

DIFFERENCES = {
    "test_linear_regression_positive": "by design: no positive=True; constraints are no sums",
    "test_linear_regression_positive_multiple_outcome": "by design: no positive=True; constraints are no sums",
    "test_linear_regression_positive_vs_nonpositive": "by design: no positive=True; constraints are no sums",
    "test_linear_regression_positive_vs_nonpositive_when_positive": "by design: no positive=True",
    "test_raises_value_error_if_positive_and_sparse": "by design: no positive=True; constraints are no sums",
    "test_inplace_data_preprocessing": "by design: no copy_X; rows are never changed",
}
