// Naive Bayes and logistic regression on the same tokens, combined by a second regression.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "memory.hpp"

namespace suffice::mail {

inline constexpr std::size_t kSpam = 1;  // the class; 0 is ham, and others come after it

struct Rates {
    double few = 2;          // pseudo-messages of the rarer class: discounts log-odds while few were learned
    double strength = 0.02;  // pseudo-messages of a token: Laplace smoothing
    double power = 3;        // exponent of the weight of a token by its log-odds
    double neutral = 300;    // weight of what speaks for no class in the average of the tokens' log-odds
    double tokens = 0.15;    // steps of the regression over tokens,
    double grams = 0.02;     // over grams,
    double mixing = 0.05;    // and of the weights of the three
    double start = 0.1;      // squared slopes that every weight is taken to have seen before the first
    double certain = 100;    // the same for the weights of the three
    double token_length = 150;  // squared length to which the vector of a message's tokens is scaled in the regression,
    double gram_length = 1000;  // and that of its grams
    double balance = 3;      // messages of all else that weigh, in a step, at most as much as one of spam
    double most = 1.0986;    // log-odds that one token adds at most: 3 to 1, where the cut for spam asks 9 to 1
    double scale = 0.9;          // log-odds are divided by scale r^imbalance (1 + u)^novelty, and by 1 at least, where r
    double imbalance = 1 / 10.;  // messages of spam were learned for each one of all else, and u tokens of the message were
    double novelty = 1 / 6.;     // never seen: see divisor()
    double conflict = 4;     // what the log-odds of ham by the header, times those of spam by the rest, are at most; and of
                             // ham by the body, times those of spam by the header
};

// The log-odds of one class against the others, and their parts.
struct Score {
    double counts = 0, tokens = 0, grams = 0, total = 0;
};

// How much each of the three readings counts for a column's class, and a constant: (columns, 4).
struct Mix {
    explicit Mix(std::size_t columns) { widen(columns); }

    // Room for more columns, which start as every column does.
    void widen(std::size_t columns) {
        while (weights.size() < 4 * columns) weights.insert(weights.end(), {0.6, 0.2, 0.2, 0.0});
        squares.resize(weights.size());
    }

    const double* of(std::size_t column) const { return &weights[4 * column]; }

    // The log-odds that the weights are learned by: every token counts in full.
    double total(const Score& score, std::size_t column) const {
        const double* mix = of(column);
        return mix[0] * score.counts + mix[1] * score.tokens + mix[2] * score.grams + mix[3];
    }

    std::vector<double> weights, squares;
};

inline double sigmoid(double z) { return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }

// What each of a message's distinct features counts in a regression: their vector has the same length whatever their
// number, so that a long message neither scores higher nor moves more. A feature counts four times at most.
inline double scaling(double length, std::size_t features) {
    return std::sqrt(length / std::max(static_cast<double>(features), length / 16));
}

using Origins = std::array<double, kOrigins>;  // a number for each origin

inline std::size_t place(Origin origin) { return static_cast<std::size_t>(origin); }

// A memory, and the weight of a message that is learned now.
struct Layer {
    const Memory* memory;
    double now;
};

// Scores over one memory, or over several that add up; the last one learns.
class Filter {
public:
    Filter(std::vector<Layer> layers, const Mix& mix, const Rates& rates)
        : layers_(std::move(layers)), mix_(mix), rates_(rates) {
        for (const Layer& layer : layers_) classes_ = std::max(classes_, layer.memory->classes());
        messages_.resize(classes_);
        for (const Layer& layer : layers_) {
            for (std::size_t k = 0; k < layer.memory->classes(); ++k) messages_[k] += layer.memory->messages[k] / layer.now;
        }
        total_ = std::accumulate(messages_.begin(), messages_.end(), 0.0);
    }

    std::size_t columns() const { return columns_of(classes_); }

    // The scores of a message; `own` are the rows of its tokens in the last memory, if they are known.
    std::vector<Score> operator()(const Features& features, const std::vector<std::uint32_t>* own = nullptr) {
        find(features, own);
        std::vector<Score> scores(columns());
        for (std::size_t c = 0; c < scores.size(); ++c) {
            const Origins sums = read(features, c, scores[c]), shares = shares_of(sums, c);
            scores[c].total = std::inner_product(sums.begin(), sums.end(), shares.begin(), mix_.of(c)[3]) / divisor();
        }
        return scores;
    }

    // What each token adds to the log-odds of a column's class. The grams and the constant add the rest.
    std::vector<double> contributions(const Features& features, std::size_t column) {
        const Origins counted = factors(features, column);
        for (std::size_t t = 0; t < parts_.size(); ++t) parts_[t] *= counted[place(features.tokens[t].origin)];
        return parts_;
    }

    // What the evidence of each origin is multiplied by: its share that counts, over the divisor.
    Origins factors(const Features& features, std::size_t column) {
        find(features);
        Score score;
        Origins counted = shares_of(read(features, column, score), column);
        for (double& each : counted) each /= divisor();
        return counted;
    }

    // What the constant adds to the log-odds of a column's class.
    double intercept(const Features& features, std::size_t column) {
        find(features);
        Score score;
        read(features, column, score);
        return mix_.of(column)[3] / divisor();
    }

    // What a gram of a message adds to the log-odds of a column's class, before the factor of its origin.
    double of_gram(const Features& features, std::uint32_t gram, std::size_t column) const {
        double all = 0;
        for (const Layer& layer : layers_) all += part(*layer.memory, layer.memory->gram_weights, gram, column);
        return mix_.of(column)[2] * scaling(rates_.gram_length, features.grams.size()) * all;
    }

    // What a message weighs in a step. All spam together weighs at most as much as all else, and that at most `balance`
    // times as much as spam: the prior does not follow the proportions of the learned messages.
    double step_weight(bool spam) const {
        const double rest = total_ - messages_[kSpam];
        return spam ? std::min(1.0, (rest + 1) / (messages_[kSpam] + 1))
                    : std::min(1.0, rates_.balance * (messages_[kSpam] + 1) / (rest + 1));
    }

    // How often each token was learned, (tokens, classes).
    std::vector<double> seen(const Features& features) {
        find(features);
        std::vector<double> all(checked_product(features.tokens.size(), classes_));
        for (std::size_t t = 0; t < features.tokens.size(); ++t) {
            for (std::size_t k = 0; k < classes_; ++k) all[t * classes_ + k] = count(t, k);
        }
        return all;
    }

private:
    void find(const Features& features, const std::vector<std::uint32_t>* own = nullptr) {
        const std::size_t tokens = features.tokens.size();
        rows_.resize(checked_product(layers_.size(), tokens));
        for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
            const Memory& memory = *layers_[layer].memory;
            if (own != nullptr && layer + 1 == layers_.size()) {
                for (std::size_t t = 0; t < tokens; ++t) rows_[t * layers_.size() + layer] = (*own)[t];
                continue;
            }
            for (std::size_t t = 0; t < tokens; ++t) {
                if (t + kAhead < tokens) memory.fetch(features.tokens[t + kAhead].hash);
                rows_[t * layers_.size() + layer] = memory.find(features.tokens[t].hash);
            }
        }
    }

    template <class Read>
    double sum(std::size_t token, Read&& read) const {
        double all = 0;
        for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
            const std::uint32_t row = rows_[token * layers_.size() + layer];
            if (row != kNoRow) all += read(layers_[layer], row);
        }
        return all;
    }

    double count(std::size_t token, std::size_t k) const {
        return sum(token, [&](const Layer& layer, std::uint32_t row) {
            const Memory& memory = *layer.memory;
            return k < memory.classes() ? memory.counts[row * memory.classes() + k] / layer.now : 0.0;
        });
    }

    // A weight of a memory as of a column: a memory of fewer classes says nothing of the others.
    double part(const Memory& memory, const std::vector<float>& weights, std::size_t row, std::size_t column) const {
        if (memory.columns() == columns()) return weights[row * memory.columns() + column];
        return column < memory.classes() ? memory.toward(weights, row, column) : 0.0;
    }

    double weight(std::size_t token, std::size_t column) const {
        return sum(token, [&](const Layer& layer, std::uint32_t row) {
            return part(*layer.memory, layer.memory->weights, row, column);
        });
    }

    // The log-odds of a column's class that a token speaks for. With n sightings, of which a share p would be of this class
    // had it as many messages as all others together, they are (s/2 + n p) to (s/2 + n (1 - p)).
    double odds(std::size_t token, std::size_t column) {
        const std::size_t mine = class_of(column);
        double own = 0, others = 0;
        for (std::size_t k = 0; k < classes_; ++k) (k == mine ? own : others) += count(token, k);
        if (!(own + others > 0)) {
            ++unseen_;
            return 0;
        }
        const double here = own / std::max(messages_[mine], 1.0), there = others / std::max(total_ - messages_[mine], 1.0);
        const double fewest = least(column), n = std::min(own, here * fewest) + std::min(others, there * fewest);
        const double p = here / (here + there), half = rates_.strength / 2;
        return std::log((half + n * p) / (half + n * (1 - p)));
    }

    // Tokens of a message are dependent, so that its evidence is less than their sum; it is less the more of the message is
    // new, since mail of an unknown kind, such as a first newsletter, looks like spam. Where much more spam was learned,
    // what is unknown is ham.
    double divisor() const {
        const double spam = std::max(messages_[kSpam], 1.0), rest = std::max(total_ - messages_[kSpam], 1.0);
        const double novelty = std::pow(1 + static_cast<double>(unseen_), rates_.novelty);
        return std::max(1.0, rates_.scale * std::pow(spam / rest, rates_.imbalance) * novelty);
    }

    std::size_t class_of(std::size_t column) const { return classes_ == 2 ? 1 : column; }

    // That a token was not seen in a class says little while few messages of that class were.
    double trust(std::size_t column) const {
        const double mine = messages_[class_of(column)];
        const double least = std::min(mine, total_ - mine);
        return least / (least + rates_.few);
    }

    // Messages of the rarer side, this class or all others.
    double least(std::size_t column) const {
        const double mine = messages_[class_of(column)];
        return std::max(std::min(mine, total_ - mine), 1.0);
    }

    double loudness(double l) const {
        const double size = std::abs(l);
        return rates_.power == 3 ? size * size * size : std::pow(size, rates_.power);
    }

    // Scores the tokens by counts and regression; parts_ gets the contribution of each to the log-odds. No token adds
    // more than `most`: a single one cannot make a message spam.
    void read_tokens(const Features& features, std::size_t column, Score& score) {
        const double* mix = mix_.of(column);
        const std::size_t tokens = features.tokens.size();
        parts_.resize(tokens);
        double loud = 0;
        unseen_ = 0;
        for (std::size_t t = 0; t < tokens; ++t) {
            const double l = odds(t, column), u = loudness(l);
            parts_[t] = l * u;
            score.counts += parts_[t];
            loud += u;
        }
        const double scale = trust(column) / (loud + rates_.neutral), scaled = scaling(rates_.token_length, tokens);
        score.counts *= scale;
        for (std::size_t t = 0; t < tokens; ++t) {
            const double w = scaled * weight(t, column);
            score.tokens += w;
            parts_[t] = std::clamp(mix[0] * scale * parts_[t] + mix[1] * w, -rates_.most, rates_.most);
        }
    }

    double gram_sum(const Features& features, std::size_t first, std::size_t last, std::size_t column) const {
        double all = 0;
        for (const Layer& layer : layers_) {
            const Memory& memory = *layer.memory;
            for (std::size_t i = first; i < last; ++i) all += part(memory, memory.gram_weights, features.grams[i], column);
        }
        return scaling(rates_.gram_length, features.grams.size()) * all;
    }

    // Scores tokens and grams; returns the log-odds of a column's class by each origin.
    Origins read(const Features& features, std::size_t column, Score& score) {
        read_tokens(features, column, score);
        const double header = gram_sum(features, 0, features.header_grams, column);
        const double body = gram_sum(features, features.header_grams, features.grams.size(), column);
        score.grams = header + body;
        Origins sums{};
        sums[place(Origin::header)] = mix_.of(column)[2] * header;
        sums[place(Origin::body)] = mix_.of(column)[2] * body;
        for (std::size_t t = 0; t < parts_.size(); ++t) sums[place(features.tokens[t].origin)] += parts_[t];
        return sums;
    }

    // How much of the log-odds of spam by each origin counts. Where one speaks for ham and the rest for spam, the evidence
    // for ham is bounded: a header copied from ham, or words of ham in the body, are what spam is hidden by. The fields of
    // the recipient's server, which nobody else writes, always count in full.
    Origins shares_of(const Origins& sums, std::size_t column) const {
        Origins shares{1, 1, 1};
        if (class_of(column) != kSpam) return shares;
        const double body = sums[place(Origin::body)], header = sums[place(Origin::header)];
        const double server = sums[place(Origin::server)];
        const auto share = [&](double ham, double spam) {
            return ham < 0 && spam > 0 ? std::min(1.0, rates_.conflict / (-ham * spam)) : 1.0;
        };
        shares[place(Origin::header)] = share(header, body + server);
        shares[place(Origin::body)] = share(body, header + server);
        return shares;
    }

    static constexpr std::size_t kAhead = 8;
    std::vector<Layer> layers_;
    const Mix& mix_;
    const Rates& rates_;
    std::size_t classes_ = 2;
    std::vector<double> messages_;
    double total_ = 0;  // of messages
    std::vector<std::uint32_t> rows_;  // (tokens, layers)
    std::size_t unseen_ = 0;           // tokens of the message that no learned one has
    std::vector<double> parts_;        // (tokens,): contribution of each to the log-odds
};

inline constexpr double kRounding = 1e-5;

// Adds a message to the counts of a class, or takes it away (weight below 0). Counts never go below none.
inline void count(Memory& memory, const std::vector<std::uint32_t>& rows, std::size_t label, double weight,
                  std::uint16_t day) {
    for (const std::uint32_t row : rows) {
        if (row == kNoRow) continue;
        float& n = memory.counts[row * memory.classes() + label];
        n = std::max(0.0f, n + static_cast<float>(weight));
        if (weight < 0 && n < kRounding * -weight) n = 0;  // a rounding residue is not a count
        if (weight > 0) memory.days[row] = std::max(memory.days[row], day);
    }
    memory.messages[label] = std::max(0.0, memory.messages[label] + weight);
}

// One step of each regression towards the label, each weight with a step of its own: theta += eta (y - p) x / sqrt(sum of
// squared slopes so far), the notes' rule with AdaGrad's steps.
inline void step(Memory& memory, const Features& features, const std::vector<std::uint32_t>& rows, std::size_t label,
                 const std::vector<Score>& scores, double share, const Rates& rates) {
    const std::size_t columns = memory.columns();
    const auto move = [&](float& weight, float& square, double slope, double rate) {
        square += static_cast<float>(share * slope * slope);
        weight += static_cast<float>(share * rate * slope / std::sqrt(rates.start + square));
    };
    std::vector<double> tokens(columns), grams(columns);
    for (std::size_t c = 0; c < columns; ++c) {
        const double y = (columns == 1 ? 1 : c) == label ? 1 : 0;
        tokens[c] = scaling(rates.token_length, rows.size()) * (y - sigmoid(scores[c].tokens));
        grams[c] = scaling(rates.gram_length, features.grams.size()) * (y - sigmoid(scores[c].grams));
    }
    for (const std::uint32_t row : rows) {
        for (std::size_t c = 0; c < columns; ++c) {
            move(memory.weights[row * columns + c], memory.squares[row * columns + c], tokens[c], rates.tokens);
        }
    }
    for (const std::uint32_t gram : features.grams) {
        for (std::size_t c = 0; c < columns; ++c) {
            const std::size_t at = gram * columns + c;
            move(memory.gram_weights[at], memory.gram_squares[at], grams[c], rates.grams);
        }
    }
}

// The same for the weights of the three readings.
inline void weigh(Mix& mix, std::size_t label, const std::vector<Score>& scores, double share, const Rates& rates) {
    for (std::size_t c = 0; c < scores.size(); ++c) {
        const double y = (scores.size() == 1 ? 1 : c) == label ? 1 : 0;
        const double slope = y - sigmoid(mix.total(scores[c], c));
        const double parts[] = {scores[c].counts, scores[c].tokens, scores[c].grams, 1};
        for (std::size_t i = 0; i < 4; ++i) {
            double& square = mix.squares[4 * c + i];
            square += share * slope * slope * parts[i] * parts[i];
            mix.weights[4 * c + i] += share * rates.mixing * slope * parts[i] / std::sqrt(rates.certain + square);
        }
    }
}

}  // namespace suffice::mail
