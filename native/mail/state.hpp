// A memory, how its readings are weighed, and the shared memories below it.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "filter.hpp"

namespace suffice::mail {

class State {
public:
    explicit State(std::size_t classes) : memory(classes), mix(columns_of(classes)) {}

    Filter filter() const {
        std::vector<Layer> layers;
        for (const auto& other : shared) layers.push_back({&other->memory, other->now});
        layers.push_back({&memory, now});
        return Filter(std::move(layers), mix, rates);
    }

    // The log-odds of every column's class, (messages, columns).
    std::vector<double> scores(const std::vector<Features>& messages, std::size_t threads) const {
        const std::size_t columns = filter().columns();
        std::vector<double> all(checked_product(messages.size(), columns));
        in_threads(messages.size(), threads, [&](std::size_t first, std::size_t last) {
            Filter read = filter();
            for (std::size_t i = first; i < last; ++i) {
                const std::vector<Score> found = read(messages[i]);
                for (std::size_t c = 0; c < columns; ++c) all[i * columns + c] = found[c].total;
            }
        });
        return all;
    }

    // Learns a message; returns its scores before. Goes on stepping, up to `steps` times, until the regressions agree.
    std::vector<Score> learn(const Features& features, std::size_t label, double weight, std::uint16_t day, int steps) {
        check(label);
        const std::vector<std::uint32_t> rows = memory.rows(features);
        Filter read = filter();
        std::vector<Score> before = read(features, &rows);
        const double share = read.step_weight(label == kSpam);
        weigh(mix, label, before, share, rates);
        std::vector<Score> scores = before;
        for (int i = 0; i < steps; ++i) {
            step(memory, features, rows, label, scores, share, rates);
            if (i + 1 == steps) break;
            scores = read(features, &rows);
            if (agrees(scores, label)) break;
        }
        count(memory, rows, label, weight, day);
        return before;
    }

    // Takes a message with these tokens back.
    void forget(const std::vector<std::uint64_t>& hashes, std::size_t label, double weight) {
        check(label);
        std::vector<std::uint32_t> rows;
        for (const std::uint64_t hash : hashes) rows.push_back(memory.find(hash));
        count(memory, rows, label, -weight, 0);
    }

    // Removes the tokens that no message has, with their weights; returns how many. Where no message is left at all, the
    // weights of grams and of the readings go, too: nothing is left that they could be of.
    std::size_t drop_unseen() {
        Memory& m = memory;
        const std::size_t classes = m.classes(), columns = m.columns(), before = m.size();
        std::size_t kept = 0;
        for (std::size_t r = 0; r < before; ++r) {
            const auto seen = [](float n) { return n > 0; };
            if (std::none_of(&m.counts[r * classes], &m.counts[r * classes] + classes, seen)) continue;
            m.hashes[kept] = m.hashes[r];
            m.days[kept] = m.days[r];
            std::copy_n(&m.counts[r * classes], classes, &m.counts[kept * classes]);
            std::copy_n(&m.weights[r * columns], columns, &m.weights[kept * columns]);
            std::copy_n(&m.squares[r * columns], columns, &m.squares[kept * columns]);
            ++kept;
        }
        if (kept < before) {
            m.hashes.resize(kept);
            m.days.resize(kept);
            m.counts.resize(kept * classes);
            m.weights.resize(kept * columns);
            m.squares.resize(kept * columns);
            m.index();
        }
        if (kept == 0 && before > 0) {
            std::fill(m.messages.begin(), m.messages.end(), 0.0);
            std::fill(m.gram_weights.begin(), m.gram_weights.end(), 0.0f);
            std::fill(m.gram_squares.begin(), m.gram_squares.end(), 0.0f);
            mix = Mix(columns);
        }
        return before - kept;
    }

    // Adds another state; places[k] is the class here that is class k there. Counts add up; weights are averaged
    // by the messages each has learned, where both have learned weights. Names are those of the other's fresh tokens.
    void merge(const State& other, const std::vector<std::size_t>& places) {
        const Memory& theirs = other.memory;
        if (places.size() != theirs.classes()) throw std::invalid_argument("one place for each class");
        for (const std::size_t place : places) check(place);
        const double here = memory.learned() ? sum(memory.messages) : 0, there = theirs.learned() ? sum(theirs.messages) : 0;
        const double share = here + there > 0 ? there / (here + there) : 0;
        const auto blend = [&](float& mine, double added) { mine = static_cast<float>((1 - share) * mine + share * added); };
        for (float& weight : memory.weights) blend(weight, 0);
        std::string_view names = theirs.fresh;
        for (std::size_t r = 0; r < theirs.size(); ++r) {
            const std::string_view name = names.substr(0, names.find('\n'));
            names.remove_prefix(std::min(names.size(), name.size() + 1));
            const std::size_t row = memory.row(theirs.hashes[r], name);
            for (std::size_t k = 0; k < places.size(); ++k) {
                memory.counts[row * memory.classes() + places[k]] += theirs.counts[r * theirs.classes() + k];
            }
            memory.days[row] = std::max(memory.days[row], theirs.days[r]);
            each_column(theirs, places, [&](std::size_t c, std::size_t k) {
                const std::size_t at = row * memory.columns() + c;
                memory.weights[at] += static_cast<float>(share * theirs.toward(theirs.weights, r, k));
                memory.squares[at] += theirs.squares[r * theirs.columns() + (theirs.columns() == 1 ? 0 : k)];
            });
        }
        for (std::size_t gram = 0; gram < kGrams; ++gram) {
            each_column(theirs, places, [&](std::size_t c, std::size_t k) {
                const std::size_t at = gram * memory.columns() + c;
                blend(memory.gram_weights[at], theirs.toward(theirs.gram_weights, gram, k));
                memory.gram_squares[at] += theirs.gram_squares[gram * theirs.columns() + (theirs.columns() == 1 ? 0 : k)];
            });
        }
        each_column(theirs, places, [&](std::size_t c, std::size_t k) {
            const std::size_t from = 4 * (theirs.columns() == 1 ? 0 : k);
            for (std::size_t i = 0; i < 4; ++i) {
                const bool turned = i == 3 && theirs.columns() == 1 && k == 0;
                const double weight = turned ? -other.mix.weights[from + i] : other.mix.weights[from + i];
                mix.weights[4 * c + i] = (1 - share) * mix.weights[4 * c + i] + share * weight;
                mix.squares[4 * c + i] += share > 0 ? other.mix.squares[from + i] : 0;
            }
        });
        for (std::size_t k = 0; k < places.size(); ++k) memory.messages[places[k]] += theirs.messages[k];
    }

    void widen(std::size_t classes) {
        if (classes <= memory.classes()) return;
        const bool sided = memory.columns() == 1;
        memory.widen(classes);
        mix.widen(memory.columns());
        if (sided) {  // what was one column for both classes
            std::copy_n(mix.weights.begin(), 4, mix.weights.begin() + 4);
            std::copy_n(mix.squares.begin(), 4, mix.squares.begin() + 4);
            mix.weights[3] = -mix.weights[3];
        }
    }

    Memory memory;
    Mix mix;
    Rates rates;
    double now = 1;  // what a message that is learned now weighs
    std::vector<std::shared_ptr<const State>> shared;

private:
    static double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

    // Calls work(column here, class there) for every class of theirs that has a column here.
    template <class Work>
    void each_column(const Memory& theirs, const std::vector<std::size_t>& places, Work&& work) const {
        for (std::size_t k = memory.columns() == 1 ? 1 : 0; k < theirs.classes(); ++k) {
            work(memory.columns() == 1 ? 0 : places[k], k);
        }
    }

    void check(std::size_t label) const {
        if (label >= memory.classes()) throw std::invalid_argument("there is no such class");
    }

    static bool agrees(const std::vector<Score>& scores, std::size_t label) {
        if (scores.size() == 1) return (scores[0].tokens > 0) == (label == 1) && (scores[0].grams > 0) == (label == 1);
        for (std::size_t c = 0; c < scores.size(); ++c) {
            if ((scores[c].tokens > 0) != (c == label) || (scores[c].grams > 0) != (c == label)) return false;
        }
        return true;
    }
};

}  // namespace suffice::mail
