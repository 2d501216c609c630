"""scikit-learn's tests of logistic regression."""

import numpy as np

import suffice
from tests.sklearn_suite.replacement import load_tests


def logistic(C=1.0, l1_ratio=0.0, penalty="deprecated", solver="lbfgs", tol=1e-4, **settings):
    """Return the logistic regression with scikit-learn's default C, and l1_ratio for the deprecated penalty.

    One solver, to its own tolerance, serves all.
    """
    l1_ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, l1_ratio)
    return suffice.LogisticRegression(C=np.inf if penalty is None else C, l1_ratio=l1_ratio, **settings)


globals().update(
    load_tests(
        "sklearn.linear_model.tests.test_logistic",
        "sklearn.linear_model",
        {"LogisticRegression": logistic},
        leave_out=(
            *("array_api", "callback", "LogisticRegressionCV", "cv", "CV", "regression_path", "metadata_routing"),
            *("scoring_warns", "default_scorer"),
        ),
    )
)

SOLVER = "by design: there is one solver for each penalty, without the limits of this one"
LIBLINEAR = "by design: no intercept_scaling, as intercepts are not penalised"
PENALTY = "by design: no deprecated parameter penalty, and no l1_ratio=None"

DIFFERENCES = {
    "test_check_solver_option[logistic]": SOLVER,
    **{
        f"test_dtype_match[*-{solver}]": "by design: coefficients are float64"
        for solver in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
    },
    **{
        f"test_large_sparse_matrix[*-{solver}]": "by design: sparse rows with 64-bit indices are read"
        for solver in ("liblinear", "sag", "saga")
    },
    "test_liblinear_multiclass_raises[logistic]": SOLVER,
    "test_liblinear_not_stuck": LIBLINEAR,
    "test_consistency_path": LIBLINEAR,
    "test_penalty_deprecated[logistic]": PENALTY,
    "test_sparsify": "by design: theta_ is dense anyway; scipy.sparse.csr_array(coef_) is sparse",
    "test_liblinear_dual_random_state": "by design: there is no dual solver",
    "test_sample_and_class_weight_equivalence_liblinear": "by design: there is no dual solver",
    "test_l1_ratio_non_elasticnet": PENALTY,
    "test_l1_ratio_None_deprecated": PENALTY,
    "test_lr_penalty_l1ratio_incompatible": PENALTY,
    "test_penalty_none": PENALTY,
    "test_c_inf_no_warning": "by design: a warning says that the columns separate the classes",
    "test_logisticregression_liblinear_sample_weight": SOLVER,
    "test_liblinear_with_large_values": SOLVER,
    "test_zero_max_iter": "by design: max_iter is 1 or more",
    "test_logisticregression_warns_with_n_jobs": "by design: n_jobs is the number of threads",
    "test_inconsistent_input": "message: it gives the number of rows of X and of y",
    "test_max_iter": "message: it says what has not converged, and the cure",
    "test_newton_cholesky_fallback_to_lbfgs": "message: it says what has not converged, and the cure",
    "test_logreg_predict_proba_multinomial": "private: _predict_proba_lr",
}
