// Ridge-penalised logistic and softmax regression by its dual: row after row, each row's probabilities are moved to
// where they agree with the predictors that they themselves bring about.
//
// With probabilities p of every row, theta = sum over rows of w (y - p) scale x / l2. What theta falls short of the
// optimum by is at most the sum of w KL(p || softmax of the row's predictors). Every row tells its part as it is
// visited; as theta moves in between, their sum, the gap, is no bound but close to one.
#pragma once

#include <cmath>
#include <cstdint>

#include "curves.hpp"
#include "sorted_rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

// Moves the probabilities p of a row, (k,), to where p = softmax(z + q (before - p)); returns KL(before || softmax z).
class RowDual {
public:
    explicit RowDual(index_t k) : k_(k), log_(k), soft_(k), next_(k), off_(k), ease_(k) {}

    double move(const double* z, const double* q, double* p) {
        double top = z[0];
        for (index_t a = 1; a < k_; ++a) top = z[a] > top ? z[a] : top;
        double total = 0.0;
        for (index_t a = 0; a < k_; ++a) soft_[a] = exponential(z[a] - top);
        for (index_t a = 0; a < k_; ++a) total += soft_[a];
        const double level = top + std::log(total);
        double gap = 0.0;
        for (index_t a = 0; a < k_; ++a) {
            soft_[a] /= total;
            if (p[a] > 0) gap += p[a] * (std::log(p[a]) - (z[a] - level));
        }
        if (!settle(z, q, p)) creep(q, p);
        for (index_t a = 0; a < k_; ++a) p[a] = next_[a];
        return gap > 0 ? gap : gap == gap ? 0.0 : gap;
    }

private:
    // Newton's method for log p_a + q_a p_a = z_a + q_a before_a + level, sum p = 1, in the logarithms and the level.
    bool settle(const double* z, const double* q, const double* before) {
        for (index_t a = 0; a < k_; ++a) {
            const double larger = soft_[a] > before[a] ? soft_[a] : before[a];
            const double share = 1.0 / (1.0 + q[a] * larger);
            const double guess = share * soft_[a] + (1.0 - share) * before[a];
            log_[a] = std::log(guess > 1e-300 ? guess : 1e-300);
            next_[a] = guess;
        }
        double moved = 1.0;
        for (int round = 0; round < 30 && moved > 1e-6; ++round) {
            double easy = 0.0, pull = 0.0, sum = 0.0;
            for (index_t a = 0; a < k_; ++a) {
                ease_[a] = 1.0 / (1.0 + q[a] * next_[a]);
                off_[a] = log_[a] - z[a] + q[a] * (next_[a] - before[a]);
                easy += next_[a] * ease_[a];
                pull += next_[a] * ease_[a] * off_[a];
                sum += next_[a];
            }
            const double level = (1.0 - sum + pull) / easy;
            for (index_t a = 0; a < k_; ++a) {
                const double step = (level - off_[a]) * ease_[a];
                log_[a] += step > 1.0 ? 1.0 : step < -8.0 ? -8.0 : step;
            }
            moved = 0.0;
            for (index_t a = 0; a < k_; ++a) {
                const double p = exponential(log_[a]);
                const double by = std::fabs(p - next_[a]);
                moved = by > moved ? by : moved;
                next_[a] = p;
            }
        }
        double sum = 0.0;
        for (index_t a = 0; a < k_; ++a) sum += next_[a];
        for (index_t a = 0; a < k_; ++a) next_[a] /= sum;
        return moved <= 1e-3;
    }

    // A step towards the softmax, which always helps, short enough not to pass the best point on the way.
    void creep(const double* q, const double* before) {
        double stiff = 1.0;
        for (index_t a = 0; a < k_; ++a) stiff = q[a] > stiff ? q[a] : stiff;
        for (index_t a = 0; a < k_; ++a) next_[a] = before[a] + (soft_[a] - before[a]) / (1.0 + stiff);
    }

    const index_t k_;
    Buffer<double> log_, soft_, next_, off_, ease_;
};

class DualAscent {
public:
    DualAscent(const Rows& rows, const Model& model, const Ridge& ridge, double* p, double* theta)
        : rows_(rows), model_(model), ridge_(ridge), x_(rows), n_(rows.end - rows.begin), t_(model.predictors),
          k_(t_ + (ridge.symmetric ? 0 : 1)), wide_(t_ == 1 ? 1 : (t_ + 3) / 4 * 4), first_(model.intercept ? 1 : 0),
          table_(2, x_.shared(), wide_), own_(n_, t_), stiff_(n_, t_), sums_(wide_), move_(wide_), level_(t_),
          rest_(t_), ease_(t_), z_(k_), q_(k_), now_(k_), p_(p), theta_(theta), row_(k_) {
        start_intercepts();
        for (index_t j = 0; j < rows.x.cols; ++j) {
            if (x_.place(j) < 0) continue;
            Short* give = coefficients(x_.place(j)) + wide_;
            for (index_t a = 0; a < t_; ++a) give[a] = static_cast<Short>(scale(j, a) * scale(j, a) / ridge.l2);
        }
        for (index_t i = 0; i < n_; ++i) begin(i);
        for (index_t a = 0; a < t_; ++a) level_[a] += ease_[a] * rest_[a];
    }

    // Goes round until the gap is at most `gap`, and no more than `most` times. Totals: rounds, gap.
    void run(index_t most, double gap, std::uint64_t seed, double* totals) {
        Buffer<index_t> order(n_);
        for (index_t i = 0; i < n_; ++i) order[i] = i;
        while (totals[0] < most) {
            for (index_t i = n_ - 1; i > 0; --i) {
                const index_t other = static_cast<index_t>(draw(seed) % static_cast<std::uint64_t>(i + 1));
                const index_t held = order[i];
                order[i] = order[other];
                order[other] = held;
            }
            totals[0] += 1.0;
            totals[1] = round(order);
            if (!(totals[1] > gap)) break;  // or it is not a number
        }
        finish();
    }

private:
    Short* coefficients(index_t place) { return table_ + 2 * place * wide_; }  // then what a residual of 1 adds to them
    double scale(index_t j, index_t a) const { return ridge_.scale == nullptr ? 1.0 : ridge_.scale[j * t_ + a]; }
    double target(index_t i, index_t a) const {
        return rows_.code != nullptr ? (rows_.code[i] == a ? 1.0 : 0.0) : model_.target[i];
    }
    double residual(index_t i, index_t a) const { return target(i, a) - p_[i * k_ + a]; }

    static std::uint64_t draw(std::uint64_t& state) {  // splitmix64
        state += 0x9e3779b97f4a7c15ull;
        std::uint64_t x = state;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        return x ^ (x >> 31);
    }

    template <class T>
    static void ask(const T* from, index_t count) {
#if defined(__GNUC__) || defined(__clang__)
        for (index_t at = 0; at < count; at += static_cast<index_t>(64 / sizeof(T))) __builtin_prefetch(from + at, 1);
#else
        (void)from, (void)count;
#endif
    }

    // Intercepts go free. They are held to where they were before the round by a penalty, weak beside the curvature of
    // the likelihood: so they move with every residual, and nothing of the penalty is left at the end.
    void start_intercepts() {
        double all = 0.0;
        for (index_t i = 0; i < n_; ++i) {
            const double weight = weight_of(rows_, rows_.begin + i);
            if (rows_.code != nullptr) code_of(rows_, rows_.begin + i, k_);
            all += weight;
            for (index_t a = 0; a < t_; ++a) ease_[a] += weight * target(i, a);
        }
        for (index_t a = 0; a < t_; ++a) {
            const double curve = ease_[a] * (1.0 - ease_[a] / all);
            ease_[a] = first_ ? kEase / (curve > 1e-3 * all ? curve : 1e-3 * all) : 0.0;
            if (first_) level_[a] = model_.theta[a];
        }
    }

    // How far a row moves its own predictors, and the coefficients that its probabilities bring about.
    void begin(index_t i) {
        const double weight = weight_of(rows_, rows_.begin + i);
        double *own = own_ + i * t_, *stiff = stiff_ + i * t_;
        const Span mine = x_.own_of(i);
        for (index_t s = mine.first; s < mine.last; ++s) {
            if (ridge_.scale && s + kAhead < mine.last) ask(ridge_.scale + x_.column(s + kAhead) * t_, t_);
            const double size = weight * x_.value(s) * x_.value(s) / ridge_.l2;
            for (index_t a = 0; a < t_; ++a) own[a] += size * scale(x_.column(s), a) * scale(x_.column(s), a);
        }
        const Span span = x_.shared_of(i);
        for (index_t a = 0; a < wide_; ++a) sums_[a] = 0;
        for (index_t s = span.first; s < span.last; ++s) {
            if (s + kAhead < span.last) ask(coefficients(x_.column(s + kAhead)), 2 * wide_);
            const Short square = x_.value(s) * x_.value(s);
            const Short* __restrict give = coefficients(x_.column(s)) + wide_;
            Short* __restrict sums = sums_;
            for (index_t a = 0; a < wide_; ++a) sums[a] += square * give[a];
        }
        for (index_t a = 0; a < t_; ++a) {
            stiff[a] = own[a] + weight * (sums_[a] + ease_[a]);
            move_[a] = static_cast<Short>(weight * residual(i, a));
            rest_[a] += weight * residual(i, a);
        }
        add(i);
    }

    // Adds the row times move_ to the coefficients.
    void add(index_t i) {
        bool any = false;
        for (index_t a = 0; a < t_; ++a) any = any || move_[a] != 0;
        if (!any) return;
        const Span span = x_.shared_of(i);
        if (wide_ == 1) {
            for (index_t s = span.first; s < span.last; ++s) {
                Short* pair = table_ + 2 * x_.column(s);
                pair[0] += x_.value(s) * move_[0] * pair[1];
            }
            return;
        }
        const Short* __restrict move = move_;
        for (index_t s = span.first; s < span.last; ++s) {
            Short* __restrict to = coefficients(x_.column(s));
            const Short* __restrict give = to + wide_;
            const Short value = x_.value(s);
            for (index_t a = 0; a < wide_; ++a) to[a] += value * move[a] * give[a];
        }
    }

    // Puts the row's predictors into z_.
    void predict(index_t i) {
        const Span span = x_.shared_of(i);
        Short* __restrict sums = sums_;
        for (index_t a = 0; a < wide_; ++a) sums[a] = 0;
        index_t s = span.first;
        if (wide_ == 1) {
            Short lane[4] = {};  // one sum would wait for itself
            for (; s + 4 <= span.last; s += 4) {
                for (index_t l = 0; l < 4; ++l) lane[l] += x_.value(s + l) * table_[2 * x_.column(s + l)];
            }
            sums[0] = (lane[0] + lane[2]) + (lane[1] + lane[3]);
        }
        for (; s < span.last; ++s) {
            if (s + kAhead < span.last) ask(coefficients(x_.column(s + kAhead)), 2 * wide_);
            const Short* __restrict theta = coefficients(x_.column(s));
            const Short value = x_.value(s);
            for (index_t a = 0; a < wide_; ++a) sums[a] += value * theta[a];
        }
        const double* offset = model_.offset ? model_.offset + i * t_ : nullptr;
        for (index_t a = 0; a < t_; ++a) {
            z_[a] = sums[a] + level_[a] + (offset ? offset[a] : 0.0) + own_[i * t_ + a] * residual(i, a);
        }
    }

    // Visits every row once; returns the gap as the rows saw it.
    double round(const index_t* order) {
        double gap = 0.0;
        for (index_t at = 0; at < n_; ++at) {
            const double weight = weight_of(rows_, rows_.begin + order[at]);
            if (weight > 0) gap += weight * visit(order[at], weight);
        }
        for (index_t a = 0; a < t_; ++a) {
            level_[a] += ease_[a] * rest_[a];  // from here on they are held to where they are now
            gap += 0.5 * ease_[a] * rest_[a] * rest_[a];
        }
        return gap;
    }

    // Moves a row's probabilities; returns how far they were from what the predictors say.
    double visit(index_t i, double weight) {
        predict(i);
        double* p = p_ + i * k_;
        for (index_t a = 0; a < t_; ++a) q_[a] = stiff_[i * t_ + a];
        for (index_t a = 0; a < k_; ++a) now_[a] = p[a];
        const double gap = row_.move(z_, q_, now_);
        for (index_t a = 0; a < t_; ++a) {
            const double by = weight * (p[a] - now_[a]);
            move_[a] = static_cast<Short>(by);
            rest_[a] += by;
            level_[a] += ease_[a] * by;
        }
        for (index_t a = 0; a < k_; ++a) p[a] = now_[a];
        add(i);
        return gap;
    }

    // Theta from the coefficients by x, and from the residuals of rows with columns of their own.
    void finish() {
        for (index_t a = 0; first_ && a < t_; ++a) theta_[a] = level_[a];
        double* theta = theta_ + first_ * t_;
        for (index_t j = 0; j < rows_.x.cols; ++j) {
            if (x_.place(j) < 0) continue;
            const Short* from = coefficients(x_.place(j));
            for (index_t a = 0; a < t_; ++a) theta[j * t_ + a] = scale(j, a) != 0 ? from[a] / scale(j, a) : 0.0;
        }
        for (index_t i = 0; i < n_; ++i) {
            const double weight = weight_of(rows_, rows_.begin + i);
            const Span mine = x_.own_of(i);
            for (index_t s = mine.first; s < mine.last; ++s) {
                if (s + kAhead < mine.last) {
                    ask(theta + x_.column(s + kAhead) * t_, t_);
                    if (ridge_.scale) ask(ridge_.scale + x_.column(s + kAhead) * t_, t_);
                }
                const index_t j = x_.column(s);
                const double size = weight * x_.value(s) / ridge_.l2;
                for (index_t a = 0; a < t_; ++a) theta[j * t_ + a] = size * scale(j, a) * residual(i, a);
            }
        }
    }

    static constexpr index_t kAhead = 8;    // values between the one read and the one asked for
    static constexpr double kEase = 200.0;  // how weak intercepts are held, beside the curvature at the class shares

    const Rows& rows_;
    const Model& model_;
    const Ridge& ridge_;
    const SortedRows x_;
    const index_t n_, t_, k_, wide_, first_;  // k_: the classes, the last of which may be pinned at 0
    Buffer<Short> table_;                     // of the shared columns
    Buffer<double> own_, stiff_;  // (n, t): how far a residual moves its row's predictors, by own columns and by all
    Buffer<Short> sums_, move_;
    Buffer<double> level_, rest_, ease_;  // intercepts, their slopes, and by how much a residual moves them
    Buffer<double> z_, q_, now_;
    double *p_, *theta_;  // (n, k), (p, t)
    RowDual row_;
};

inline void dual_ascent(const Rows& rows, const Model& model, const Ridge& ridge, index_t most, double gap,
                        std::uint64_t seed, double* p, double* theta, double* totals) {
    DualAscent(rows, model, ridge, p, theta).run(most, gap, seed, totals);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
