// Steps of additive models as Python calls them: arrays are checked here, so that no bin leads out of an array.
#include "additive_bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace suffice;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Changed = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Bins = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CellTable = nb::ndarray<const std::int32_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;
// Bins and cells of the one or two columns of a term, and the places of its cells if its values are on a straight line.
using Columns = std::tuple<Bins, std::optional<Bins>, CellTable, std::optional<CellTable>, std::optional<Doubles>>;
// Height, width; whether the left and the right column are ordered; whether they have missing cells; monotone.
using Shape = std::tuple<index_t, index_t, bool, bool, bool, bool, int>;

const Kernels* const* in_use = nullptr;

void require(bool holds, const char* message) {
    if (!holds) throw nb::value_error(message);
}

index_t largest(const CellTable& table) {
    index_t found = 0;
    for (std::size_t bin = 0; bin < 256; ++bin) {
        const index_t cell = table.data()[bin];
        require(cell >= 0, "a cell must not be negative");
        found = cell > found ? cell : found;
    }
    return found;
}

// Terms over the same rows, whose bins lead into their cells.
struct Terms {
    Terms(index_t rows, std::vector<Columns> columns, const std::vector<Shape>& given)
        : rows(rows), columns(std::move(columns)), first(1, 0) {
        require(this->columns.size() == given.size() && !given.empty(), "there must be a shape for each term");
        for (std::size_t at = 0; at < given.size(); ++at) {
            TermShape shape;
            std::tie(shape.height, shape.width, shape.left_ordered, shape.right_ordered, shape.left_missing,
                     shape.right_missing, shape.monotone) = given[at];
            require(shape.height > 0 && shape.width > 0 && shape.height <= 256 && shape.width <= 256, "no such shape");
            require(shape.monotone == 0 || (shape.width == 1 && shape.left_ordered), "no such monotone term");
            if (const auto& line = std::get<4>(this->columns[at])) {
                require(shape.width == 1 && shape.left_ordered && line->size() == std::size_t(shape.height),
                        "a line needs an ordered column and a place for each cell");
                shape.line = line->data();
            }
            shapes.push_back(shape);
            cells.push_back(cells_of(this->columns[at], shape.height * shape.width));
            first.push_back(first.back() + shape.height * shape.width);
        }
    }

    TermCells cells_of(const Columns& given, index_t count) const {
        const auto& [left, right, left_cell, right_cell, line] = given;
        require(left.size() == std::size_t(rows), "there must be a bin for each row");
        require(right.has_value() == right_cell.has_value(), "a pair needs two columns and two tables of cells");
        TermCells found;
        found.left = left.data();
        found.left_cell = left_cell.data();
        index_t most = largest(left_cell);
        if (right) {
            require(right->size() == std::size_t(rows), "there must be a bin for each row");
            found.right = right->data();
            found.right_cell = right_cell->data();
            most += largest(*right_cell);
        }
        require(most < count, "a bin has a cell beyond those of its term");
        return found;
    }

    index_t count() const { return static_cast<index_t>(shapes.size()); }

    index_t rows;
    std::vector<Columns> columns;  // kept alive
    std::vector<TermCells> cells;
    std::vector<TermShape> shapes;
    std::vector<index_t> first;  // of the cells of each term among all
};

// Family, power, target, weight, scores and the rows held out.
using RowsGiven = std::tuple<int, double, Doubles, std::optional<Doubles>, Changed, std::tuple<index_t, index_t>>;

AdditiveRows rows_of(const RowsGiven& given) {
    const auto& [family, power, target, weight, scores, held] = given;
    require(scores.ndim() == 2 && scores.shape(1) > 0, "scores must be two-dimensional");
    AdditiveRows rows;
    rows.rows = static_cast<index_t>(scores.shape(0));
    rows.predictors = static_cast<index_t>(scores.shape(1));
    require(family >= 0 && family <= 3, "no such family");
    rows.family = static_cast<AdditiveRows::Family>(family);
    require(rows.family == AdditiveRows::softmax || rows.predictors == 1, "only softmax has several predictors");
    rows.power = power;
    require(target.size() == scores.shape(0), "there must be a target for each row");
    require(!weight || weight->size() == scores.shape(0), "there must be a weight for each row");
    std::tie(rows.held_begin, rows.held_end) = held;
    require(0 <= rows.held_begin && rows.held_begin <= rows.held_end && rows.held_end <= rows.rows, "no such rows");
    rows.target = target.data();
    rows.weight = weight ? weight->data() : nullptr;
    rows.scores = scores.data();
    return rows;
}

void check_part(const AdditiveRows& rows, index_t begin, index_t end) {
    require(0 <= begin && begin <= end && end <= rows.rows, "no such rows");
}

void check_codes(const AdditiveRows& rows, index_t begin, index_t end) {
    if (rows.family != AdditiveRows::softmax) return;
    for (index_t i = begin; i < end; ++i) {
        require(rows.target[i] >= 0 && rows.target[i] < static_cast<double>(rows.predictors), "no such class");
    }
}

void check_term(const Terms& terms, const AdditiveRows& rows, index_t at) {
    require(terms.rows == rows.rows, "terms must be of the same rows");
    require(at >= 0 && at < terms.count(), "no such term");
}

// Term `moved` changes; gradients and curvatures of term `next` are added to those given, (cells, t). -1: none.
void step(const RowsGiven& given, const Terms& terms, index_t begin, index_t end, index_t moved,
          const std::optional<Doubles>& change, index_t next, const std::optional<Changed>& gradient,
          const std::optional<Changed>& curvature) {
    const AdditiveRows rows = rows_of(given);
    check_part(rows, begin, end);
    auto size = [&](index_t at) { return std::size_t((terms.first[at + 1] - terms.first[at]) * rows.predictors); };
    if (moved >= 0) {
        check_term(terms, rows, moved);
        require(change && change->size() == size(moved), "change must fit the term");
    }
    if (next >= 0) {
        check_term(terms, rows, next);
        check_codes(rows, begin, end);
        require(gradient && curvature && gradient->size() == size(next) && curvature->size() == size(next),
                "gradient and curvature must fit the term");
    }
    nb::gil_scoped_release release;
    (*in_use)->additive_step(rows, begin, end, moved >= 0 ? &terms.cells[moved] : nullptr,
                             moved >= 0 ? change->data() : nullptr, next >= 0 ? &terms.cells[next] : nullptr,
                             next >= 0 ? gradient->data() : nullptr, next >= 0 ? curvature->data() : nullptr);
}

void gradient(const RowsGiven& given, Changed g, Changed h) {
    const AdditiveRows rows = rows_of(given);
    check_codes(rows, 0, rows.rows);
    const std::size_t size = std::size_t(rows.rows * rows.predictors);
    require(g.size() == size && h.size() == size, "gradient and curvature must fit the rows");
    nb::gil_scoped_release release;
    (*in_use)->additive_gradient(rows, 0, rows.rows, g.data(), h.data());
}

double loss(const RowsGiven& given, index_t begin, index_t end) {
    const AdditiveRows rows = rows_of(given);
    check_part(rows, begin, end);
    check_codes(rows, begin, end);
    nb::gil_scoped_release release;
    return (*in_use)->additive_loss(rows, begin, end);
}

// The gain of each term, which are pairs.
void gains(const Terms& pairs, Doubles g, Doubles h, index_t begin, index_t end, double ridge, Changed gains) {
    require(g.ndim() == 2 && h.ndim() == 2 && g.size() == h.size(), "gradient and curvature must be of the same rows");
    const index_t rows = static_cast<index_t>(g.shape(0)), t = static_cast<index_t>(g.shape(1));
    require(rows == pairs.rows, "pairs must be of the same rows");
    require(0 <= begin && begin <= end && end <= pairs.count() && gains.size() == std::size_t(pairs.count()),
            "no such pairs");
    nb::gil_scoped_release release;
    for (index_t at = begin; at < end; ++at) {
        gains.data()[at] = (*in_use)->interaction_gain(rows, t, g.data(), h.data(), pairs.cells[at],
                                                       pairs.shapes[at].height, pairs.shapes[at].width, ridge);
    }
}

// Where variances, degrees of freedom and roughness of `terms` terms are written, if they are asked for.
Smoothed smoothed(Changed& values, Changed& change, std::optional<Changed>& variance, std::optional<Changed>& freedom,
                  std::optional<Changed>& roughness, index_t cells, index_t terms, index_t t) {
    const std::size_t size = std::size_t(cells * t), each = std::size_t(terms * t);
    require(values.size() == size && change.size() == size, "values and change must fit the terms");
    Smoothed out;
    out.values = values.data();
    out.change = change.data();
    if (!variance) return out;
    require(variance->size() == size && freedom && roughness && freedom->size() == each && roughness->size() == each,
            "variance, freedom and roughness must fit the terms");
    out.variance = variance->data();
    out.freedom = freedom->data();
    out.roughness = roughness->data();
    return out;
}

// Values of one term are changed in place; freedom and roughness are added to.
void smooth(const Terms& terms, index_t at, Doubles g, Doubles h, Doubles penalty, bool bounded, Changed values,
            Changed change, std::optional<Changed> variance, std::optional<Changed> freedom,
            std::optional<Changed> roughness) {
    require(at >= 0 && at < terms.count(), "no such term");
    const index_t t = static_cast<index_t>(penalty.size()), cells = terms.first[at + 1] - terms.first[at];
    require(t > 0 && g.size() == std::size_t(cells * t) && h.size() == g.size(), "sums must fit the term");
    require(t == 1 || terms.shapes[at].monotone == 0, "a term of several predictors is not monotone");
    const Smoothed out = smoothed(values, change, variance, freedom, roughness, cells, 1, t);
    nb::gil_scoped_release release;
    (*in_use)->smooth_term(terms.shapes[at], t, g.data(), h.data(), penalty.data(), bounded, out);
}

// The same for all terms in turn, each given the others.
void cycle(const RowsGiven& given, const Terms& terms, Doubles penalty, bool bounded, Changed values, Changed change,
           std::optional<Changed> variance, std::optional<Changed> freedom, std::optional<Changed> roughness) {
    const AdditiveRows rows = rows_of(given);
    const index_t t = rows.predictors;
    check_term(terms, rows, 0);
    check_codes(rows, 0, rows.rows);
    require(penalty.size() == std::size_t(terms.count() * t), "there must be a penalty for each term");
    for (const TermShape& shape : terms.shapes) {
        require(t == 1 || shape.monotone == 0, "a term of several predictors is not monotone");
    }
    const Smoothed out = smoothed(values, change, variance, freedom, roughness, terms.first.back(), terms.count(), t);
    nb::gil_scoped_release release;
    (*in_use)->additive_cycle(rows, terms.count(), terms.cells.data(), terms.shapes.data(), terms.first.data(),
                              penalty.data(), bounded, out);
}

}  // namespace

void bind_additive(nb::module_& m, const Kernels* const& active) {
    in_use = &active;
    nb::module_ sub = m.def_submodule("additive", "Steps of additive models.");
    nb::class_<Terms>(sub, "Terms").def(nb::init<index_t, std::vector<Columns>, const std::vector<Shape>&>(),
                                        nb::arg("rows"), nb::arg("columns"), nb::arg("shapes"));
    sub.def("step", &step, nb::arg("rows").noconvert(), nb::arg("terms"), nb::arg("begin"), nb::arg("end"),
            nb::arg("moved"), nb::arg("change").none(), nb::arg("following"), nb::arg("gradient").noconvert().none(),
            nb::arg("curvature").noconvert().none());
    sub.def("gradient", &gradient, nb::arg("rows").noconvert(), nb::arg("gradient").noconvert(),
            nb::arg("curvature").noconvert());
    sub.def("loss", &loss, nb::arg("rows").noconvert(), nb::arg("begin"), nb::arg("end"));
    sub.def("gains", &gains, nb::arg("pairs"), nb::arg("gradient"), nb::arg("curvature"), nb::arg("begin"),
            nb::arg("end"), nb::arg("ridge"), nb::arg("gains").noconvert());
    sub.def("smooth", &smooth, nb::arg("terms"), nb::arg("term"), nb::arg("gradient"), nb::arg("curvature"),
            nb::arg("penalty"), nb::arg("bounded"), nb::arg("values").noconvert(), nb::arg("change").noconvert(),
            nb::arg("variance").noconvert().none(), nb::arg("freedom").noconvert().none(),
            nb::arg("roughness").noconvert().none());
    sub.def("cycle", &cycle, nb::arg("rows").noconvert(), nb::arg("terms"), nb::arg("penalty"), nb::arg("bounded"),
            nb::arg("values").noconvert(), nb::arg("change").noconvert(), nb::arg("variance").noconvert().none(),
            nb::arg("freedom").noconvert().none(), nb::arg("roughness").noconvert().none());
}
