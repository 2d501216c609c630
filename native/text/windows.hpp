// Sixty-four bytes at a time: which of them are of ASCII words, and what they are in lower case.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define SUFFICE_SSE2
#endif

namespace suffice::text {

constexpr std::size_t kWindow = 64;

struct Window {
    std::uint64_t words;    // a bit for each byte that is a letter, a digit or an underscore
    std::uint64_t foreign;  // a bit for each byte that is no ASCII
    char bytes[kWindow];    // as they are, or in lower case
};

inline int lowest(std::uint64_t bits) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(bits);
#else
    int at = 0;
    while ((bits & 1) == 0) bits >>= 1, ++at;
    return at;
#endif
}

#if defined(SUFFICE_SSE2)
inline void look(const char* p, bool lower, Window& window) {
    const auto within = [](__m128i bytes, char first, char last) {  // bytes above 127 are negative, and in no range
        return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(first - 1))),
                             _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(last + 1))));
    };
    window.words = window.foreign = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
        const __m128i capital = within(bytes, 'A', 'Z');
        const __m128i word = _mm_or_si128(_mm_or_si128(capital, within(bytes, 'a', 'z')),
                                          _mm_or_si128(within(bytes, '0', '9'), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_'))));
        const __m128i raised = _mm_and_si128(capital, _mm_set1_epi8(lower ? 0x20 : 0));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(window.bytes + 16 * part), _mm_or_si128(bytes, raised));
        window.words |= std::uint64_t(std::uint32_t(_mm_movemask_epi8(word))) << 16 * part;
        window.foreign |= std::uint64_t(std::uint32_t(_mm_movemask_epi8(bytes))) << 16 * part;
    }
}
#else
inline void look(const char* p, bool lower, Window& window) {
    window.words = window.foreign = 0;
    for (std::size_t i = 0; i < kWindow; ++i) {
        const auto byte = static_cast<unsigned char>(p[i]);
        const bool capital = byte - 'A' < 26u;
        const bool word = capital || byte - 'a' < 26u || byte - '0' < 10u || byte == '_';
        window.bytes[i] = static_cast<char>(byte | (capital && lower ? 0x20 : 0));
        window.words |= std::uint64_t(word) << i;
        window.foreign |= std::uint64_t(byte >= 128) << i;
    }
}
#endif

}  // namespace suffice::text
