// Hashes of a table's rows, and the random numbers that a sample by content is drawn with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "text/hashing.hpp"
#include "text/slots.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace suffice::rows {

// Adds the product of each cell's bits and an odd factor to its row's hash, modulo 2^64. The lowest `loose` bits of a
// mantissa are rounded away: readers of text differ in the last one. There is one NaN, and one 0.
inline void add_numbers(std::uint64_t* hashes, const double* cells, std::size_t n, std::uint64_t factor, int loose) {
    constexpr std::uint64_t kNaN = 0x7FF8000000000000u;
    const std::uint64_t half = (std::uint64_t(1) << loose) >> 1;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = std::isnan(cells[i]) ? kNaN : std::bit_cast<std::uint64_t>(cells[i] + 0.0);
        hashes[i] += ((bits + half) >> loose) * factor;
    }
}

// A random number for another; no two become the same. The finaliser of SplitMix64.
inline std::uint64_t mixed(std::uint64_t h) {
    h += 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
    h = (h ^ h >> 27) * 0x94D049BB133111EBu;
    return h ^ h >> 31;
}

// Random numbers of rows: each depends on a seed, the row's hash, and how many rows of this hash came before. Hashes
// are counted in a table with open addressing that is at most half full.
class RowKeys {
public:
    // Up to `most` different hashes are counted; any other counts as new whenever it comes.
    RowKeys(std::uint64_t seed, std::size_t most)
        : start_(mixed(seed)), most_(std::clamp<std::size_t>(most, 1, std::size_t(1) << 40)) {
        resize(4096);
    }

    void keys(const std::uint64_t* hashes, std::size_t n, std::uint64_t* found) {
        constexpr std::size_t kBlock = 64;  // slots that are fetched before they are looked at
        std::uint64_t slots[kBlock];
        for (std::size_t start = 0; start < n; start += kBlock) {
            const std::size_t rows = std::min(kBlock, n - start);
            for (std::size_t i = 0; i < rows; ++i) {
                slots[i] = slot_of(hashes[start + i]);
                text::fetch(&slots_[slots[i] >> shift_]);
            }
            for (std::size_t i = 0; i < rows; ++i)
                found[start + i] = mixed(mixed(hashes[start + i] ^ start_) + repeats(slots[i]));
        }
    }

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class T>
    using Zeros = std::unique_ptr<T[], Free>;
    static constexpr std::size_t kHugePage = std::size_t(1) << 21;

    template <class T>
    static Zeros<T> zeros(std::size_t size) {
        const std::size_t bytes = size * sizeof(T);
#if defined(__linux__)
        if (bytes >= 2 * kHugePage) {  // looking up slots at random takes half as long where pages are huge
            void* memory = std::aligned_alloc(kHugePage, bytes);
            if (memory == nullptr) throw std::bad_alloc();
            madvise(memory, bytes, MADV_HUGEPAGE);
            std::memset(memory, 0, bytes);
            return Zeros<T>(static_cast<T*>(memory));
        }
#endif
        auto* memory = static_cast<T*>(std::calloc(size, sizeof(T)));
        if (memory == nullptr) throw std::bad_alloc();
        return Zeros<T>(memory);
    }

    // What stands in a slot for a hash; 0 is a free slot.
    static std::uint64_t slot_of(std::uint64_t hash) { return std::max<std::uint64_t>(text::slot_key(hash), 1); }

    std::size_t place(std::uint64_t slot) const {
        std::size_t at = slot >> shift_;
        while (slots_[at] != 0 && slots_[at] != slot) at = (at + 1) & (size_ - 1);
        return at;
    }

    // How often a hash came before, given what stands for it.
    std::uint32_t repeats(std::uint64_t slot) {
        const std::size_t at = place(slot);
        if (slots_[at] != 0) {
            if (!counts_) counts_ = zeros<std::uint32_t>(size_);
            return counts_[at] += counts_[at] != UINT32_MAX;
        }
        if (held_ < most_) {
            slots_[at] = slot;
            if (2 * ++held_ > size_) resize(std::min(4 * size_, std::bit_ceil(2 * most_)));
        }
        return 0;
    }

    // Slots are in the order of their first bits, before and after: both tables are gone through in order.
    void resize(std::size_t size) {
        auto slots = zeros<std::uint64_t>(size);
        auto counts = counts_ ? zeros<std::uint32_t>(size) : nullptr;
        slots_.swap(slots);
        counts_.swap(counts);
        const std::size_t before = std::exchange(size_, size);
        shift_ = 64 - std::countr_zero(size);
        for (std::size_t i = 0; i < before; ++i) {
            if (slots[i] == 0) continue;
            const std::size_t at = place(slots[i]);
            slots_[at] = slots[i];
            if (counts_) counts_[at] = counts[i];
        }
    }

    std::uint64_t start_;
    std::size_t most_;
    std::size_t size_ = 0;  // of the table, a power of two
    std::size_t held_ = 0;
    int shift_ = 0;
    Zeros<std::uint64_t> slots_;
    Zeros<std::uint32_t> counts_;  // how often each slot's hash came again; null while none has
};

}  // namespace suffice::rows
