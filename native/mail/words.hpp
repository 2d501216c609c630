// The words of a message's text. Case is kept: FREE and free are not the same word in mail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace suffice::mail {

// What a byte does to a word: ends it, is part of it, or joins two parts of it.
enum class Role : std::uint8_t { between, within, joins, high };

inline constexpr std::array<Role, 256> kRoles = [] {
    std::array<Role, 256> roles{};
    for (int c = '0'; c <= '9'; ++c) roles[c] = Role::within;
    for (int c = 'a'; c <= 'z'; ++c) roles[c] = Role::within;
    for (int c = 'A'; c <= 'Z'; ++c) roles[c] = Role::within;
    for (const char c : {'_', '$', '!', '\'', '-'}) roles[static_cast<unsigned char>(c)] = Role::within;
    for (const char c : {'.', ',', '@', '/'}) roles[static_cast<unsigned char>(c)] = Role::joins;
    for (int c = 0x80; c < 0x100; ++c) roles[c] = Role::high;
    return roles;
}();

// One character of UTF-8 from position i of text, which is valid UTF-8; moves i past it.
inline std::uint32_t character(std::string_view text, std::size_t& i) {
    const auto at = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
    const std::uint32_t first = at(i);
    if (first < 0x80) return ++i, first;
    const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    std::uint32_t code = first & (0xFF >> (size + 1));
    for (std::size_t k = 1; k < size; ++k) code = code << 6 | (at(i + k) & 0x3F);
    i = i + size < text.size() ? i + size : text.size();
    return code;
}

// Scripts that put no spaces between words: there, two characters side by side do as a word.
inline bool unspaced(std::uint32_t code) {
    return (code >= 0x2E80 && code <= 0x2FFF) || (code >= 0x3041 && code <= 0x30FF) || (code >= 0x3400 && code <= 0x9FFF) ||
           (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x20000 && code <= 0x3FFFF) || (code >= 0x0E00 && code <= 0x0EFF);
}

// Spaces, punctuation and controls beyond ASCII.
inline bool breaks(std::uint32_t code) {
    return code < 0xA2 || (code >= 0xA6 && code <= 0xBF && code != 0xAA && code != 0xB5 && code != 0xBA) || code == 0xD7 ||
           code == 0xF7 || (code >= 0x2000 && code <= 0x206F) || (code >= 0x3000 && code <= 0x3020) ||
           (code >= 0xFF00 && code <= 0xFF0F) || code == 0xFEFF || code == 0xFFFD;
}

// Calls put(word) for each word of text, which is valid UTF-8. Words are views into it.
template <class Put>
void each_word(std::string_view text, Put&& put) {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t begin = none;   // of the word that is being read
    std::size_t lone = none;    // the last character, if of a script without spaces
    const auto close = [&](std::size_t end) {
        if (begin == none) return;
        std::string_view word = text.substr(begin, end - begin);
        begin = none;
        const auto edge = [](char c) { return c == '.' || c == ',' || c == '-' || c == '\'' || c == '/' || c == '@'; };
        while (!word.empty() && edge(word.front())) word.remove_prefix(1);
        while (!word.empty() && edge(word.back())) word.remove_suffix(1);
        if (!word.empty()) put(word);
    };
    std::size_t i = 0;
    while (i < text.size()) {
        const Role role = kRoles[static_cast<unsigned char>(text[i])];
        if (role == Role::within) {
            if (begin == none) begin = i;
            lone = none;
            ++i;
        } else if (role == Role::high) {
            const std::size_t from = i;
            const std::uint32_t code = character(text, i);
            if (unspaced(code)) {
                close(from);
                put(text.substr(lone == none ? from : lone, i - (lone == none ? from : lone)));
                lone = from;
                continue;
            }
            if (breaks(code)) {
                close(from);
            } else if (begin == none) {
                begin = from;
            }
            lone = none;
        } else {
            // A single full stop, comma or the like between two parts of a word belongs to it: 10.5, a@b.c.
            const bool joins = role == Role::joins && begin != none && i + 1 < text.size() &&
                               kRoles[static_cast<unsigned char>(text[i + 1])] != Role::between &&
                               kRoles[static_cast<unsigned char>(text[i + 1])] != Role::joins;
            if (!joins) close(i);
            lone = none;
            ++i;
        }
    }
    close(text.size());
}

}  // namespace suffice::mail
