// One hash of bytes, the same on every machine: hashed vocabularies and samples in files depend on it.
#pragma once

#include <cstdint>
#include <cstring>

namespace suffice::text {

// Asks for memory to be brought closer.
inline void fetch(const void* memory) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(memory);
#else
    (void)memory;
#endif
}

// One number for another: no two become the same.
inline std::uint64_t mixed(std::uint64_t h) {
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return h;
}

inline std::uint64_t byte_at(const char* p, std::size_t i) { return static_cast<unsigned char>(p[i]); }

// Eight bytes as a number, the lowest first, whatever the machine.
inline std::uint64_t eight(const char* p) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value |= byte_at(p, i) << 8 * i;
#else
    std::uint64_t value;
    std::memcpy(&value, p, 8);
#endif
    return value;
}

inline std::uint64_t four(const char* p) {
    return byte_at(p, 0) | byte_at(p, 1) << 8 | byte_at(p, 2) << 16 | byte_at(p, 3) << 24;
}

// The same of up to eight bytes, without a loop: reads that overlap agree where they do.
inline std::uint64_t few(const char* p, std::size_t size) {
    if (size >= 4) return four(p) | four(p + size - 4) << 8 * (size - 4);
    if (size == 0) return 0;
    return byte_at(p, 0) | byte_at(p, size / 2) << 8 * (size / 2) | byte_at(p, size - 1) << 8 * (size - 1);
}

// The same where seven bytes past the end can be read, whatever they are.
inline std::uint64_t few_of_more(const char* p, std::size_t size) {
    return eight(p) & (~std::uint64_t(0) >> (64 - 8 * size) % 64);
}

// With `more`, seven bytes past the end can be read.
template <bool more = false>
std::uint64_t hash_of(const char* p, std::size_t size) {
    std::uint64_t h = 0x9E3779B97F4A7C15u ^ (size * 0xA0761D6478BD642Fu);
    for (; size > 8; size -= 8, p += 8) {
        h = (h ^ eight(p)) * 0xE7037ED1A0B428DBu;
        h ^= h >> 29;
    }
    return mixed(h ^ (more && size > 0 ? few_of_more(p, size) : few(p, size)));
}

// MurmurHash3_x86_32 of bytes with seed 0, as scikit-learn's hashed features use it; the algorithm of Austin Appleby is
// in the public domain.
inline std::int32_t murmur3(const char* p, std::size_t size) {
    const auto rotated = [](std::uint32_t x, int by) { return x << by | x >> (32 - by); };
    const auto scrambled = [&](std::uint32_t word) { return rotated(word * 0xCC9E2D51u, 15) * 0x1B873593u; };
    std::uint32_t h = 0;
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4) {
        h = rotated(h ^ scrambled(static_cast<std::uint32_t>(four(p + i))), 13) * 5 + 0xE6546B64u;
    }
    std::uint32_t rest = 0;
    for (std::size_t b = size; b-- > i;) rest = rest << 8 | static_cast<std::uint32_t>(byte_at(p, b));
    h ^= scrambled(rest);  // 0 of no bytes
    h ^= static_cast<std::uint32_t>(size);
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    return static_cast<std::int32_t>(h);
}

}  // namespace suffice::text
