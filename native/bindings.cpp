// The one file that knows Python: arrays in, sums out, the interpreter lock released in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include "additive_bindings.hpp"
#include "checked.hpp"
#include "kernels.hpp"
#include "mail_bindings.hpp"
#include "row_bindings.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using namespace suffice;

namespace {

using Any = nb::ndarray<nb::ro, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double>;

const Kernels* active = nullptr;

Type type_of(const Any& array, const char* name) {
    const nb::dlpack::dtype type = array.dtype();
    const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
    using Kind = nb::dlpack::dtype_code;
    if (type.lanes == 1 && code == Kind::Float && type.bits == 64) return Type::f64;
    if (type.lanes == 1 && code == Kind::Float && type.bits == 32) return Type::f32;
    if (type.lanes == 1 && code == Kind::Bool) return Type::u8;
    if (type.lanes == 1 && (code == Kind::Int || code == Kind::UInt)) {
        const bool sign = code == Kind::Int;
        switch (type.bits) {
            case 64: return sign ? Type::i64 : Type::u64;
            case 32: return sign ? Type::i32 : Type::u32;
            case 16: return sign ? Type::i16 : Type::u16;
            case 8: return sign ? Type::i8 : Type::u8;
            default: break;
        }
    }
    throw nb::type_error((std::string(name) + " has a type the kernels do not read").c_str());
}

// Above this, no machine holds a number for each column; below it, a few more columns cannot overflow an index.
constexpr index_t kMostColumns = index_t(1) << 56;

void check_columns(index_t columns) {
    if (columns < 0) throw nb::value_error("x must not have a negative number of columns");
    if (columns > kMostColumns) throw nb::value_error("x has more columns than any machine holds a number for each of");
}

Features dense(const Any& array, const char* name) {
    if (array.ndim() != 2) throw nb::value_error((std::string(name) + " must be two-dimensional").c_str());
    Features x;
    x.rows = static_cast<index_t>(array.shape(0));
    x.cols = static_cast<index_t>(array.shape(1));
    check_columns(x.cols);
    x.type = type_of(array, name);
    x.data = array.data();
    x.row_stride = array.stride(0);
    x.col_stride = array.stride(1);
    return x;
}

void check_part(const Any& part) {
    if (part.ndim() != 1 || (part.shape(0) > 1 && part.stride(0) != 1)) {
        throw nb::value_error("the arrays of CSR must be one-dimensional and contiguous");
    }
}

// CSR without its values, of which `stored` are there.
Features pattern(const Any& indices, const Any& indptr, index_t columns, std::size_t stored) {
    check_part(indices);
    check_part(indptr);
    const Type index = type_of(indices, "indices");
    if (index != type_of(indptr, "indptr") || (index != Type::i32 && index != Type::i64)) {
        throw nb::type_error("indices and indptr of CSR must both be int32 or both int64");
    }
    if (indptr.shape(0) == 0) throw nb::value_error("indptr of CSR must have one entry more than there are rows");
    Features x;
    x.rows = static_cast<index_t>(indptr.shape(0)) - 1;
    x.cols = columns;
    check_columns(x.cols);
    x.sparse = true;
    x.wide = index == Type::i64;
    x.indptr = indptr.data();
    x.indices = indices.data();
    x.stored = static_cast<index_t>(indices.shape(0) < stored ? indices.shape(0) : stored);
    return x;
}

Features sparse(const nb::tuple& parts) {
    if (parts.size() != 4) throw nb::value_error("CSR must come as (data, indices, indptr, columns)");
    const auto data = nb::cast<Any>(parts[0]);
    check_part(data);
    Features x = pattern(nb::cast<Any>(parts[1]), nb::cast<Any>(parts[2]), nb::cast<index_t>(parts[3]), data.shape(0));
    x.type = type_of(data, "data");
    x.data = data.data();
    return x;
}

// x is an array, or CSR as (data, indices, indptr, columns); codes and weights belong to the rows begin to end - 1.
Rows rows_of(const nb::object& x, const std::optional<Codes>& codes, const std::optional<Doubles>& weight,
             index_t begin, index_t end) {
    Rows rows;
    rows.x = nb::isinstance<nb::tuple>(x) ? sparse(nb::cast<nb::tuple>(x)) : dense(nb::cast<Any>(x), "x");
    rows.begin = begin;
    rows.end = end;
    if (!(0 <= begin && begin <= end && end <= rows.x.rows)) throw nb::index_error("rows are out of range");
    const auto count = static_cast<std::size_t>(end - begin);
    if (codes && codes->size() != count) throw nb::value_error("y must have one code per row");
    if (weight && weight->size() != count) throw nb::value_error("weight must have one entry per row");
    rows.code = codes ? codes->data() : nullptr;
    rows.weight = weight ? weight->data() : nullptr;
    return rows;
}

// A zeroed NumPy array.
Result zeros(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t length : shape) size = checked_product(size, length);
    auto* data = static_cast<double*>(std::calloc(size > 0 ? size : 1, sizeof(double)));
    if (data == nullptr) throw std::bad_alloc();
    nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
    return Result(data, shape, owner);
}

template <class Work>
void unlocked(Work&& work) {
    nb::gil_scoped_release release;
    work();
}

void check_classes(index_t k) {
    if (k < 1) throw nb::value_error("classes must be at least 1");
}

using MaybeCodes = std::optional<Codes>;
using MaybeDoubles = std::optional<Doubles>;

nb::object class_weights(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    Result weights = zeros({std::size_t(k)});
    unlocked([&] { active->class_weights(rows, k, weights.data()); });
    return nb::cast(weights);
}

// The weight of the rows in which each cell is known: what kernels that may skip missing cells return last.
struct Cells {
    Cells(const Rows& rows, index_t k, bool missing)
        : classes(std::size_t(k)), missing(missing), known(zeros({classes, missing ? std::size_t(rows.x.cols) : 0})) {}

    double* data() { return missing ? known.data() : nullptr; }

    // The sums, and the cells after them if they were asked for: (k, 0) where none is missing.
    nb::tuple after(const nb::tuple& sums) {
        if (!missing) return sums;
        return nb::steal<nb::tuple>((sums + nb::make_tuple(found ? known : zeros({classes, 0}))).release());
    }

    std::size_t classes;
    bool missing;
    Result known;
    bool found = false;
};

nb::tuple event_counts(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k,
                       bool missing) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    Result weights = zeros({std::size_t(k)}), counts = zeros({std::size_t(k), std::size_t(rows.x.cols)});
    Cells cells(rows, k, missing);
    unlocked([&] { cells.found = active->event_counts(rows, k, weights.data(), counts.data(), cells.data()); });
    return cells.after(nb::make_tuple(weights, counts));
}

nb::tuple presence_counts(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k,
                          bool missing, double threshold) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    Result weights = zeros({std::size_t(k)}), counts = zeros({std::size_t(k), std::size_t(rows.x.cols)});
    Cells cells(rows, k, missing);
    unlocked([&] {
        cells.found = active->presence_counts(rows, k, threshold, weights.data(), counts.data(), cells.data());
    });
    return cells.after(nb::make_tuple(weights, counts));
}

// Refuses CSR whose indices and row ends do not fit its columns and the number of its stored values.
void check_csr(Any indices, Any indptr, index_t columns, std::size_t stored) {
    const Features x = pattern(indices, indptr, columns, stored);
    unlocked([&] { active->check_sparse(x); });
}

// The number of categories of all features.
index_t height_of(const std::vector<index_t>& sizes, index_t features) {
    if (static_cast<index_t>(sizes.size()) != features) throw nb::value_error("sizes must name every feature");
    index_t height = 0;
    for (const index_t size : sizes) {
        if (size < 0) throw nb::value_error("sizes must not be negative");
        height = checked_sum(height, size);
    }
    return height;
}

nb::tuple category_counts(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k,
                          bool missing, std::vector<index_t> sizes) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    const index_t width = height_of(sizes, rows.x.cols);
    Result weights = zeros({std::size_t(k)}), counts = zeros({std::size_t(k), std::size_t(width)});
    unlocked([&] { active->category_counts(rows, k, sizes.data(), missing, weights.data(), counts.data()); });
    return nb::make_tuple(weights, counts);
}

nb::tuple diagonal_moments(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k,
                           bool missing) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    const std::size_t d = std::size_t(rows.x.cols), classes = std::size_t(k);
    Result weights = zeros({classes}), mean = zeros({classes, d}), spread = zeros({classes, d});
    Cells cells(rows, k, missing);
    unlocked([&] {
        cells.found = active->diagonal_moments(rows, k, weights.data(), mean.data(), spread.data(), cells.data());
    });
    return cells.after(nb::make_tuple(weights, mean, spread));
}

nb::tuple scatter(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t k, bool tied,
                  std::optional<Any> targets) {
    check_classes(k);
    const Rows rows = rows_of(x, y, w, begin, end);
    Features extra;
    if (targets) {
        extra = dense(*targets, "targets");
        if (extra.rows != end - begin) throw nb::value_error("targets must have one row per row");
    }
    const std::size_t p = std::size_t(rows.x.cols + extra.cols), classes = std::size_t(k);
    if (p > 46340) throw nb::value_error("more than 46,340 features have no scatter that fits in memory");
    Result weights = zeros({classes}), mean = zeros({classes, p});
    Result spread = tied ? zeros({p, p}) : zeros({classes, p, p});
    unlocked([&] {
        active->scatter(rows, targets ? &extra : nullptr, k, tied, weights.data(), mean.data(), spread.data());
    });
    return nb::make_tuple(weights, mean, spread);
}

// The rows' targets, offsets and family; theta is (p, t).
Model model_of(const Rows& rows, int family, double power, const MaybeCodes& y, const MaybeDoubles& target,
               const MaybeDoubles& offset, const Doubles& theta, bool intercept) {
    Model model;
    if (family < Model::gaussian || family > Model::tweedie_log) throw nb::value_error("no such family");
    model.family = static_cast<Model::Family>(family);
    if (model.family == Model::tweedie_log && !(power > 1.0 && power < 2.0)) {
        throw nb::value_error("power must be above 1 and below 2");
    }
    model.power = power;
    if (theta.ndim() != 2 || static_cast<index_t>(theta.shape(0)) != rows.x.cols + (intercept ? 1 : 0)) {
        throw nb::value_error("theta must have one row per feature, and one for the intercept");
    }
    const std::size_t t = theta.shape(1), count = std::size_t(rows.end - rows.begin);
    const bool many = model.family == Model::softmax;
    if (t < 1 || (!many && t != 1)) throw nb::value_error("theta must have one column per predictor");
    if (many ? !y : !target || target->size() != count) throw nb::value_error("y must have one target per row");
    if (offset && offset->size() != checked_product(count, t)) {
        throw nb::value_error("offset must have one entry per row and predictor");
    }
    model.target = many ? nullptr : target->data();
    model.offset = offset ? offset->data() : nullptr;
    model.theta = theta.data();
    model.predictors = static_cast<index_t>(t);
    model.intercept = intercept;
    return model;
}

bool all_finite(const Result& numbers) {
    double rest = 0.0;
    for (std::size_t i = 0; i < numbers.size(); ++i) rest += numbers.data()[i] - numbers.data()[i];
    return rest == 0.0;
}

nb::tuple curvature(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, int family, double power,
                    double slope_share, MaybeDoubles target, MaybeDoubles offset, Doubles theta, bool intercept,
                    bool hessian) {
    const Rows rows = rows_of(x, y, w, begin, end);
    Model model = model_of(rows, family, power, y, target, offset, theta, intercept);
    if (model.predictors > 1 && slope_share != 0.0) throw nb::value_error("slope_share is for one predictor");
    model.slope_share = slope_share;
    const std::size_t p = theta.shape(0), t = theta.shape(1);
    if (hessian && checked_product(p, t) > 46340) {
        throw nb::value_error("more than 46,340 parameters have no Hessian that fits in memory");
    }
    model.hessian = hessian;
    const std::size_t side = hessian ? p * t : 0;
    Result totals = zeros({2}), gradient = zeros({p, t}), curve = zeros({side, side});
    bool finite = true;
    unlocked([&] {
        active->curvature(rows, model, totals.data(), gradient.data(), curve.data());
        finite = all_finite(totals) && all_finite(gradient) && all_finite(curve);
    });
    return nb::make_tuple(totals, gradient, curve, finite);
}

using Moved = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// The scale of each column of a, (q, q), the root of its diagonal; the factor of a with columns and rows divided by it;
// and the smallest pivot, at most `least` or NaN where there is no factor.
nb::tuple scaled_cholesky(Doubles a, double least) {
    if (a.ndim() != 2 || a.shape(0) != a.shape(1)) throw nb::value_error("a must be square");
    const std::size_t q = a.shape(0);
    Result scale = zeros({q}), factor = zeros({q, q});
    double smallest = 0.0;
    unlocked([&] {
        const double* from = a.data();
        for (std::size_t i = 0; i < q; ++i) scale.data()[i] = std::sqrt(from[i * q + i]);
        for (std::size_t i = 0; i < q; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                factor.data()[i * q + j] = from[i * q + j] / scale.data()[j] / scale.data()[i];
            }
        }
        smallest = active->cholesky(static_cast<index_t>(q), least, factor.data());
    });
    return nb::make_tuple(scale, factor, smallest);
}

// b, (r, q), is turned into the solutions in place, a row for each.
void cholesky_solve(Doubles factor, Moved b) {
    if (factor.ndim() != 2 || factor.shape(0) != factor.shape(1) || b.ndim() != 2 || b.shape(1) != factor.shape(0)) {
        throw nb::value_error("b must have a column for each row of the factor");
    }
    unlocked([&] {
        active->cholesky_solve(static_cast<index_t>(b.shape(1)), static_cast<index_t>(b.shape(0)), factor.data(),
                               b.data());
    });
}

// theta, (q,), is moved in place; returns how often all coordinates were gone through.
index_t coordinate_descent(Doubles a, Doubles b, Doubles l1,
                           nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> theta, double tol,
                           index_t most) {
    const std::size_t q = theta.size();
    if (a.size() != checked_product(q, q) || b.size() != q || l1.size() != q) throw nb::value_error("a, b and l1 must fit theta");
    index_t rounds = 0;
    unlocked([&] {
        rounds = active->coordinate_descent(static_cast<index_t>(q), a.data(), b.data(), l1.data(), tol, most,
                                            theta.data());
    });
    return rounds;
}

// A walk over rows from theta, (p, t). `order` holds rows from begin to end - 1.
struct Journey {
    Journey(const Rows& rows, const Doubles& start, bool intercept, const Codes& order, std::size_t totals)
        : theta(zeros({start.shape(0), start.shape(1)})), sum(zeros({start.shape(0), start.shape(1)})),
          totals(zeros({totals})), walked{theta.data(), sum.data(), this->totals.data()} {
        steps.order = order.data();
        steps.count = static_cast<index_t>(order.size());
        for (index_t at = 0; at < steps.count; ++at) {
            if (steps.order[at] < rows.begin || steps.order[at] >= rows.end) throw nb::index_error("no such row");
        }
        steps.theta = start.data();
        steps.predictors = static_cast<index_t>(start.shape(1));
        steps.intercept = intercept;
    }

    Result theta, sum, totals;
    Steps steps;
    Walked walked;
};

// The pace comes as (step, decay, power, first step, rows to a step).
nb::tuple descend(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, int family, double power,
                  MaybeDoubles target, MaybeDoubles offset, Doubles theta, bool intercept, Codes order,
                  std::tuple<double, double, double, index_t, index_t> pace, double l2) {
    const Rows rows = rows_of(x, y, w, begin, end);
    const Model model = model_of(rows, family, power, y, target, offset, theta, intercept);
    Journey journey(rows, theta, intercept, order, 5);
    Steps& steps = journey.steps;
    std::tie(steps.step, steps.decay, steps.power, steps.first, steps.rows) = pace;
    if (steps.rows < 1) throw nb::value_error("a step must have at least one row");
    if (steps.rows > steps.count) steps.rows = steps.count > 0 ? steps.count : 1;  // sums of places must not overflow
    steps.l2 = l2;
    steps.classes = model.predictors + 1;
    unlocked([&] { active->descend(rows, model, steps, journey.walked); });
    return nb::make_tuple(journey.theta, journey.sum, journey.totals);
}

nb::tuple correct(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, index_t classes,
                  Doubles theta, bool intercept, Codes order, double step) {
    const Rows rows = rows_of(x, y, w, begin, end);
    if (classes < 2 || !y) throw nb::value_error("there must be codes of at least two classes");
    const auto t = static_cast<std::size_t>(classes == 2 ? 1 : classes);
    if (theta.ndim() != 2 || static_cast<index_t>(theta.shape(0)) != rows.x.cols + (intercept ? 1 : 0) ||
        theta.shape(1) != t) {
        throw nb::value_error("theta does not fit x and the classes");
    }
    Journey journey(rows, theta, intercept, order, 3);
    journey.steps.step = step;
    journey.steps.classes = classes;
    unlocked([&] { active->correct(rows, journey.steps, journey.walked); });
    return nb::make_tuple(journey.theta, journey.sum, journey.totals);
}

// p, (n, k), is moved in place; returns theta, (p, t), and the rounds made and the gap left.
nb::tuple dual_ascent(nb::object x, MaybeCodes y, MaybeDoubles w, index_t begin, index_t end, int family,
                      MaybeDoubles target, MaybeDoubles offset, Doubles theta, bool intercept, MaybeDoubles scale,
                      double l2, bool symmetric, nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> p,
                      index_t most, double gap, std::uint64_t seed) {
    const Rows rows = rows_of(x, y, w, begin, end);
    const Model model = model_of(rows, family, 0.0, y, target, offset, theta, intercept);
    if (model.family != Model::bernoulli && model.family != Model::softmax) {
        throw nb::value_error("only the Bernoulli family and the softmax have this dual");
    }
    if (!(l2 > 0)) throw nb::value_error("l2 must be above 0");
    const std::size_t t = theta.shape(1), d = static_cast<std::size_t>(rows.x.cols);
    if (scale && scale->size() != checked_product(d, t)) throw nb::value_error("scale must have one entry per feature and predictor");
    if (static_cast<index_t>(p.shape(0)) != end - begin || p.shape(1) != t + (symmetric ? 0 : 1)) {
        throw nb::value_error("p must have one entry per row and class");
    }
    const Ridge ridge{l2, scale ? scale->data() : nullptr, symmetric};
    Result moved = zeros({theta.shape(0), t}), totals = zeros({2});
    unlocked([&] { active->dual_ascent(rows, model, ridge, most, gap, seed, p.data(), moved.data(), totals.data()); });
    return nb::make_tuple(moved, totals);
}

// A reading comes as (what, temperature, prior, array for the results).
Reading reading_of(const nb::tuple& parts, index_t count, std::size_t k) {
    if (parts.size() != 4) throw nb::value_error("a reading must come as (what, temperature, prior, results)");
    const int what = nb::cast<int>(parts[0]);
    if (what < Reading::joint || what > Reading::best) throw nb::value_error("no such reading");
    if (k < 1) throw nb::value_error("there must be at least one class");
    Reading reading;
    reading.what = static_cast<Reading::What>(what);
    reading.classes = static_cast<index_t>(k);
    reading.temperature = nb::cast<double>(parts[1]);
    const auto prior = nb::cast<Doubles>(parts[2], false);
    if (prior.size() != k) throw nb::value_error("prior must have one entry per class");
    reading.prior = prior.data();  // the tuple keeps it alive, and the results too
    std::size_t size = static_cast<std::size_t>(count);
    if (reading.what == Reading::best) {
        const auto codes = nb::cast<nb::ndarray<std::int64_t, nb::c_contig, nb::device::cpu>>(parts[3], false);
        reading.codes = codes.data();
        if (codes.size() != size) throw nb::value_error("results must have one entry per row");
        return reading;
    }
    const auto numbers = nb::cast<nb::ndarray<double, nb::c_contig, nb::device::cpu>>(parts[3], false);
    reading.numbers = numbers.data();
    if (reading.what != Reading::evidence) size = checked_product(size, k);
    if (numbers.size() != size) throw nb::value_error("results must have one entry per row, or per row and class");
    return reading;
}

void check_size(const Doubles& array, std::size_t size, const char* name) {
    if (array.size() != size) throw nb::value_error((std::string(name) + " does not fit x and the classes").c_str());
}

void linear_scores(nb::object x, index_t begin, index_t end, Doubles coef, Doubles intercept, MaybeDoubles missing,
                   std::optional<double> threshold, nb::tuple reading) {
    const Rows rows = rows_of(x, std::nullopt, std::nullopt, begin, end);
    const std::size_t k = intercept.size(), d = std::size_t(rows.x.cols);
    check_size(coef, checked_product(k, d), "coef");
    if (missing) check_size(*missing, checked_product(k, d), "missing");
    const Linear model{coef.data(), intercept.data(), missing ? missing->data() : nullptr, threshold.has_value(),
                       threshold.value_or(0.0)};
    const Reading read = reading_of(reading, end - begin, k);
    unlocked([&] { active->linear_scores(rows, model, read); });
}

void diagonal_scores(nb::object x, index_t begin, index_t end, Doubles mean, Doubles variance, Doubles intercept,
                     nb::tuple reading) {
    const Rows rows = rows_of(x, std::nullopt, std::nullopt, begin, end);
    const std::size_t k = intercept.size(), d = std::size_t(rows.x.cols);
    check_size(mean, checked_product(k, d), "mean");
    check_size(variance, checked_product(k, d), "variance");
    const Reading read = reading_of(reading, end - begin, k);
    unlocked([&] { active->diagonal_scores(rows, mean.data(), variance.data(), intercept.data(), read); });
}

void quadratic_scores(nb::object x, index_t begin, index_t end, Doubles mean, Doubles whitener, Doubles intercept,
                      nb::tuple reading) {
    const Rows rows = rows_of(x, std::nullopt, std::nullopt, begin, end);
    const std::size_t k = intercept.size(), d = std::size_t(rows.x.cols);
    check_size(mean, checked_product(k, d), "mean");
    check_size(whitener, checked_product(k, d, d), "whitener");
    const Reading read = reading_of(reading, end - begin, k);
    unlocked([&] { active->quadratic_scores(rows, mean.data(), whitener.data(), intercept.data(), read); });
}

void category_scores(nb::object x, index_t begin, index_t end, Doubles tables, std::vector<index_t> sizes,
                     Doubles intercept, nb::tuple reading) {
    const Rows rows = rows_of(x, std::nullopt, std::nullopt, begin, end);
    check_size(tables, checked_product(intercept.size(), std::size_t(height_of(sizes, rows.x.cols))), "tables");
    const Reading read = reading_of(reading, end - begin, intercept.size());
    unlocked([&] { active->category_scores(rows, tables.data(), sizes.data(), intercept.data(), read); });
}

void read_scores(nb::object scores, nb::tuple reading) {
    const auto array = nb::cast<Any>(scores);
    if (array.ndim() != 2) throw nb::value_error("scores must be two-dimensional");
    const auto count = static_cast<index_t>(array.shape(0));
    const Rows rows = rows_of(scores, std::nullopt, std::nullopt, 0, count);
    const Reading read = reading_of(reading, count, std::size_t(rows.x.cols));
    unlocked([&] { active->read_scores(rows, read); });
}

// Queries come as (x, begin, end, row left out of each or None), rows as (x, begin, end, weight, targets), and the fit as
// (shape, bandwidth, degree, whether squares are wanted, theta or None).
nb::tuple local_sums(nb::tuple asked, nb::tuple known, nb::tuple fit) {
    if (asked.size() != 4 || known.size() != 5 || fit.size() != 5) throw nb::value_error("local fits take three tuples");
    const auto left_out = nb::cast<std::optional<Codes>>(asked[3]);
    const auto weight = nb::cast<MaybeDoubles>(known[3]), theta = nb::cast<MaybeDoubles>(fit[4]);
    const auto targets = nb::cast<Doubles>(known[4]);
    const auto first = nb::cast<index_t>(known[1]), last = nb::cast<index_t>(known[2]);
    const Rows queries = rows_of(asked[0], std::nullopt, std::nullopt, nb::cast<index_t>(asked[1]),
                                 nb::cast<index_t>(asked[2]));
    const Rows rows = rows_of(known[0], std::nullopt, weight, first, last);
    Local local;
    const int shape = nb::cast<int>(fit[0]);
    local.bandwidth = nb::cast<double>(fit[1]);
    local.degree = nb::cast<int>(fit[2]);
    if (shape < Local::gaussian || shape > Local::uniform) throw nb::value_error("no such kernel");
    if (local.degree < 0 || local.degree > 2) throw nb::value_error("degree must be 0, 1 or 2");
    if (!(local.bandwidth > 0)) throw nb::value_error("bandwidth must be above 0");
    if (queries.x.cols != rows.x.cols) throw nb::value_error("queries and rows must have the same features");
    if (targets.ndim() != 2 || static_cast<index_t>(targets.shape(0)) != last - first) {
        throw nb::value_error("targets must have one row per row");
    }
    const std::size_t m = std::size_t(queries.end - queries.begin), d = std::size_t(rows.x.cols), t = targets.shape(1);
    const std::size_t pairs = local.degree == 2 ? checked_product(d, d + 1) / 2 : 0;
    const std::size_t p = 1 + (local.degree > 0 ? d : 0) + pairs;
    if (theta && (t != 1 || theta->size() != checked_product(m, p))) throw nb::value_error("theta must have one row per query");
    if (left_out && left_out->size() != m) throw nb::value_error("one row must be left out of each query");
    for (std::size_t i = 0; left_out && i < m; ++i) {
        const index_t row = left_out->data()[i];
        if (row != -1 && (row < first || row >= last)) throw nb::index_error("the row left out is out of range");
    }
    local.shape = static_cast<Local::Shape>(shape);
    local.targets = targets.data();
    local.width = static_cast<index_t>(t);
    local.left_out = left_out ? left_out->data() : nullptr;
    local.theta = theta ? theta->data() : nullptr;
    const bool squared = nb::cast<bool>(fit[3]);
    Result nearest = zeros({m}), shift = zeros({m, d}), value = zeros({m}), products = zeros({m, p, p});
    Result cross = zeros({m, p, t}), squares = zeros({squared ? m : 0, p, p});
    std::vector<index_t> places(m);
    const LocalSums sums{static_cast<index_t>(p), places.data(), shift.data(), products.data(), cross.data(),
                         squared ? squares.data() : nullptr, value.data()};
    unlocked([&] { active->local_sums(queries, rows, local, sums); });
    for (std::size_t i = 0; i < m; ++i) nearest.data()[i] = static_cast<double>(places[i]);
    return nb::make_tuple(nearest, shift, products, cross, squares, value);
}

std::string use(std::optional<std::string> instruction_set) {
    const Kernels* chosen = kernels(instruction_set ? instruction_set->c_str() : nullptr);
    if (chosen == nullptr) throw nb::value_error(("this machine does not run " + *instruction_set).c_str());
    active = chosen;
    active_row_kernels = row_kernels(*active);
    return active->name;
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Sums over rows, in native code. Called by suffice.kernels.native, which checks and explains.";
    active = kernels(nullptr);
    active_row_kernels = row_kernels(*active);
    bind_text(m);
    bind_mail(m);
    bind_rows(m);
    bind_additive(m, active);
    nb::set_leak_warnings(false);  // caches of Python's hold tokenisers until the process ends
    nb::exception<Offence>(m, "OffenceError", PyExc_ValueError);
    m.def("check_csr", &check_csr, nb::arg("indices"), nb::arg("indptr"), nb::arg("columns"), nb::arg("stored"));
    m.def("use", &use, nb::arg("instruction_set").none() = nb::none());
#define SUFFICE_ROWS nb::arg("x"), nb::arg("y").none(), nb::arg("weight").none(), nb::arg("begin"), nb::arg("end")
    m.def("class_weights", &class_weights, SUFFICE_ROWS, nb::arg("classes"));
    m.def("event_counts", &event_counts, SUFFICE_ROWS, nb::arg("classes"), nb::arg("missing"));
    m.def("presence_counts", &presence_counts, SUFFICE_ROWS, nb::arg("classes"), nb::arg("missing"),
          nb::arg("threshold"));
    m.def("category_counts", &category_counts, SUFFICE_ROWS, nb::arg("classes"), nb::arg("missing"), nb::arg("sizes"));
    m.def("diagonal_moments", &diagonal_moments, SUFFICE_ROWS, nb::arg("classes"), nb::arg("missing"));
    m.def("scatter", &scatter, SUFFICE_ROWS, nb::arg("classes"), nb::arg("tied"), nb::arg("targets").none());
    m.def("curvature", &curvature, SUFFICE_ROWS, nb::arg("family"), nb::arg("power"), nb::arg("slope_share"),
          nb::arg("target").none(), nb::arg("offset").none(), nb::arg("theta"), nb::arg("intercept"),
          nb::arg("hessian"));
    m.def("descend", &descend, SUFFICE_ROWS, nb::arg("family"), nb::arg("power"), nb::arg("target").none(),
          nb::arg("offset").none(), nb::arg("theta"), nb::arg("intercept"), nb::arg("order"), nb::arg("pace"),
          nb::arg("l2"));
    m.def("correct", &correct, SUFFICE_ROWS, nb::arg("classes"), nb::arg("theta"), nb::arg("intercept"),
          nb::arg("order"), nb::arg("step"));
    m.def("dual_ascent", &dual_ascent, SUFFICE_ROWS, nb::arg("family"), nb::arg("target").none(),
          nb::arg("offset").none(), nb::arg("theta"), nb::arg("intercept"), nb::arg("scale").none(), nb::arg("l2"),
          nb::arg("symmetric"), nb::arg("p").noconvert(), nb::arg("most"), nb::arg("gap"), nb::arg("seed"));
#undef SUFFICE_ROWS
    m.def("scaled_cholesky", &scaled_cholesky, nb::arg("a"), nb::arg("least"));
    m.def("cholesky_solve", &cholesky_solve, nb::arg("factor"), nb::arg("b").noconvert());
    m.def("coordinate_descent", &coordinate_descent, nb::arg("a"), nb::arg("b"), nb::arg("l1"),
          nb::arg("theta").noconvert(), nb::arg("tol"), nb::arg("most"));
#define SUFFICE_ROWS nb::arg("x"), nb::arg("begin"), nb::arg("end")
    m.def("linear_scores", &linear_scores, SUFFICE_ROWS, nb::arg("coef"), nb::arg("intercept"),
          nb::arg("missing").none(), nb::arg("threshold").none(), nb::arg("reading"));
    m.def("diagonal_scores", &diagonal_scores, SUFFICE_ROWS, nb::arg("mean"), nb::arg("variance"),
          nb::arg("intercept"), nb::arg("reading"));
    m.def("quadratic_scores", &quadratic_scores, SUFFICE_ROWS, nb::arg("mean"), nb::arg("whitener"),
          nb::arg("intercept"), nb::arg("reading"));
    m.def("category_scores", &category_scores, SUFFICE_ROWS, nb::arg("tables"), nb::arg("sizes"),
          nb::arg("intercept"), nb::arg("reading"));
    m.def("local_sums", &local_sums, nb::arg("queries"), nb::arg("rows"), nb::arg("fit"));
    m.def("read_scores", &read_scores, nb::arg("scores"), nb::arg("reading"));
#undef SUFFICE_ROWS
}
