// Characters: bytes in a charset in, UTF-8 out. Charsets that are not known here are kept for others to decode.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../text/alphabet.hpp"
#include "limits.hpp"
#include "transfer.hpp"

namespace suffice::mail {

// Where the ASCII at the beginning ends.
inline std::size_t ascii_size(std::string_view text) {
    std::size_t at = 0;
    for (; text.size() - at >= 32; at += 32) {
        std::uint64_t four[4];
        std::memcpy(four, text.data() + at, 32);
        if (((four[0] | four[1] | four[2] | four[3]) & 0x8080808080808080u) != 0) break;
    }
    while (at < text.size() && byte_of(text[at]) < 0x80) ++at;
    return at;
}

// How many bytes the character at a place takes; 0 where there is no UTF-8.
inline std::size_t utf8_size(std::string_view text, std::size_t at) {
    const std::size_t left = text.size() - at;
    const unsigned lead = byte_of(text[at]);
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (left < size) return 0;
    const unsigned second = byte_of(text[at + 1]);
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) return 0;
    for (std::size_t i = 2; i < size; ++i) {
        if ((byte_of(text[at + i]) & 0xC0) != 0x80) return 0;
    }
    return size;
}

// Where the UTF-8 at the beginning ends.
inline std::size_t utf8_end(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        at += ascii_size(text.substr(at));
        while (at < text.size() && byte_of(text[at]) >= 0x80) {
            const std::size_t size = utf8_size(text, at);
            if (size == 0) return at;
            at += size;
        }
    }
    return at;
}

inline bool valid_utf8(std::string_view text) { return utf8_end(text) == text.size(); }

// The first bytes of UTF-8 text, cut between characters.
inline std::string_view cut_utf8(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && (byte_of(text[most]) & 0xC0) == 0x80) --most;
    return text.substr(0, most);
}

// What is no character becomes U+FFFD.
inline void append_character(std::string& out, std::uint32_t code) {
    if (code >= 0x110000 || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    char bytes[4];
    const char* end = text::encode(static_cast<std::int32_t>(code), bytes);
    out.append(bytes, static_cast<std::size_t>(end - bytes));
}

inline void drop_nuls(std::string& text) { text.erase(std::remove(text.begin(), text.end(), '\0'), text.end()); }

// Repairs invalid UTF-8.
inline std::string repaired(std::string text) {
    std::size_t good = utf8_end(text);
    if (good == text.size()) return text;
    std::string out;
    std::string_view rest = text;
    for (; !rest.empty(); good = utf8_end(rest)) {
        out.append(rest.substr(0, good));
        rest.remove_prefix(good);
        if (rest.empty()) break;
        out.append("\xEF\xBF\xBD");
        rest.remove_prefix(1);
    }
    return out;
}

// What the bytes 128 to 159 are in windows-1252; those that are nothing there are control characters.
inline constexpr std::array<std::uint16_t, 32> kWindows = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

inline std::uint32_t windows_character(std::uint32_t code) {
    return code >= 128 && code < 160 ? kWindows[code - 128] : code;
}

// What ISO 8859-15 has where ISO 8859-1 has something else.
inline std::uint32_t latin9_character(std::uint32_t code) {
    switch (code) {
        case 0xA4: return 0x20AC;
        case 0xA6: return 0x160;
        case 0xA8: return 0x161;
        case 0xB4: return 0x17D;
        case 0xB8: return 0x17E;
        case 0xBC: return 0x152;
        case 0xBD: return 0x153;
        case 0xBE: return 0x178;
        default: return windows_character(code);
    }
}

// Appends bytes of which each is a character.
template <class Character>
void append_bytes(std::string& out, std::string_view bytes, Character&& character) {
    while (!bytes.empty()) {
        const std::size_t plain = ascii_size(bytes);
        out.append(bytes.substr(0, plain));
        bytes.remove_prefix(plain);
        while (!bytes.empty() && byte_of(bytes.front()) >= 0x80) {
            append_character(out, character(byte_of(bytes.front())));
            bytes.remove_prefix(1);
        }
    }
}

// UTF-8 where the bytes are that, if need be without half a character at their end; else windows-1252.
inline void append_guess(std::string& out, std::string_view bytes) {
    const std::size_t end = utf8_end(bytes);
    const std::size_t left = bytes.size() - end;
    const bool halved = left > 0 && left < 4 && end > 0 && byte_of(bytes[end]) >= 0xC2 && ascii_size(bytes) < end;
    if (left == 0 || halved) {
        out.append(bytes.substr(0, end));
    } else {
        append_bytes(out, bytes, windows_character);
    }
}

inline void append_utf16(std::string& out, std::string_view bytes, bool big) {
    const auto unit = [&](std::size_t at) {
        const std::uint32_t first = byte_of(bytes[at]), second = byte_of(bytes[at + 1]);
        return big ? first << 8 | second : second << 8 | first;
    };
    for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
        std::uint32_t code = unit(at);
        if (code >= 0xD800 && code < 0xDC00 && at + 4 <= bytes.size()) {
            const std::uint32_t low = unit(at + 2);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at += 2;
            }
        }
        if (code != 0 && code != 0xFEFF) append_character(out, code);
    }
}

enum class Charset : std::uint8_t { guess, utf8, windows, latin9, utf16, utf16_little, utf16_big, foreign };

// The charset of a name in lower case.
inline Charset charset_of(std::string_view name) {
    struct Named {
        std::string_view name;
        Charset charset;
    };
    static constexpr Named kNamed[] = {
        {"", Charset::guess}, {"us-ascii", Charset::guess}, {"iso-8859-1", Charset::windows},
        {"utf-8", Charset::utf8}, {"windows-1252", Charset::windows}, {"iso-8859-15", Charset::latin9},
        {"utf8", Charset::utf8}, {"ascii", Charset::guess}, {"iso8859-1", Charset::windows},
        {"iso_8859-1", Charset::windows}, {"latin1", Charset::windows}, {"latin-1", Charset::windows},
        {"l1", Charset::windows}, {"cp1252", Charset::windows}, {"cp-1252", Charset::windows},
        {"x-ansi", Charset::windows}, {"iso8859-15", Charset::latin9}, {"latin9", Charset::latin9},
        {"latin-9", Charset::latin9}, {"utf-16", Charset::utf16}, {"utf16", Charset::utf16},
        {"utf-16le", Charset::utf16_little}, {"utf-16be", Charset::utf16_big}, {"ansi_x3.4-1968", Charset::guess},
        {"default", Charset::guess}, {"default_charset", Charset::guess}, {"unknown-8bit", Charset::guess},
        {"x-unknown", Charset::guess}, {"unknown", Charset::guess}, {"7bit", Charset::guess}, {"8bit", Charset::guess}};
    for (const Named& each : kNamed) {
        if (each.name == name) return each.charset;
    }
    return Charset::foreign;
}

inline bool is_charset_name(std::string_view name) {
    if (name.size() > 40) return false;
    return std::all_of(name.begin(), name.end(), [](char c) {
        return is_letter(c) || is_digit(c) || std::string_view("-_.:+()").find(c) != std::string_view::npos;
    });
}

// Whether the charset is a superset of ASCII.
inline bool extends_ascii(std::string_view name) {
    static constexpr std::string_view kBeginnings[] = {"iso-8859", "iso8859", "windows-125", "cp125", "koi8", "gb2312",
                                                       "gbk", "gb18030", "big5", "euc-", "ks_c", "x-mac"};
    return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                       [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

// Bytes in a charset that others decode.
struct Foreign {
    std::string charset;
    std::string bytes;
};

// UTF-8 with gaps, where foreign bytes belong.
struct Written {
    struct Gap {
        std::size_t at, foreign;
    };
    std::string text;
    std::vector<Gap> gaps;
};

// Decodes bytes, or keeps them.
class Characters {
public:
    explicit Characters(Troubles& troubles) : troubles_(troubles) {}

    // Appends bytes as text. NUL is left out.
    void append(Written& out, std::string_view name, std::string_view bytes) {
        std::string small = lowered(trimmed(name));
        if (!is_charset_name(small)) {
            troubles_.add(Trouble::charset, "a charset has a name that none can have");
            small.clear();
        }
        const Charset charset = charset_of(small);
        std::string without;
        if (charset <= Charset::latin9 && find_byte(bytes, '\0', 0) != kNowhere) {
            without.assign(bytes);
            drop_nuls(without);
            bytes = without;
        }
        switch (charset) {
            case Charset::guess:
            case Charset::utf8: append_guess(out.text, without_mark(bytes)); break;
            case Charset::windows: append_bytes(out.text, bytes, windows_character); break;
            case Charset::latin9: append_bytes(out.text, bytes, latin9_character); break;
            case Charset::utf16: append_utf16(out.text, bytes, bytes.substr(0, 2) == "\xFE\xFF"); break;
            case Charset::utf16_little: append_utf16(out.text, bytes, false); break;
            case Charset::utf16_big: append_utf16(out.text, bytes, true); break;
            case Charset::foreign: keep(out, std::move(small), bytes); break;
        }
    }

    const std::vector<Foreign>& foreign() const { return foreign_; }

    void say(std::size_t index, std::string utf8) {
        said_.resize(foreign_.size());
        drop_nuls(utf8);
        if (index < said_.size()) said_[index] = repaired(std::move(utf8));
    }

    // The text with its gaps filled in.
    std::string written(const Written& text) const {
        if (text.gaps.empty()) return text.text;
        std::string out;
        std::size_t at = 0;
        for (const Written::Gap& gap : text.gaps) {
            out.append(text.text, at, gap.at - at);
            at = gap.at;
            if (gap.foreign < said_.size() && said_[gap.foreign]) {
                out.append(*said_[gap.foreign]);
            } else {
                std::string bytes = foreign_[gap.foreign].bytes;
                drop_nuls(bytes);
                append_guess(out, bytes);
            }
        }
        out.append(text.text, at);
        return out;
    }

private:
    static constexpr std::size_t kMost = 1000;  // stretches for others to decode

    static std::string_view without_mark(std::string_view bytes) {
        return bytes.substr(0, 3) == "\xEF\xBB\xBF" ? bytes.substr(3) : bytes;
    }

    void keep(Written& out, std::string name, std::string_view bytes) {
        const bool plain = ascii_size(bytes) == bytes.size() && extends_ascii(name);
        const bool full = foreign_.size() == kMost;
        std::string own(bytes);
        if (plain || full) {
            if (!plain) troubles_.over(Trouble::charset, kMost, "stretches in foreign charsets");
            drop_nuls(own);
            append_guess(out.text, own);
        } else {
            out.gaps.push_back({out.text.size(), foreign_.size()});
            foreign_.push_back({std::move(name), std::move(own)});
        }
    }

    Troubles& troubles_;
    std::vector<Foreign> foreign_;
    std::vector<std::optional<std::string>> said_;  // decoded text of foreign stretches, as far as known
};

}  // namespace suffice::mail
