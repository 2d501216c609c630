// What a filter remembers: counts per class and token, and the weights of a logistic regression over tokens and grams.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../checked.hpp"
#include "features.hpp"

namespace suffice::mail {

inline constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

// Columns of weights: two classes need one, as the weights of the other are their negatives.
inline std::size_t columns_of(std::size_t classes) { return classes == 2 ? 1 : classes; }

// Rows by hash, in columns that are kept in a file as they are.
class Memory {
public:
    explicit Memory(std::size_t classes) : classes_(classes), messages(classes), slots_(kFewest, kNoRow) {
        if (classes < 2) throw std::invalid_argument("a filter tells at least two classes apart");
        gram_weights.resize(checked_product(columns(), kGrams));
        gram_squares.resize(checked_product(columns(), kGrams));
    }

    std::size_t classes() const { return classes_; }
    std::size_t columns() const { return columns_of(classes_); }
    std::size_t size() const { return hashes.size(); }

    std::uint32_t find(std::uint64_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = start(hash); slots_[i] != kNoRow; i = (i + 1) & mask) {
            if (hashes[slots_[i]] == hash) return slots_[i];
        }
        return kNoRow;
    }

    void fetch(std::uint64_t hash) const { text::fetch(&slots_[start(hash)]); }

    // The row of a token, made where there is none.
    std::uint32_t row(std::uint64_t hash, std::string_view name) {
        const std::uint32_t found = find(hash);
        if (found != kNoRow) return found;
        const auto made = static_cast<std::uint32_t>(hashes.size());
        if (made == kNoRow) throw std::length_error("too many tokens");
        hashes.push_back(hash);
        counts.resize(counts.size() + classes_);
        weights.resize(weights.size() + columns());
        squares.resize(squares.size() + columns());
        days.push_back(0);
        fresh.append(name).push_back('\n');
        if (2 * hashes.size() > slots_.size()) {
            index();
        } else {
            place(made);
        }
        return made;
    }

    // The rows of a message's tokens, made where there are none.
    std::vector<std::uint32_t> rows(const Features& features) {
        constexpr std::size_t ahead = 8;
        std::vector<std::uint32_t> found(features.tokens.size());
        for (std::size_t t = 0; t < found.size(); ++t) {
            if (t + ahead < found.size()) fetch(features.tokens[t + ahead].hash);
            found[t] = row(features.tokens[t].hash, features.name(features.tokens[t]));
        }
        return found;
    }

    // Rebuilds the index of rows, after columns were set or rows removed.
    void index() {
        std::size_t size = kFewest;
        while (size < 2 * hashes.size() + 2) size *= 2;
        slots_.assign(size, kNoRow);
        for (std::size_t i = 0; i < hashes.size(); ++i) place(static_cast<std::uint32_t>(i));
    }

    // How many slots are looked at to find every row once: about 1.5 for each, unless hashes crowd.
    std::size_t probes() const {
        std::size_t total = 0;
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i] != kNoRow) total += ((i - start(hashes[slots_[i]])) & (slots_.size() - 1)) + 1;
        }
        return total;
    }

    // What a weight of a row says for a class: one column for two classes speaks for the second, and against the first.
    double toward(const std::vector<float>& all, std::size_t row, std::size_t k) const {
        if (columns() > 1) return all[row * columns() + k];
        return k == 1 ? all[row] : -all[row];
    }

    // Whether the regressions have made a step.
    bool learned() const {
        const auto moved = [](float square) { return square > 0; };
        return std::any_of(gram_squares.begin(), gram_squares.end(), moved) ||
               std::any_of(squares.begin(), squares.end(), moved);
    }

    // Room for more classes; what was known of the others stays as it was.
    void widen(std::size_t classes) {
        if (classes <= classes_) return;
        const std::size_t before = columns();
        messages.resize(classes);
        counts = spread(counts, classes_, classes, false);
        const std::size_t after = columns_of(classes);
        const bool sided = before == 1;
        weights = spread(weights, before, after, sided);
        gram_weights = spread(gram_weights, before, after, sided);
        squares = spread(squares, before, after, false, sided);
        gram_squares = spread(gram_squares, before, after, false, sided);
        classes_ = classes;
    }

    // Removes the tokens that were seen least, and of those the ones seen longest ago, until `most` are left.
    std::size_t prune(std::size_t most) {
        if (size() <= most) return 0;
        std::vector<std::uint32_t> order(size());
        std::iota(order.begin(), order.end(), 0u);
        const auto total = [&](std::uint32_t r) {
            return std::accumulate(&counts[r * classes_], &counts[r * classes_] + classes_, 0.0f);
        };
        std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) {
                             const float here = total(a), there = total(b);
                             if (here != there) return here > there;
                             return days[a] != days[b] ? days[a] > days[b] : hashes[a] < hashes[b];
                         });
        const std::size_t gone = size() - most;
        order.resize(most);
        std::sort(order.begin(), order.end());
        hashes = picked(hashes, order, 1);
        counts = picked(counts, order, classes_);
        weights = picked(weights, order, columns());
        squares = picked(squares, order, columns());
        days = picked(days, order, 1);
        index();
        return gone;
    }

private:
    static constexpr std::size_t kFewest = 1024;
    std::size_t classes_;

public:
    std::vector<double> messages;  // (classes,): how many were learned
    std::vector<std::uint64_t> hashes;
    std::vector<float> counts;            // (rows, classes): messages of the class with this token
    std::vector<float> weights, squares;  // (rows, columns): the regression's, and the sums of its squared slopes
    std::vector<std::uint16_t> days;      // when a token was last learned
    std::vector<float> gram_weights, gram_squares;  // (grams, columns)
    std::string fresh;                              // names of the tokens that got a row, a line each

private:
    std::size_t start(std::uint64_t hash) const { return text::slot_key(hash) & (slots_.size() - 1); }

    void place(std::uint32_t row) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = start(hashes[row]);
        while (slots_[i] != kNoRow) i = (i + 1) & mask;
        slots_[i] = row;
    }

    // Rows of `before` numbers as rows of `after`. One column for two classes (`sided`) becomes one each: ham, then spam.
    static std::vector<float> spread(const std::vector<float>& from, std::size_t before, std::size_t after, bool sided,
                                     bool twice = false) {
        const std::size_t rows = from.size() / before;
        std::vector<float> to(checked_product(rows, after));
        for (std::size_t r = 0; r < rows; ++r) {
            if (sided || twice) {
                to[r * after] = twice ? from[r] : -from[r];
                to[r * after + 1] = from[r];
            } else {
                std::copy_n(&from[r * before], before, &to[r * after]);
            }
        }
        return to;
    }

    template <class T>
    static std::vector<T> picked(const std::vector<T>& from, const std::vector<std::uint32_t>& rows, std::size_t width) {
        std::vector<T> to;
        to.reserve(checked_product(rows.size(), width));
        for (const std::uint32_t r : rows) to.insert(to.end(), &from[r * width], &from[r * width] + width);
        return to;
    }

    std::vector<std::uint32_t> slots_;
};

}  // namespace suffice::mail
