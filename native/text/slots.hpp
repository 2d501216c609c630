// Where hash tables put words. Their hashes are the same on every machine, so anybody can make words whose hashes are
// alike in any of their bits. Tables place them by keys that depend on random numbers of this process. Nothing but the
// place in a table may depend on a key: no file, and no order of results.
#pragma once

#include <cstdint>
#include <random>

#include "hashing.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace suffice::text {

// Random numbers of this process; the factors are odd.
struct Secret {
    std::uint64_t mask = draw(), factor = draw() | 1, last = draw() | 1;

private:
    static std::uint64_t draw() {
        std::random_device device;
        return std::uint64_t(device()) << 32 | device();
    }
};
inline const Secret kSecret;

// The exclusive or of the halves of a product: each bit of the factors affects all bits.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#if defined(_MSC_VER) && defined(_M_X64)
    std::uint64_t high;
    const std::uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#elif defined(_MSC_VER)
    return (a * b) ^ __umulh(a, b);
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

// The key of a hash; different hashes have different keys. Low bits of a product depend on low bits of its factors
// alone: they are mixed with the high ones after each.
inline std::uint64_t slot_key(std::uint64_t hash) {
    std::uint64_t key = (hash ^ kSecret.mask) * kSecret.factor;
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    return key ^ key >> 32;
}

// The key of a word with its hash. Different words of one size up to 8 have different hashes, so different keys. Longer
// words are read again: it is easy to make many of one hash.
inline std::uint64_t slot_key(const char* p, std::size_t size, std::uint64_t hash) {
    if (size <= 8) return slot_key(hash);
    const char* tail = p + size - 8;
    std::uint64_t key = kSecret.mask + size * kSecret.factor;
    for (; p < tail; p += 8) key = folded_product(key ^ eight(p), kSecret.factor);
    return folded_product(key ^ eight(tail), kSecret.last);
}

}  // namespace suffice::text
