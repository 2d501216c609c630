"""scikit-learn's tests of logistic regression."""

import suffice
from tests.sklearn_suite.replacement import load_tests


def logistic(
    C=1.0,
    l1_ratio=0.0,
    penalty="deprecated",
    solver="lbfgs",
    tol=1e-4,
    dual=False,
    intercept_scaling=1,
    verbose=0,
    **settings,
):
    """Return the logistic regression with the penalty of C and l1_ratio; its own solver and tolerance serve all."""
    if dual or l1_ratio is None:
        raise NotImplementedError("LogisticRegression has no dual, and no l1_ratio=None")
    share = {"l1": 1.0, "l2": 0.0}.get(penalty, l1_ratio)
    strength = 0.0 if penalty is None else 1.0 / C
    return suffice.LogisticRegression(l2=(1 - share) * strength, l1=share * strength, **settings)


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
PENALTY = "by design: the penalties are l1 and l2, and there is no C, l1_ratio or penalty to conflict"

DIFFERENCES = {
    "test_check_solver_option[logistic]": SOLVER,
    "test_elasticnet_l1_ratio_err_helpful[logistic-l1_ratio]": PENALTY,
    **{
        f"test_dtype_match[*-{solver}]": "by design: coefficients are float64"
        for solver in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
    },
    **{
        f"test_large_sparse_matrix[*-{solver}]": "by design: sparse rows with 64-bit indices are read"
        for solver in ("liblinear", "sag", "saga")
    },
    "test_liblinear_multiclass_raises[logistic]": SOLVER,
    "test_penalty_deprecated[logistic]": PENALTY,
    "test_sparsify": "missing: sparsify and densify",
    "test_inconsistent_input": "message: it gives the number of rows of X and of y",
    "test_liblinear_dual_random_state": "by design: there is no dual solver",
    "test_sample_and_class_weight_equivalence_liblinear": "by design: there is no dual solver",
    "test_logreg_predict_proba_multinomial": "private: _predict_proba_lr",
    "test_max_iter": "message: it says what has not converged, and the cure",
    "test_n_iter": "by design: n_iter_ is one number; all classes are fitted together",
    "test_elastic_net_vs_l1_l2": PENALTY,
    "test_l1_ratio_non_elasticnet": PENALTY,
    "test_l1_ratio_None_deprecated": PENALTY,
    "test_lr_penalty_l1ratio_incompatible": PENALTY,
    "test_penalty_none": PENALTY,
    "test_c_inf_no_warning": "by design: a warning says that the columns separate the classes",
    "test_logisticregression_liblinear_sample_weight": SOLVER,
    "test_liblinear_with_large_values": SOLVER,
    "test_zero_max_iter": "by design: max_iter is 1 or more",
    "test_newton_cholesky_fallback_to_lbfgs": SOLVER,
    "test_logisticregression_warns_with_n_jobs": "by design: n_jobs is the number of threads",
}
