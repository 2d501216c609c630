// What is made of documents: rows of word counts (CSR), or counts per class without any rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tokens.hpp"

namespace suffice::text {

struct Entry {
    place_t place;
    std::int32_t count;
};

// The distinct features of one document at a time, with how often each occurs.
class Bag {
public:
    void begin() {
        count = 0;
        hash = 0;
        if (++now_ == 0) {  // after four billion documents
            std::fill(seen_.begin(), seen_.end(), Seen{});
            now_ = 1;
        }
    }

    void add(place_t place, std::uint64_t word_hash) {
        const auto at = static_cast<std::size_t>(place);
        if (at >= seen_.size()) seen_.resize(std::max(2 * seen_.size(), at + 1024));
        if (count == entries.size()) entries.resize(2 * count + 64);
        hash = (hash ^ word_hash) * 0x9FB21C651E98DF25u;
        // Without a branch: whether a word is new to its document cannot be foreseen.
        const Seen seen = seen_[at];
        const bool fresh = seen.document != now_;
        const std::size_t entry = fresh ? count : seen.entry;
        entries[count] = {place, 0};  // where it is not new, the next new one takes its place
        count += fresh;
        ++entries[entry].count;
        seen_[at] = {now_, static_cast<std::uint32_t>(entry)};
    }

    // Asks for what is known of a feature.
    void fetch(place_t place) const {
        if (static_cast<std::size_t>(place) < seen_.size()) suffice::text::fetch(&seen_[static_cast<std::size_t>(place)]);
    }

    std::vector<Entry> found() const { return {entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count)}; }

    std::size_t count = 0;       // of the entries in use
    std::vector<Entry> entries;
    std::uint64_t hash = 0;  // of the features, one after another

private:
    struct Seen {
        std::uint32_t document = 0;
        std::uint32_t entry = 0;
    };
    std::vector<Seen> seen_;
    std::uint32_t now_ = 0;
};

// A feature of a document: its bytes, their hash, which results may depend on, and their key, which they must not.
struct Found {
    const char* data;
    std::size_t size;
    std::uint64_t hash, key;
};

// Where features go: into a vocabulary that grows, one that does not, or slots by their hash.
struct Growing {
    Words& words;
    void fetch(const Found& feature) const { words.fetch(feature.key); }
    place_t operator()(const Found& feature) { return words.add(feature.data, feature.size, feature.key); }
};

struct Fixed {
    const Words& words;
    void fetch(const Found& feature) const { words.fetch(feature.key); }
    place_t operator()(const Found& feature) { return words.find(feature.data, feature.size, feature.key); }
};

// Slots by hash. Words are told apart all the same, so that each counts in a document, whatever shares its slot; memory is
// taken for those that occur, and not for all slots there are.
struct Hashed {
    Words& words;
    std::vector<place_t>& slots;  // of each word
    std::uint64_t mask;
    void fetch(const Found& feature) const { words.fetch(feature.key); }
    place_t operator()(const Found& feature) {
        const place_t place = words.add(feature.data, feature.size, feature.key);
        if (static_cast<std::size_t>(place) == slots.size()) slots.push_back(static_cast<place_t>(feature.hash & mask));
        return place;
    }
};

// Features on their way into a bag, a few at a time: while some wait, the memory to look at next is fetched.
template <class Places>
class Queue {
public:
    Queue(Bag& bag, Places& places) : bag_(bag), places_(places) {}

    void put(const char* data, std::size_t size, std::uint64_t hash) {
        Found& feature = waiting_[count_++];
        feature = {data, size, hash, slot_key(data, size, hash)};
        places_.fetch(feature);
        if (count_ == kMost) flush();
    }

    void flush() {
        place_t found[kMost];
        for (std::size_t i = 0; i < count_; ++i) {
            found[i] = places_(waiting_[i]);
            bag_.fetch(found[i]);
        }
        for (std::size_t i = 0; i < count_; ++i) {
            if (found[i] >= 0) {
                bag_.add(found[i], waiting_[i].hash);
            } else {
                ++unknown;
            }
        }
        count_ = 0;
    }

    std::int64_t unknown = 0;

private:
    static constexpr std::size_t kMost = 32;
    Bag& bag_;
    Places& places_;
    Found waiting_[kMost];
    std::size_t count_ = 0;
};

// Fills the bag with one document. Returns how many features have no place.
template <class Places>
std::int64_t fill(Bag& bag, Tokens& tokens, const Document& document, Places& places) {
    Queue<Places> queue(bag, places);
    bag.begin();
    tokens.visit(document,
                 [&](const char* data, std::size_t size, std::uint64_t hash) { queue.put(data, size, hash); });
    queue.flush();
    return queue.unknown;
}

struct Rows {
    std::vector<std::int64_t> ends;
    std::vector<place_t> columns;
    std::vector<std::int32_t> counts;

    void add(const Entry* entries, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) columns.push_back(entries[i].place), counts.push_back(entries[i].count);
        ends.push_back(static_cast<std::int64_t>(columns.size()));
    }
};

// Linear scores of documents, one per class, without any rows.
struct Scoring {
    const double* table;      // (places, classes): what each occurrence of a feature adds
    const double* intercept;  // (classes,)
    std::size_t places, classes;
    bool presence;  // whether a feature counts once in a document
    bool normed;    // whether what features add is divided by the length of the vector of counts

    // `slots` holds the row of the table of each place; null: its own.
    void add(const Bag& bag, const place_t* slots, double* scores) const {
        constexpr std::size_t kAhead = 8;
        const auto row_of = [&](std::size_t i) {
            const auto place = static_cast<std::size_t>(bag.entries[i].place);
            return table + (slots != nullptr ? static_cast<std::size_t>(slots[place]) : place) * classes;
        };
        double squares = 0.0;
        for (std::size_t c = 0; c < classes; ++c) scores[c] = 0.0;
        for (std::size_t i = 0; i < bag.count; ++i) {
            if (i + kAhead < bag.count) {
                const double* later = row_of(i + kAhead);
                for (std::size_t c = 0; c < classes; c += 8) fetch(later + c);
            }
            const double times = presence ? 1.0 : bag.entries[i].count;
            const double* row = row_of(i);
            squares += times * times;
            for (std::size_t c = 0; c < classes; ++c) scores[c] += times * row[c];
        }
        const double scale = normed && squares > 0 ? 1.0 / std::sqrt(squares) : 1.0;
        for (std::size_t c = 0; c < classes; ++c) scores[c] = scores[c] * scale + intercept[c];
    }
};

// A sample of documents that does not depend on their order: those whose hashes are lowest. Documents that are alike, in
// one class, are one with the weight of all.
class Sample {
public:
    explicit Sample(std::size_t most) : most_(most) {}

    void offer(const Bag& bag, std::int64_t code, double weight) {
        const std::uint64_t hash = mixed(bag.hash) >> 11;  // 53 bits: a double holds them
        if (most_ == 0 || hash >= below_ || bag.count == 0) return;
        kept.push_back({hash, code, weight, bag.found()});
        if (kept.size() >= 2 * most_ + 16) trim();
    }

    void trim() {
        std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
            return a.hash != b.hash ? a.hash < b.hash : a.code < b.code;
        });
        std::size_t last = 0;
        for (std::size_t i = 1; i < kept.size(); ++i) {
            if (kept[i].hash == kept[last].hash && kept[i].code == kept[last].code) {
                kept[last].weight += kept[i].weight;
            } else if (++last != i) {
                kept[last] = std::move(kept[i]);
            }
        }
        if (!kept.empty()) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(last + 1), kept.end());
        if (kept.size() > most_) {
            below_ = kept[most_].hash;
            while (!kept.empty() && kept.back().hash >= below_) kept.pop_back();
        }
    }

    struct Kept {
        std::uint64_t hash;
        std::int64_t code;
        double weight;
        std::vector<Entry> entries;
    };
    std::vector<Kept> kept;
    std::uint64_t below() const { return below_; }  // all documents with lower hashes are kept

    static constexpr std::uint64_t kAll = std::uint64_t(1) << 53;

private:
    std::size_t most_;
    std::uint64_t below_ = kAll;
};

// Counts per class. Documents should come class by class: the counts of one class are few enough to stay in cache.
class ClassCounts {
public:
    ClassCounts(std::size_t classes, bool events, bool presences)
        : events(events ? classes : 0), presences(presences ? classes : 0) {}

    void add(const Bag& bag, std::size_t code, double weight, std::size_t words) {
        double* event = events.empty() ? nullptr : room(events[code], words);
        double* presence = presences.empty() ? nullptr : room(presences[code], words);
        double* document = room(documents, words);
        for (std::size_t i = 0; i < bag.count; ++i) {
            const auto place = static_cast<std::size_t>(bag.entries[i].place);
            document[place] += weight;
            if (event != nullptr) event[place] += weight * bag.entries[i].count;
            if (presence != nullptr) presence[place] += weight;
        }
    }

    std::vector<std::vector<double>> events, presences;  // of each class: one count per word, or for the first words
    std::vector<double> documents;                       // the weight of the documents that hold a word

private:
    static double* room(std::vector<double>& counts, std::size_t words) {
        if (counts.size() < words) counts.resize(words + words / 2);
        return counts.data();
    }
};

// The documents from start on, class by class, each class in its order.
inline std::vector<std::size_t> by_class(const std::int64_t* codes, std::size_t count, std::size_t classes) {
    std::vector<std::size_t> next(classes + 1), order(count);
    for (std::size_t i = 0; i < count; ++i) ++next[static_cast<std::size_t>(codes[i]) + 1];
    for (std::size_t c = 0; c < classes; ++c) next[c + 1] += next[c];
    for (std::size_t i = 0; i < count; ++i) order[next[static_cast<std::size_t>(codes[i])]++] = i;
    return order;
}

}  // namespace suffice::text
