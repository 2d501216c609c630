// Transfer encodings: base64, quoted-printable, per cent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace suffice::mail {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

inline unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return ((c | 0x20) >= 'a') && ((c | 0x20) <= 'z'); }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

// Where a byte is, from a place on, or kNowhere.
inline std::size_t find_byte(std::string_view text, char byte, std::size_t from) {
    if (from >= text.size()) return kNowhere;
    const auto* found = static_cast<const char*>(std::memchr(text.data() + from, byte, text.size() - from));
    return found == nullptr ? kNowhere : static_cast<std::size_t>(found - text.data());
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

// Whether text has these letters, given in lower case, at a place.
inline bool has_at(std::string_view text, std::size_t at, std::string_view letters) {
    if (at > text.size() || text.size() - at < letters.size()) return false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        if (lower(text[at + i]) != letters[i]) return false;
    }
    return true;
}

// What a hexadecimal digit is worth, or -1.
inline int hex_of(char c) {
    if (is_digit(c)) return c - '0';
    const char small = lower(c);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

struct Decoded {
    std::string bytes;
    bool broken = false;  // something was no such encoding
    bool cut = false;     // there was more than was wanted
};

namespace base64 {

constexpr std::uint8_t kSpace = 64, kPadding = 65, kNone = 66;

constexpr std::array<std::uint8_t, 256> make_values() {
    std::array<std::uint8_t, 256> values{};
    for (auto& value : values) value = kNone;
    for (std::uint8_t i = 0; i < 26; ++i) values[std::size_t('A') + i] = i, values[std::size_t('a') + i] = i + 26;
    for (std::uint8_t i = 0; i < 10; ++i) values[std::size_t('0') + i] = i + 52;
    values['+'] = 62, values['/'] = 63, values['='] = kPadding;
    values[' '] = values['\t'] = values['\r'] = values['\n'] = kSpace;
    return values;
}
inline constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace base64

// Bytes that base64 does not know are passed over; padding ends it.
inline Decoded decode_base64(std::string_view text, std::size_t most) {
    using namespace base64;
    Decoded result;
    const std::size_t whole = text.size() / 4 * 3 + 3;
    std::string& out = result.bytes;
    out.resize(whole < most ? whole : most);
    std::size_t at = 0, size = 0;
    std::uint32_t bits = 0, count = 0;  // of the characters that wait, and how many
    const auto put = [&](std::uint32_t byte) {
        if (size < out.size()) {
            out[size++] = static_cast<char>(byte);
        } else {
            result.cut = true;
        }
    };
    while (at < text.size() && !result.cut) {
        if (count == 0) {
            while (text.size() - at >= 4 && out.size() - size >= 3) {
                const std::uint32_t a = kValues[byte_of(text[at])], b = kValues[byte_of(text[at + 1])],
                                    c = kValues[byte_of(text[at + 2])], d = kValues[byte_of(text[at + 3])];
                if (a > 63 || b > 63 || c > 63 || d > 63) break;
                const std::uint32_t three = a << 18 | b << 12 | c << 6 | d;
                out[size] = static_cast<char>(three >> 16);
                out[size + 1] = static_cast<char>(three >> 8 & 0xFF);
                out[size + 2] = static_cast<char>(three & 0xFF);
                size += 3, at += 4;
            }
            if (at == text.size()) break;
        }
        const std::uint32_t value = kValues[byte_of(text[at++])];
        if (value < 64) {
            bits = bits << 6 | value;
            if (++count == 4) {
                put(bits >> 16 & 0xFF), put(bits >> 8 & 0xFF), put(bits & 0xFF);
                bits = count = 0;
            }
        } else if (value == kPadding) {
            if (count >= 2) break;
            result.broken = true;
        } else if (value == kNone) {
            result.broken = true;
        }
    }
    if (count == 1) result.broken = true;
    if (count >= 2) put(bits >> (6 * count - 8) & 0xFF);
    if (count == 3) put(bits >> 2 & 0xFF);
    while (at < text.size() && !result.broken && !result.cut) {
        const std::uint32_t value = kValues[byte_of(text[at++])];
        result.broken = value != kSpace && value != kPadding;
    }
    out.resize(size);
    return result;
}

// Codes that are none stay as they are. In fields (`words`), an underscore is a blank.
inline Decoded decode_quoted(std::string_view text, std::size_t most, bool words) {
    Decoded result;
    std::string& out = result.bytes;
    out.reserve(text.size() < most ? text.size() : most);
    const auto take = [&](std::string_view run) {
        const std::size_t room = most - out.size();
        if (run.size() > room) run = run.substr(0, room), result.cut = true;
        const std::size_t begin = out.size();
        out.append(run);
        if (!words) return;
        for (std::size_t i = begin; i < out.size(); ++i) {
            if (out[i] == '_') out[i] = ' ';
        }
    };
    for (std::size_t at = 0; at < text.size() && !result.cut;) {
        const std::size_t found = find_byte(text, '=', at);
        const std::size_t end = found == kNowhere ? text.size() : found;
        if (end > at) take(text.substr(at, end - at));
        if (end == text.size() || result.cut) break;
        const int high = end + 2 < text.size() ? hex_of(text[end + 1]) : -1;
        const int low = high >= 0 ? hex_of(text[end + 2]) : -1;
        if (low >= 0) {
            const char byte = static_cast<char>(high << 4 | low);
            if (out.size() < most) {
                out.push_back(byte);
            } else {
                result.cut = true;
            }
            at = end + 3;
            continue;
        }
        std::size_t next = end + 1;  // a line that goes on in the next one?
        while (next < text.size() && is_blank(text[next])) ++next;
        if (next == text.size()) {
            at = next;
        } else if (text[next] == '\n') {
            at = next + 1;
        } else if (text[next] == '\r') {
            at = next + 1 < text.size() && text[next + 1] == '\n' ? next + 2 : next + 1;
        } else {
            result.broken = true;
            take("=");
            at = end + 1;
        }
    }
    return result;
}

// "%41" is "A"; codes that are none stay as they are.
inline std::string decode_percent(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const int high = text[at] == '%' && at + 2 < text.size() ? hex_of(text[at + 1]) : -1;
        const int low = high >= 0 ? hex_of(text[at + 2]) : -1;
        if (low >= 0) {
            out.push_back(static_cast<char>(high << 4 | low));
            at += 2;
        } else {
            out.push_back(text[at]);
        }
    }
    return out;
}

}  // namespace suffice::mail
