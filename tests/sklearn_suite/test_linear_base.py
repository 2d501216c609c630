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
    "test_raises_value_error_if_positive_and_sparse": "by design: sparse rows have the same sums",
    "test_inplace_data_preprocessing[*-None]": "by design: rows are never changed, also with copy_X=False",
}
