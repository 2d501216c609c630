// Features as bytes and back: names a line each, then places of grams, ascending, as differences.
#pragma once

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

#include "decimals.hpp"
#include "features.hpp"
#include "memory.hpp"

namespace suffice::mail {

inline void put_number(std::string& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
    to.push_back(static_cast<char>(value));
}

inline std::uint64_t take_number(std::string_view& from) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 63 && !from.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(from.front());
        from.remove_prefix(1);
        value |= std::uint64_t(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    throw std::invalid_argument("a message in the journal is damaged");
}

inline std::string packed(const Features& features) {
    std::string bytes;
    put_number(bytes, features.tokens.size());
    for (const Token& token : features.tokens) bytes.append(features.name(token)).push_back('\n');
    std::vector<std::uint32_t> grams = features.grams;
    std::sort(grams.begin(), grams.end());
    put_number(bytes, grams.size());
    std::uint32_t last = 0;
    for (const std::uint32_t gram : grams) {
        put_number(bytes, gram - last);
        last = gram;
    }
    return bytes;
}

inline Features unpacked(std::string_view bytes) {
    Features features;
    for (std::uint64_t left = take_number(bytes); left > 0; --left) {
        const std::size_t end = bytes.find('\n');
        if (end == bytes.npos) throw std::invalid_argument("a message in the journal is damaged");
        const std::string_view name = bytes.substr(0, end);
        const auto odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; };
        if (name.empty() || std::any_of(name.begin(), name.end(), odd)) {
            throw std::invalid_argument("a message in the journal is damaged");
        }
        const auto begin = static_cast<std::uint32_t>(features.names.size());
        features.names.append(name);
        features.tokens.push_back({text::hash_of(name.data(), name.size()), begin, static_cast<std::uint32_t>(end)});
        bytes.remove_prefix(end + 1);
    }
    std::uint64_t gram = 0;
    for (std::uint64_t left = take_number(bytes); left > 0; --left) {
        gram += take_number(bytes);
        if (gram >> kGramBits) throw std::invalid_argument("a message in the journal is damaged");
        features.grams.push_back(static_cast<std::uint32_t>(gram));
    }
    if (!bytes.empty()) throw std::invalid_argument("a message in the journal is damaged");
    return features;
}

// Numbers as text that are read back as they were.
inline void put_text(std::string& to, float value) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    to.push_back('\t');
    to.append(digits, end);
}

inline float take_text(std::string_view& from) {
    const std::size_t end = std::min(from.find('\t'), from.size());
    const std::optional<float> value = float_of(from.substr(0, end));
    if (!value || !(std::abs(*value) <= 1e18f)) {
        throw std::invalid_argument("'" + std::string(from.substr(0, std::min<std::size_t>(end, 40))) + "' is no number");
    }
    from.remove_prefix(std::min(from.size(), end + 1));
    return *value;
}

// A row of a memory as a line: counts, the day, weights, squares.
inline std::string row_text(const Memory& memory, std::string_view name, std::size_t row) {
    std::string line(name);
    for (std::size_t k = 0; k < memory.classes(); ++k) put_text(line, memory.counts[row * memory.classes() + k]);
    put_text(line, memory.days[row]);
    for (std::size_t c = 0; c < memory.columns(); ++c) {
        put_text(line, memory.weights[row * memory.columns() + c]);
        put_text(line, memory.squares[row * memory.columns() + c]);
    }
    return line;
}

inline void take_row(Memory& memory, std::string_view line) {
    const std::string_view name = line.substr(0, line.find('\t'));
    const std::size_t row = memory.row(text::hash_of(name.data(), name.size()), name);
    line.remove_prefix(std::min(line.size(), name.size() + 1));
    for (std::size_t k = 0; k < memory.classes(); ++k) {
        memory.counts[row * memory.classes() + k] += std::max(0.0f, take_text(line));
    }
    memory.days[row] = static_cast<std::uint16_t>(std::clamp(take_text(line), 0.0f, 65535.0f));
    for (std::size_t c = 0; c < memory.columns(); ++c) {
        memory.weights[row * memory.columns() + c] = take_text(line);
        memory.squares[row * memory.columns() + c] = std::max(0.0f, take_text(line));
    }
    if (!line.empty()) throw std::invalid_argument("there are more numbers than there should be");
}

// The weights of a gram as a line, if it has any.
inline std::string gram_text(const Memory& memory, std::size_t gram) {
    std::string line;
    bool any = false;
    for (std::size_t c = 0; c < memory.columns(); ++c) {
        const std::size_t at = gram * memory.columns() + c;
        any = any || memory.gram_squares[at] > 0;
        put_text(line, memory.gram_weights[at]);
        put_text(line, memory.gram_squares[at]);
    }
    return any ? "=" + std::to_string(gram) + line : std::string();
}

inline void take_gram(Memory& memory, std::string_view line) {
    if (line.empty() || line.front() != '=') throw std::invalid_argument("a gram's line begins with =");
    line.remove_prefix(1);
    const float place = take_text(line);
    if (!(place >= 0 && place < static_cast<float>(kGrams) && place == std::floor(place))) {
        throw std::invalid_argument("there is no such gram");
    }
    for (std::size_t c = 0; c < memory.columns(); ++c) {
        const std::size_t at = static_cast<std::size_t>(place) * memory.columns() + c;
        memory.gram_weights[at] = take_text(line);
        memory.gram_squares[at] = std::max(0.0f, take_text(line));
    }
}

}  // namespace suffice::mail
