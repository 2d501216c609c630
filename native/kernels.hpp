// What the kernels sum, and over which rows. No Python here; compiled once, shared by every instruction set.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace suffice {

using index_t = std::int64_t;

enum class Type : std::uint8_t { f64, f32, i64, i32, i16, i8, u64, u32, u16, u8 };

// Rows of features: dense with any strides, or compressed sparse rows.
struct Features {
    index_t rows = 0, cols = 0;
    Type type = Type::f64;       // of data
    const void* data = nullptr;  // dense values, or the stored values of CSR
    index_t row_stride = 0, col_stride = 0;  // dense only, in elements

    bool sparse = false;
    bool wide = false;              // whether indptr and indices are 64 bits wide
    const void* indptr = nullptr;   // (rows + 1,)
    const void* indices = nullptr;  // (stored,)
    index_t stored = 0;
};

// The rows begin to end - 1 of the features, with the code and weight of each (arrays start at row `begin`).
struct Rows {
    Features x;
    index_t begin = 0, end = 0;
    const index_t* code = nullptr;   // null: all rows are of class 0
    const double* weight = nullptr;  // null: all rows weigh 1
};

// A generalised linear model's rows and point.
struct Model {
    enum Family : int { gaussian, bernoulli, poisson, gamma_log, softmax, tweedie_log };
    Family family = gaussian;
    double power = 1.5;              // of tweedie_log: the variance is mean^power
    double slope_share = 0.0;        // this multiple of a row's slope is added to its curvature
    const double* target = nullptr;  // (rows,), from row `begin`; softmax: rows.code instead
    const double* offset = nullptr;  // (rows, t), from row `begin`; null: none
    const double* theta = nullptr;   // (p, t), row by row
    index_t predictors = 1;          // t
    bool intercept = true;           // theta's first row belongs to x_0 = 1
    bool hessian = true;
};

// A ridge penalty on multiples of the coefficients: theta is penalised, scale * theta is what x is multiplied by.
struct Ridge {
    double l2 = 1.0;                // above 0
    const double* scale = nullptr;  // (d, t); null: 1
    bool symmetric = false;         // every class has its predictor; else that of the last one is pinned at 0
};

// Steps along rows, one after another.
struct Steps {
    const index_t* order = nullptr;  // (count,), the rows in the order in which they are visited
    index_t count = 0;
    index_t rows = 1;               // to a step
    index_t first = 0;              // the number of the first step
    double step = 1.0, decay = 0.0, power = 1.0;  // a step's size is step / (1 + decay * number) ^ power
    double l2 = 0.0;                // pulls all but the intercepts towards 0
    const double* theta = nullptr;  // (p, t), where the walk starts
    index_t predictors = 1;         // t
    index_t classes = 1;            // that codes must be of
    bool intercept = true;          // theta's first row belongs to x_0 = 1
};

// Where a walk has led.
struct Walked {
    double *theta = nullptr, *sum = nullptr;  // (p, t), the last theta, and the sum of theta over all steps
    // Of descend (5,): value, weight, slopes, steps, finite; of correct (3,): mistakes, overflow, loss.
    double* totals = nullptr;
};

// What to make of the joint log-probabilities of a row and each class, and where the results go.
struct Reading {
    enum What : int { joint, log_posterior, posterior, evidence, best };
    What what = joint;
    index_t classes = 1;            // k
    double temperature = 1.0;       // of the posterior: proportional to p(x, y)^(1 / temperature)
    const double* prior = nullptr;  // (k,), the posterior of a row that no class can have produced
    double* numbers = nullptr;      // (rows, k), or (rows,) for the evidence
    index_t* codes = nullptr;       // (rows,), for the best class alone
};

// Scores that are sums over the features: of x, or of whether x lies above a threshold.
struct Linear {
    const double* coef = nullptr;       // (k, d)
    const double* intercept = nullptr;  // (k,), -inf for a class that is impossible
    const double* missing = nullptr;    // (k, d), what a NaN adds; null: NaN is an offence
    bool presence = false;              // whether x counts as 1 above the threshold and 0 below
    double threshold = 0.0;
};

// Fits around queries, from rows weighted by their distance |x - query| / bandwidth.
struct Local {
    enum Shape : int { gaussian, epanechnikov, tricube, uniform };
    Shape shape = gaussian;
    double bandwidth = 1.0;
    int degree = 1;                     // of the polynomial, 0 to 2
    const double* targets = nullptr;    // (rows, t), from row `begin`
    index_t width = 1;                  // t
    const index_t* left_out = nullptr;  // (queries,), the row that each query does without, or -1; null: none
    const double* theta = nullptr;      // (queries, p), where Bernoulli likelihoods are wanted; null: products with y
};

// The sums of local fits, one for each query, about its nearest row: of w f f' with the local design f, of w f (y - its
// y) or w f (y - mean), and of w k f f' for a kernel k. The sums come zeroed.
struct LocalSums {
    index_t parameters = 1;      // p, the length of f
    index_t* nearest = nullptr;  // (queries,), -1 where no row weighs anything
    double* shift = nullptr;     // (queries, d), from the query to its nearest row, in bandwidths
    double* products = nullptr;  // (queries, p, p)
    double* targets = nullptr;   // (queries, p, t)
    double* squares = nullptr;   // (queries, p, p); null where not asked for
    double* value = nullptr;     // (queries,), the log-likelihood
};

// Binned rows of an additive model, with the linear predictors of each.
struct AdditiveRows {
    enum Family : int { gaussian, bernoulli, tweedie, softmax };  // tweedie: a log link, variance mean^power
    Family family = gaussian;
    double power = 0.0;
    index_t rows = 0, predictors = 1;           // n, t
    index_t held_begin = 0, held_end = 0;       // rows that are not learned
    const double* target = nullptr;             // (n,); softmax: the code of the class
    const double* weight = nullptr;             // (n,); null: 1
    double* scores = nullptr;                   // (n, t)
};

// The cell of each row: that of the bin of one column, or the sum of two.
struct TermCells {
    const std::uint8_t *left = nullptr, *right = nullptr;  // (n,), bins; right is null for one column
    const std::int32_t *left_cell = nullptr, *right_cell = nullptr;  // (256,), by bin
};

// Cells of a term: (height, width), width 1 for one column.
struct TermShape {
    index_t height = 1, width = 1;
    bool left_ordered = true, right_ordered = true;    // neighbouring bins are alike; else every bin is drawn to 0
    bool left_missing = false, right_missing = false;  // whether bin 0 of an ordered column holds missing cells
    int monotone = 0;                                  // 1: rises; -1: falls
    const double* line = nullptr;                      // (height,), where values are on a straight line; null: a curve
};

// The values of a term, (cells, t), and their change; the variance of each, degrees of freedom and roughness, (t,), if
// asked for.
struct Smoothed {
    double *values = nullptr, *change = nullptr, *variance = nullptr, *freedom = nullptr, *roughness = nullptr;
};

// One value that must not be there. `what` is a word the Python side turns into a sentence.
struct Offence : std::exception {
    std::string text;
    Offence(const char* what, index_t row, index_t col, double value);
    const char* what() const noexcept override { return text.c_str(); }
};
[[noreturn]] void offend(const char* what, index_t row, index_t col, double value);

// Every array of sums comes zeroed; those of a reading come as they are. `cells` is null where NaN must not be; else a cell that is NaN is skipped, the kernel
// returns whether there was one, and if so `cells` (k, d) holds the weight of the rows in which each cell is known.
struct Kernels {
    const char* name;
    bool (*runs_here)();
    void (*check_sparse)(const Features&);
    void (*class_weights)(const Rows&, index_t k, double* weights);
    bool (*event_counts)(const Rows&, index_t k, double* weights, double* counts, double* cells);
    bool (*presence_counts)(const Rows&, index_t k, double threshold, double* weights, double* counts, double* cells);
    void (*category_counts)(const Rows&, index_t k, const index_t* sizes, bool missing, double* weights,
                            double* counts);
    bool (*diagonal_moments)(const Rows&, index_t k, double* weights, double* mean, double* spread, double* cells);
    void (*scatter)(const Rows&, const Features* targets, index_t k, bool tied, double* weights, double* mean,
                    double* spread);
    void (*curvature)(const Rows&, const Model&, double* weight_and_value, double* gradient, double* hessian);
    double (*cholesky)(index_t q, double least, double* a);
    void (*cholesky_solve)(index_t q, index_t r, const double* l, double* b);
    index_t (*coordinate_descent)(index_t q, const double* a, const double* b, const double* l1, double tol,
                                  index_t most, double* theta);
    void (*descend)(const Rows&, const Model&, const Steps&, const Walked&);
    void (*correct)(const Rows&, const Steps&, const Walked&);
    void (*dual_ascent)(const Rows&, const Model&, const Ridge&, index_t most, double gap, std::uint64_t seed,
                        double* p, double* theta, double* totals);
    void (*linear_scores)(const Rows&, const Linear&, const Reading&);
    void (*diagonal_scores)(const Rows&, const double* mean, const double* variance, const double* intercept,
                            const Reading&);
    void (*quadratic_scores)(const Rows&, const double* mean, const double* whitener, const double* intercept,
                             const Reading&);
    void (*category_scores)(const Rows&, const double* tables, const index_t* sizes, const double* intercept,
                            const Reading&);
    void (*read_scores)(const Rows& scores, const Reading&);
    void (*local_sums)(const Rows& queries, const Rows& rows, const Local&, const LocalSums&);
    void (*additive_step)(const AdditiveRows&, index_t begin, index_t end, const TermCells* moved, const double* change,
                          const TermCells* next, double* gradient, double* curvature);
    void (*additive_gradient)(const AdditiveRows&, index_t begin, index_t end, double* gradient, double* curvature);
    double (*additive_loss)(const AdditiveRows&, index_t begin, index_t end);
    double (*interaction_gain)(index_t rows, index_t t, const double* gradient, const double* curvature,
                               const TermCells&, index_t height, index_t width, double ridge);
    void (*smooth_term)(const TermShape&, index_t t, const double* gradient, const double* curvature,
                        const double* penalty, bool bounded, const Smoothed&);
    void (*additive_cycle)(const AdditiveRows&, index_t terms, const TermCells*, const TermShape*, const index_t* first,
                           const double* penalty, bool bounded, const Smoothed&);
};

// The fastest kernels that run on this machine, or those of the named instruction set; null where there are none.
const Kernels* kernels(const char* instruction_set);

}  // namespace suffice
