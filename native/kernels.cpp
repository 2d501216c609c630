// The kernels for one instruction set. Compiled several times: SUFFICE_ISA names the set, the flags choose it.
#include "additive.hpp"
#include "category_scores.hpp"
#include "cholesky.hpp"
#include "coordinates.hpp"
#include "counts.hpp"
#include "dual.hpp"
#include "gaussian_scores.hpp"
#include "glm.hpp"
#include "local.hpp"
#include "moments.hpp"
#include "posterior.hpp"
#include "scatter.hpp"
#include "scores.hpp"
#include "sparse_check.hpp"
#include "stochastic.hpp"

#define SUFFICE_TEXT_(name) #name
#define SUFFICE_TEXT(name) SUFFICE_TEXT_(name)

namespace suffice {
namespace SUFFICE_ISA {

bool runs_here();

extern const Kernels table;
const Kernels table{SUFFICE_TEXT(SUFFICE_ISA),
                    runs_here,
                    check_sparse,
                    class_weights,
                    event_counts,
                    presence_counts,
                    category_counts,
                    diagonal_moments,
                    scatter,
                    curvature,
                    cholesky,
                    cholesky_solve,
                    coordinate_descent,
                    descend,
                    correct,
                    dual_ascent,
                    linear_scores,
                    diagonal_scores,
                    quadratic_scores,
                    category_scores,
                    read_scores,
                    local_sums,
                    additive_step,
                    additive_gradient,
                    additive_loss,
                    interaction_gain,
                    smooth_term,
                    additive_cycle};

}  // namespace SUFFICE_ISA
}  // namespace suffice
