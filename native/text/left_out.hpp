// Leave-one-out scores of documents, for many smoothings at a time, from the counts of all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace suffice::text {

// The counts of classes, and a sample of the documents in them.
struct Learnt {
    const double* counts;  // (classes, words)
    const double* others;  // (words,) the sum over all classes, or null: then a class is scored by its own words
    std::size_t classes, words;
    const std::int64_t* ends;     // (documents + 1,)
    const std::int64_t* columns;  // of all documents
    const double* times;
    const std::int64_t* codes;  // (documents,)
    const double* weights;
};

// Sums of x log(count + alpha) without as many logarithms: products of a few terms stay within a double's range.
class Logarithms {
public:
    explicit Logarithms(std::size_t classes) : sums_(classes), products_(classes) {}

    void begin() {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(products_.begin(), products_.end(), 1.0);
        waiting_ = 0;
    }

    // Adds times * log(counts[c] + alpha) for all classes.
    void add(const double* counts, double times, double alpha) {
        const std::size_t k = sums_.size();
        if (times <= kMost && times == std::floor(times)) {
            for (int i = 0; i < static_cast<int>(times); ++i) {
                for (std::size_t c = 0; c < k; ++c) products_[c] *= counts[c] + alpha;
                if (++waiting_ == kMost) settle();
            }
        } else {
            for (std::size_t c = 0; c < k; ++c) sums_[c] += times * std::log(counts[c] + alpha);
        }
    }

    const double* sums() {
        settle();
        return sums_.data();
    }

private:
    static constexpr int kMost = 8;  // counts of up to 1e38 to this power are finite

    void settle() {
        for (std::size_t c = 0; c < sums_.size(); ++c) {
            sums_[c] += std::log(products_[c]);
            products_[c] = 1.0;
        }
        waiting_ = 0;
    }

    std::vector<double> sums_, products_;
    int waiting_ = 0;
};

// Writes scores, (alphas, documents, classes), of the documents from begin to end: log p(words | class), each document
// left out of its own class; with `others`, minus the log-probability among all other classes, left out of those.
inline void left_out_scores(const Learnt& learnt, const double* alphas, std::size_t count, std::size_t begin,
                            std::size_t end, double* scores) {
    const std::size_t k = learnt.classes, v = learnt.words, documents = end - begin;
    const bool complement = learnt.others != nullptr;
    std::vector<double> totals(k), block, reach(k);
    for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t j = 0; j < v; ++j) {
            totals[c] += complement ? learnt.others[j] - learnt.counts[c * v + j] : learnt.counts[c * v + j];
        }
    }
    Logarithms logs(k);
    for (std::size_t i = begin; i < end; ++i) {
        const auto first = static_cast<std::size_t>(learnt.ends[i]), last = static_cast<std::size_t>(learnt.ends[i + 1]);
        const auto own = static_cast<std::size_t>(learnt.codes[i]);
        double length = 0.0;
        block.resize((last - first) * k);
        for (std::size_t s = first; s < last; ++s) {
            const auto j = static_cast<std::size_t>(learnt.columns[s]);
            const double part = learnt.weights[i] * learnt.times[s];
            length += learnt.times[s];
            for (std::size_t c = 0; c < k; ++c) {
                const double mine = learnt.counts[c * v + j];
                const double whole = complement ? learnt.others[j] - mine : mine;
                block[(s - first) * k + c] = std::max(0.0, (c == own) != complement ? whole - part : whole);
            }
        }
        for (std::size_t c = 0; c < k; ++c) {
            reach[c] = std::max(0.0, totals[c] - ((c == own) != complement ? learnt.weights[i] * length : 0.0));
        }
        for (std::size_t a = 0; a < count; ++a) {
            logs.begin();
            for (std::size_t s = first; s < last; ++s) logs.add(&block[(s - first) * k], learnt.times[s], alphas[a]);
            const double* sums = logs.sums();
            double* out = scores + (a * documents + (i - begin)) * k;
            for (std::size_t c = 0; c < k; ++c) {
                const double score = sums[c] - length * std::log(reach[c] + alphas[a] * static_cast<double>(v));
                out[c] = complement ? -score : score;
            }
        }
    }
}

}  // namespace suffice::text
