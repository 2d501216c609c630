// Log-densities of Gaussian classes: one variance per feature, or a whole covariance.
#pragma once

#include "posterior.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// squares (kStrip) += the sum over j of ((lanes[j] - mean[j]) * scale[j])^2, where seen[j] is 1: all with no seen.
template <bool gaps>
void add_squares(index_t width, const double* lanes, const double* seen, const double* mean, const double* scale,
                 double* squares) {
    constexpr int vectors = 4;
    static_assert(kStrip % (vectors * kVector) == 0);
    for (index_t r = 0; r < kStrip; r += vectors * kVector) {
        Vector total[vectors];
        for (int v = 0; v < vectors; ++v) total[v] = take(squares + r + v * kVector);
        for (index_t j = 0; j < width; ++j) {
            const Vector centre = every(mean[j]);
            for (int v = 0; v < vectors; ++v) {
                const index_t at = j * kStrip + r + v * kVector;
                Vector z = scale[j] * (take(lanes + at) - centre);
                if (gaps) z = z * take(seen + at);
                total[v] = total[v] + z * z;
            }
        }
        for (int v = 0; v < vectors; ++v) put(squares + r + v * kVector, total[v]);
    }
}

class DiagonalGaussian {
public:
    DiagonalGaussian(const Rows& rows, const double* mean, const double* variance, const double* intercept,
                     const Reading& reading)
        : rows_(rows), mean_(mean), k_(reading.classes), d_(rows.x.cols), strips_(rows),
          scores_(rows, reading, intercept), scale_(k_, d_), log_norm_(k_, d_), squares_(k_, kStrip) {
        for (index_t c = 0; c < k_; ++c) {
            for (index_t i = c * d_; i < (c + 1) * d_; ++i) {
                scale_[i] = std::sqrt(0.5) / std::sqrt(variance[i]);  // 1 / (2 variance) may overflow
                log_norm_[i] = 0.5 * (1.8378770664093453 + std::log(variance[i]));  // log(2 pi variance) / 2
                scores_.raise(c, -log_norm_[i]);
            }
        }
    }

    void run() {
        each_strip(rows_, [&](index_t first, index_t count) {
            strips_.move(first, count);
            scores_.start();
            sum_squares<false>();
            if (any_not_finite(squares_, k_ * kStrip)) {
                sum_squares<true>();
                // Then cells are infinite, or a row is so far off that its squares overflow.
                if (any_not_finite(squares_, k_ * kStrip)) blame_rows(rows_, first, count, true);
            }
            double* scores = scores_.of_class(0);
            for (index_t i = 0; i < k_ * kStrip; ++i) scores[i] -= squares_[i];
            scores_.read(first, count);
        });
    }

private:
    // With gaps, a missing cell adds nothing and takes back what the class started from for it.
    template <bool gaps>
    void sum_squares() {
        for (index_t i = 0; i < k_ * kStrip; ++i) squares_[i] = 0.0;
        strips_.each_chunk([&](index_t j, index_t width, double* lanes) {
            if (gaps) {
                for (index_t i = 0; i < width * kStrip; ++i) {
                    absent_[i] = lanes[i] == lanes[i] ? 0.0 : 1.0;
                    seen_[i] = 1.0 - absent_[i];
                    lanes[i] = lanes[i] == lanes[i] ? lanes[i] : 0.0;
                }
                add_lanes_product(k_, width, log_norm_ + j, d_, absent_, scores_.of_class(0));
            }
            for (index_t c = 0; c < k_; ++c) {
                add_squares<gaps>(width, lanes, seen_, mean_ + c * d_ + j, scale_ + c * d_ + j, squares_ + c * kStrip);
            }
        });
    }

    const Rows& rows_;
    const double* mean_;
    const index_t k_, d_;
    Strips strips_;
    Scores scores_;
    Buffer<double> scale_, log_norm_, squares_;
    alignas(64) double seen_[kChunk * kStrip], absent_[kChunk * kStrip];
};

// squares (a group of rows) += the sum over h of (sum over l < length of panel[l][h] * rows[l])^2.
template <int height>
void add_panel_squares(const double* panel, const double* rows, index_t length, double* squares) {
    constexpr int vectors = 2;
    Vector tile[height][vectors];
    for (int h = 0; h < height; ++h) {
        for (int v = 0; v < vectors; ++v) tile[h][v] = Vector{};
    }
    for (index_t l = 0; l < length; ++l) {
        const Vector one = take(rows + l * vectors * kVector), two = take(rows + l * vectors * kVector + kVector);
        for (int h = 0; h < height; ++h) {
            tile[h][0] = tile[h][0] + panel[l * height + h] * one;
            tile[h][1] = tile[h][1] + panel[l * height + h] * two;
        }
    }
    for (int v = 0; v < vectors; ++v) {
        Vector total = take(squares + v * kVector);
        for (int h = 0; h < height; ++h) total = total + tile[h][v] * tile[h][v];
        put(squares + v * kVector, total);
    }
}

// Whiteners are packed into panels of a few of their rows, column by column and without what lies above the diagonal.
class FullGaussian {
public:
    FullGaussian(const Rows& rows, const double* mean, const double* whitener, const double* intercept,
                 const Reading& reading)
        : rows_(rows), mean_(mean), k_(reading.classes), d_(rows.x.cols), strips_(rows),
          scores_(rows, reading, intercept), packed_size_(for_panels([](index_t, index_t, index_t) {})),
          packed_(k_, packed_size_), lanes_(d_, kStrip), centred_(d_, kStrip) {
        for (index_t c = 0; c < k_; ++c) {
            const double* from = whitener + c * d_ * d_;
            double* to = packed_ + c * packed_size_;
            for_panels([&](index_t first, index_t height, index_t at) {
                for (index_t h = 0; h < height; ++h) {
                    for (index_t l = 0; l <= first + h; ++l) to[at + l * height + h] = from[(first + h) * d_ + l];
                }
            });
        }
    }

    void run() {
        each_strip(rows_, [&](index_t first, index_t count) {
            strips_.move(first, count);
            strips_.turn_features(0, d_, lanes_);
            scores_.start();
            for (index_t c = 0; c < k_; ++c) add_distances(c);
            if (!scores_.finite()) {
                blame_rows(rows_, first, count, false);
                // Otherwise a row is so far off that its distance overflows.
                double* scores = scores_.of_class(0);
                for (index_t i = 0; i < k_ * kStrip; ++i) scores[i] = scores[i] == scores[i] ? scores[i] : kImpossible;
            }
            scores_.read(first, count);
        });
    }

private:
    // Tiles of this height and a group's width keep two multipliers busy and fit in the registers.
    static constexpr index_t kTall = kVector == 8 ? 8 : 4;
    static constexpr index_t kGroup = 2 * kVector;

    // Calls act(first row, height, place) for each panel; returns the size of all.
    template <class Act>
    index_t for_panels(Act&& act) const {
        index_t at = 0;
        for (index_t first = 0, height = kTall; first < d_; first += height) {
            while (first + height > d_) height /= 2;
            act(first, height, at);
            at += (first + height) * height;
        }
        return at;
    }

    void add_distances(index_t c) {
        for (index_t group = 0; group < kStrip / kGroup; ++group) {
            for (index_t j = 0; j < d_; ++j) {
                const double* from = lanes_ + j * kStrip + group * kGroup;
                double* to = centred_ + (group * d_ + j) * kGroup;
                for (index_t r = 0; r < kGroup; ++r) to[r] = from[r] - mean_[c * d_ + j];
            }
        }
        double squares[kStrip] = {};
        const double* packed = packed_ + c * packed_size_;
        for_panels([&](index_t first, index_t height, index_t at) {
            for (index_t group = 0; group < kStrip / kGroup; ++group) {
                const double* rows = centred_ + group * d_ * kGroup;
                double* to = squares + group * kGroup;
                switch (height) {
                    case 8: add_panel_squares<8>(packed + at, rows, first + 8, to); break;
                    case 4: add_panel_squares<4>(packed + at, rows, first + 4, to); break;
                    case 2: add_panel_squares<2>(packed + at, rows, first + 2, to); break;
                    default: add_panel_squares<1>(packed + at, rows, first + 1, to); break;
                }
            }
        });
        double* scores = scores_.of_class(c);
        for (index_t r = 0; r < kStrip; ++r) scores[r] -= 0.5 * squares[r];
    }

    const Rows& rows_;
    const double* mean_;
    const index_t k_, d_;
    Strips strips_;
    Scores scores_;
    const index_t packed_size_;  // of one class
    Buffer<double> packed_, lanes_, centred_;
};

inline void diagonal_scores(const Rows& rows, const double* mean, const double* variance, const double* intercept,
                            const Reading& reading) {
    DiagonalGaussian(rows, mean, variance, intercept, reading).run();
}

inline void quadratic_scores(const Rows& rows, const double* mean, const double* whitener, const double* intercept,
                             const Reading& reading) {
    FullGaussian(rows, mean, whitener, intercept, reading).run();
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
