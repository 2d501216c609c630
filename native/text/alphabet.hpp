// Characters of UTF-8, folded by the settings. The tables come from the running Python, so that words are those of its
// regular expressions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace suffice::text {

constexpr std::int32_t kCharacters = 0x110000, kReplacement = 0xFFFD;

// What a character is.
enum Kind : std::uint8_t { word = 1, space = 2 };

struct Alphabet {
    const std::uint8_t* kind;    // (0x110000,) what each character is
    const std::int32_t* fold;    // (0x110000,) the character it becomes, or ~place among the expansions
    const std::int32_t* longer;  // expansions: a length, then so many characters
};

struct Character {
    std::int32_t code;
    const char* after;
};

// Returns the character at p. Bytes that are no UTF-8 are read as U+FFFD, one for each longest beginning of a character,
// as Python's errors="replace" has it. With `surrogates`, lone ones are characters.
inline Character decode(const char* p, const char* end, bool surrogates) {
    const auto lead = static_cast<unsigned char>(*p++);
    if (lead < 0x80) return {lead, p};
    if (lead < 0xC2 || lead > 0xF4) return {kReplacement, p};
    const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    std::int32_t code = lead & (0x3F >> more);
    unsigned char low = 0x80, high = 0xBF;  // of the second byte: neither too long a form nor past the last character
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED && !surrogates) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (int i = 0; i < more; ++i) {
        if (p == end) return {kReplacement, p};
        const auto byte = static_cast<unsigned char>(*p);
        if (byte < low || byte > high) return {kReplacement, p};
        code = (code << 6) | (byte & 0x3F);
        low = 0x80, high = 0xBF;
        ++p;
    }
    return {code, p};
}

// Writes a character as UTF-8, lone surrogates too, and returns its end.
inline char* encode(std::int32_t code, char* out) {
    const auto put = [&](std::int32_t byte) { *out++ = static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
    }
    return out;
}

// A document: bytes, and whether they were written from a str, in which surrogates may be alone.
struct Document {
    const char* begin;
    const char* end;
    bool surrogates;
};

}  // namespace suffice::text
