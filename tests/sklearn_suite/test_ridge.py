"""scikit-learn's tests of ridge regression."""

import suffice
from tests.sklearn_suite.replacement import load_tests

globals().update(
    load_tests(
        "sklearn.linear_model.tests.test_ridge",
        "sklearn.linear_model",
        {name: getattr(suffice, name) for name in ("LinearRegression", "Ridge", "RidgeCV")},
        leave_out=("array_api", "classifier", "class_weight"),
    )
)

ONE_SOLVER = "by design: names of solvers are accepted for all rows and settings, and solve the normal equations"
DIFFERENCES = {
    "test_dense_sparse[*-_test_ridge_cv]": "by design: intercept_ is a float, not numpy's",
    "test_dtype_match": "by design: coefficients are in float64",
    "test_dtype_match_cholesky": "by design: coefficients are in float64",
    "test_lbfgs_solver_error": ONE_SOLVER,
    "test_n_iter": "by design: n_iter_ is the number of passes over the rows",
    "test_regularization_limits_ridge_gcv[csr_*-svd-*]": "by design: gcv_mode has no effect, also for sparse rows",
    "test_ridge_fit_intercept_sparse_error": ONE_SOLVER,
    "test_ridge_fit_intercept_sparse_sag": ONE_SOLVER,
    "test_ridge_positive_error_test": "by design: positive=True needs no solver of its own",
    "test_ridge_shapes_type": "by design: intercept_ is a float, not numpy's",
    "test_ridgecv_sample_weight": "by design: scores of folds are weighted too",
    "test_raises_value_error_if_sample_weights_greater_than_1d": "message: it gives both lengths",
    "test_ridge_cv_results_predictions[2-*-no_intercept-no_sw-wide]": "rounding: 1 - leverage at alpha=1e-5",
}
