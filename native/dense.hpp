// Small dense sums: dot products, matrix products, and the products of a block of rows with itself. Written out here,
// because a BLAS brings threads of its own, which get in the way of the engine's, and is slower on tall, narrow blocks.
#pragma once

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

constexpr index_t kLanes = 8;  // independent partial sums: they fill any vector unit, and fix the order of addition

inline double add_lanes(const double* lane) {
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

inline double sum(const double* x, index_t n) {
    double lane[kLanes] = {};
    index_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (index_t l = 0; l < kLanes; ++l) lane[l] += x[i + l];
    }
    for (; i < n; ++i) lane[0] += x[i];
    return add_lanes(lane);
}

inline double dot(const double* x, const double* y, index_t n) {
    double lane[kLanes] = {};
    index_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (index_t l = 0; l < kLanes; ++l) lane[l] += x[i + l] * y[i + l];
    }
    if (i + 4 <= n) {  // rows are often short: a chain of seven additions at their end would cost as much as the rest
        for (index_t l = 0; l < 4; ++l) lane[l] += x[i + l] * y[i + l];
        i += 4;
    }
    for (; i < n; ++i) lane[kLanes - 1] += x[i] * y[i];
    return add_lanes(lane);
}

#if defined(__AVX512F__)
constexpr int kVector = 8;
#else
constexpr int kVector = 4;
#endif

// A vector of doubles, held in one register where the machine has one that wide.
#if defined(__GNUC__) || defined(__clang__)
typedef double Vector __attribute__((vector_size(kVector * sizeof(double)), aligned(sizeof(double)), may_alias));
#else
struct Vector {
    double lane[kVector];
};
inline Vector operator+(Vector a, const Vector& b) {
    for (int l = 0; l < kVector; ++l) a.lane[l] += b.lane[l];
    return a;
}
inline Vector operator-(Vector a, const Vector& b) {
    for (int l = 0; l < kVector; ++l) a.lane[l] -= b.lane[l];
    return a;
}
inline Vector operator*(double a, Vector b) {
    for (int l = 0; l < kVector; ++l) b.lane[l] *= a;
    return b;
}
inline Vector operator*(Vector a, const Vector& b) {
    for (int l = 0; l < kVector; ++l) a.lane[l] *= b.lane[l];
    return a;
}
#endif

inline Vector every(double value) {
    double lane[kVector];
    for (int l = 0; l < kVector; ++l) lane[l] = value;
    return *reinterpret_cast<const Vector*>(lane);
}
inline Vector take(const double* from) { return *reinterpret_cast<const Vector*>(from); }
inline void put(double* to, const Vector& value) { *reinterpret_cast<Vector*>(to) = value; }

// out (height, kVector * vectors) += sum over l < length of a[h a_row + l a_step] * b[l b_step + v]: one tile of a
// matrix product, summed in registers.
template <int height, int vectors>
void add_tile(const double* a, index_t a_row, index_t a_step, const double* b, index_t b_step, index_t length,
              double* out, index_t out_row) {
    Vector tile[height][vectors];
    for (int h = 0; h < height; ++h) {
        for (int v = 0; v < vectors; ++v) tile[h][v] = Vector{};
    }
    for (index_t l = 0; l < length; ++l) {
        Vector wide[vectors];
        for (int v = 0; v < vectors; ++v) wide[v] = take(b + l * b_step + v * kVector);
        for (int h = 0; h < height; ++h) {
            const double one = a[h * a_row + l * a_step];
            for (int v = 0; v < vectors; ++v) tile[h][v] = tile[h][v] + one * wide[v];
        }
    }
    for (int h = 0; h < height; ++h) {
        for (int v = 0; v < vectors; ++v) {
            double* to = out + h * out_row + v * kVector;
            put(to, take(to) + tile[h][v]);
        }
    }
}

constexpr index_t kColumns = 8;  // b and out of add_product are padded to whole multiples of this many columns

inline index_t padded(index_t columns) { return (columns + kColumns - 1) / kColumns * kColumns; }

// out (rows, columns) += a b, with a's element (r, l) at a[r a_row + l a_step] and b (length, columns) padded.
inline void add_product(index_t rows, index_t columns, index_t length, const double* a, index_t a_row, index_t a_step,
                        const double* b, double* out) {
    const index_t wide = padded(columns);
    for (index_t c = 0; c < wide; c += kColumns) {
        index_t r = 0;
        for (; r + 4 <= rows; r += 4) {
            add_tile<4, kColumns / kVector>(a + r * a_row, a_row, a_step, b + c, wide, length, out + r * wide + c,
                                                     wide);
        }
        for (; r < rows; ++r) {
            add_tile<1, kColumns / kVector>(a + r * a_row, a_row, a_step, b + c, wide, length, out + r * wide + c,
                                                     wide);
        }
    }
}

// Copies a matrix row by row into one with padded rows, or back.
inline void repad(index_t rows, index_t columns, const double* from, index_t from_row, double* to, index_t to_row) {
    for (index_t r = 0; r < rows; ++r) {
        for (index_t c = 0; c < columns; ++c) to[r * to_row + c] = from[r * from_row + c];
    }
}

// A group of rows of p features, laid out for the products of the rows with themselves: in runs of rows that stay in
// cache, and within a run in panels of a few features, so that a tile reads memory in order. The memory of a group
// must start as zeros: the gaps behind the last feature are read, and never written.
class Panels {
public:
    explicit Panels(index_t p)
        : p_(p), width_(kVector == 8 && p > 24 ? 16 : 8), panels_((p + width_ - 1) / width_) {}

    index_t row_size() const { return panels_ * width_; }

    // Stores one of a group's rows: many(feature, to) writes a Vector of features, one(feature, to) a single one.
    template <class Many, class One>
    void store(double* group, index_t rows, index_t row, Many&& many, One&& one) const {
        const index_t start = row / kRun * kRun;
        const index_t length = rows - start < kRun ? rows - start : kRun;
        double* to = group + start * row_size() + (row - start) * width_;
        index_t j = 0;
        for (; j + width_ <= p_; j += width_, to += length * width_) {
            for (index_t l = 0; l < width_; l += kVector) many(j + l, to + l);
        }
        index_t l = 0;
        for (; j + l + kVector <= p_; l += kVector) many(j + l, to + l);
        for (; j + l < p_; ++l) one(j + l, to + l);
    }

    // c (p, p) += sign * the sum over the group's rows of row' row. Only c's upper triangle is meant.
    void add_products(const double* group, index_t rows, double sign, double* c, index_t c_row) const {
        for (index_t start = 0; start < rows; start += kRun) {
            const index_t length = rows - start < kRun ? rows - start : kRun;
            const double* run = group + start * row_size();
            for (index_t i = 0; i < panels_; ++i) {
                for (index_t j = i; j < panels_; ++j) {
                    const double *left = run + i * length * width_, *right = run + j * length * width_;
                    if (width_ == 16) {
                        add_pair<16>(left, right, length, i, j, sign, c, c_row);
                    } else {
                        add_pair<8>(left, right, length, i, j, sign, c, c_row);
                    }
                }
            }
        }
    }

private:
    static constexpr index_t kRun = 256;

    // Adds the products of the features of panel i with those of panel j.
    template <int width>
    void add_pair(const double* left, const double* right, index_t length, index_t i, index_t j, double sign, double* c,
                  index_t c_row) const {
        constexpr int height = width == 16 ? 8 : 4;
        for (index_t h = 0; h < width && i * width + h < p_; h += height) {
            double tile[height * width] = {};
            add_tile<height, width / kVector>(left + h, 1, width, right, width, length, tile, width);
            const index_t first = i * width + h, column = j * width;
            double* to = c + first * c_row + column;
            if (first + height <= p_ && column + width <= p_) {
                for (index_t a = 0; a < height; ++a) {
                    for (index_t b = 0; b < width; ++b) to[a * c_row + b] += sign * tile[a * width + b];
                }
                continue;
            }
            for (index_t a = 0; a < height && first + a < p_; ++a) {
                for (index_t b = 0; b < width && column + b < p_; ++b) to[a * c_row + b] += sign * tile[a * width + b];
            }
        }
    }

    index_t p_, width_, panels_;
};

// Copies the upper triangle onto the lower.
inline void mirror(double* c, index_t p, index_t c_row) {
    for (index_t i = 0; i < p; ++i) {
        for (index_t j = i + 1; j < p; ++j) c[j * c_row + i] = c[i * c_row + j];
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
