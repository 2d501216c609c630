// A growing vocabulary: words, each with its place, in the order in which they came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "slots.hpp"

namespace suffice::text {

using place_t = std::int32_t;

struct Bytes {
    const char* data;
    std::size_t size;
};

class Words {
public:
    place_t size() const { return static_cast<place_t>(end_.size()); }
    Bytes operator[](place_t place) const {
        const std::size_t begin = place > 0 ? end_[static_cast<std::size_t>(place - 1)] : 0;
        return {text_.data() + begin, end_[static_cast<std::size_t>(place)] - begin};
    }
    const std::vector<char>& text() const { return text_; }
    const std::vector<std::size_t>& ends() const { return end_; }

    // Returns a word's place, or -1. `key` is its slot_key.
    place_t find(const char* data, std::size_t size, std::uint64_t key) const {
        if (slots_.empty()) return -1;
        return slots_[slot(data, size, key)].place;
    }
    place_t find(Bytes word) const { return find(word.data, word.size, key_of(word)); }

    place_t add(const char* data, std::size_t size, std::uint64_t key) {
        if (2 * (end_.size() + 1) > slots_.size()) widen();
        Slot& at = slots_[slot(data, size, key)];
        if (at.place < 0) {
            if (end_.size() >= 0x7FFFFFFF) throw std::length_error("a vocabulary holds at most 2,147,483,647 words");
            at = {key, size_word(size), static_cast<place_t>(end_.size())};
            text_.insert(text_.end(), data, data + size);
            end_.push_back(text_.size());
        }
        return at.place;
    }
    place_t add(Bytes word) { return add(word.data, word.size, key_of(word)); }

    // Some of the words of another vocabulary, each at most once. They cannot be looked up before they are indexed.
    void take(const Words& other, const std::int64_t* places, std::size_t count) {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) bytes += other[static_cast<place_t>(places[i])].size;
        text_.reserve(bytes), end_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const Bytes word = other[static_cast<place_t>(places[i])];
            text_.insert(text_.end(), word.data, word.data + word.size);
            end_.push_back(text_.size());
        }
    }

    // Makes sure that words can be looked up.
    void index() {
        if (!slots_.empty() || end_.empty()) return;
        std::size_t size = 1024;
        while (size < 2 * (end_.size() + 1)) size *= 2;
        slots_.resize(size);
        for (place_t i = 0; i < this->size(); ++i) {
            const Bytes word = (*this)[i];
            put(key_of(word), word.size, i);
        }
    }

    // Asks for the memory in which a word of this key will be looked for.
    void fetch(std::uint64_t key) const {
        if (!slots_.empty()) suffice::text::fetch(&slots_[key & (slots_.size() - 1)]);
    }

    // How many slots are looked at to find every word once: about 1.5 for each, unless words crowd.
    std::size_t probes() const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t total = 0;
        for (std::size_t at = 0; at < slots_.size(); ++at) {
            if (slots_[at].place >= 0) total += ((at - slots_[at].key) & mask) + 1;
        }
        return total;
    }

    // The places in the order of the words: that of their bytes, which is that of their characters.
    std::vector<place_t> sorted() const {
        struct Key {
            std::uint64_t head, next;  // the first sixteen bytes, highest first: most comparisons end here
            place_t place;
        };
        std::vector<Key> keys(end_.size());
        const auto eight_of = [](const Bytes& word, std::size_t from) {
            std::uint64_t value = 0;
            for (std::size_t b = from; b < from + 8; ++b) {
                value = value << 8 | (b < word.size ? static_cast<unsigned char>(word.data[b]) : 0u);
            }
            return value;
        };
        for (place_t i = 0; i < size(); ++i) {
            const Bytes word = (*this)[i];
            keys[static_cast<std::size_t>(i)] = {eight_of(word, 0), eight_of(word, 8), i};
        }
        const auto before = [&](const Key& a, const Key& b) {
            if (a.head != b.head) return a.head < b.head;
            if (a.next != b.next) return a.next < b.next;
            const Bytes one = (*this)[a.place], two = (*this)[b.place];
            const int order = std::memcmp(one.data, two.data, std::min(one.size, two.size));
            return order != 0 ? order < 0 : one.size < two.size;
        };
        const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
        if (keys.size() > kMany) {
            std::thread other([&] { std::sort(keys.begin(), middle, before); });
            std::sort(middle, keys.end(), before);
            other.join();
            std::inplace_merge(keys.begin(), middle, keys.end(), before);
        } else {
            std::sort(keys.begin(), keys.end(), before);
        }
        std::vector<place_t> places(keys.size());
        std::transform(keys.begin(), keys.end(), places.begin(), [](const Key& key) { return key.place; });
        return places;
    }

private:
    static constexpr std::size_t kMany = 50'000;  // words that two threads sort sooner than one

    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t size = 0;
        place_t place = -1;
    };

    static std::uint64_t key_of(Bytes word) {
        return slot_key(word.data, word.size, hash_of(word.data, word.size));
    }

    // A size that does not fit is told apart by its bytes.
    static std::uint32_t size_word(std::size_t size) { return static_cast<std::uint32_t>(size); }

    // Where a word is, or belongs.
    std::size_t slot(const char* data, std::size_t size, std::uint64_t key) const {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = key & mask;; at = (at + 1) & mask) {
            const Slot& here = slots_[at];
            if (here.place < 0) return at;
            if (here.key == key && here.size == size_word(size)) {
                if (size <= 8) return at;  // the keys of words of one such size are as different as the words
                const Bytes word = (*this)[here.place];
                if (word.size == size && std::memcmp(word.data, data, size) == 0) return at;
            }
        }
    }

    void put(std::uint64_t key, std::size_t size, place_t place) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = key & mask;
        while (slots_[at].place >= 0) at = (at + 1) & mask;
        slots_[at] = {key, size_word(size), place};
    }

    void widen() {
        std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& each : old) {
            if (each.place >= 0) put(each.key, each.size, each.place);
        }
    }

    std::vector<Slot> slots_;  // twice as many as words, at least; a power of two
    std::vector<char> text_;
    std::vector<std::size_t> end_;
};

}  // namespace suffice::text
