"""scikit-learn's tests of the lasso and the elastic net."""

import suffice
from tests.sklearn_suite.replacement import load_tests

globals().update(
    load_tests(
        "sklearn.linear_model.tests.test_coordinate_descent",
        "sklearn.linear_model",
        {
            name: getattr(suffice, name)
            for name in ("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "Ridge", "RidgeCV")
        },
        leave_out=(),
    )
)

EXACT = "by design: the minimum is computed from the sums, whatever max_iter, tol and warm_start are"
UNCHECKED = "by design: rows are always checked, and never changed; no check_input"
MULTI_TASK = "rounding: scikit-learn's MultiTask models stop at tol=1e-4, before the minimum"
GRAM = "by design: precompute has no effect; the products of columns are always summed"
DIFFERENCES = {
    "test_check_input_false": UNCHECKED,
    "test_elasticnet_precompute_incorrect_gram": GRAM,
    "test_enet_coordinate_descent_raises_convergence": "by design: coef_ is no start, and not set before a fit",
    "test_enet_copy_X_False_check_input_False": UNCHECKED,
    "test_enet_copy_X_True": UNCHECKED,
    "test_enet_float_precision": "by design: coefficients are in float64",
    "test_enet_nonfinite_params": "by design: sums that overflow are an OverflowError that names the column",
    "test_enet_sample_weight_does_not_overwrite_sample_weight": UNCHECKED,
    "test_lassoCV_does_not_set_precompute": GRAM,
    "test_lasso_alpha_warning": "by design: alpha=0 is least squares",
    "test_overridden_gram_matrix": GRAM,
    "test_sparse_input_convergence_warning[csr_*-ElasticNetCV]": EXACT,
    "test_sparse_input_convergence_warning[csr_*-LassoCV]": EXACT,
    "test_warm_start_convergence": EXACT,
    "test_warm_start_convergence_with_regularizer_decrement": EXACT,
    "test_cv_estimators_reject_params_with_no_routing_enabled[ElasticNetCV]": "message: a TypeError, as of functions",
    "test_cv_estimators_reject_params_with_no_routing_enabled[LassoCV]": "message: a TypeError, as of functions",
    "test_1d_multioutput_enet_and_multitask_enet_cv": MULTI_TASK,
    "test_1d_multioutput_lasso_and_multitask_lasso_cv": MULTI_TASK,
    "test_lasso_dual_gap": "rounding: gaps of 2e-15 and 4e-15",
}
