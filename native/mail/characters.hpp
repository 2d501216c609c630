// Characters: bytes in a charset in, UTF-8 out. Charsets that are not known here are kept for others to decode.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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

// The beginning of UTF-8, at most so many bytes, without half a character.
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

// Makes UTF-8 of what should be.
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

// What a charset's name, in lower case, stands for.
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

// Whether ASCII is in this charset what it is in ASCII.
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

    // Appends what bytes say. NUL is never said.
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
};

struct Entity {
    std::string_view name;
    std::uint16_t code;
};

// The characters that HTML has names for, in the order of the names.
inline constexpr Entity kEntities[] = {
    {"AElig", 198}, {"Aacute", 193}, {"Acirc", 194}, {"Agrave", 192}, {"Alpha", 913}, {"Aring", 197}, {"Atilde", 195},
    {"Auml", 196}, {"Beta", 914}, {"Ccedil", 199}, {"Chi", 935}, {"Dagger", 8225}, {"Delta", 916}, {"ETH", 208},
    {"Eacute", 201}, {"Ecirc", 202}, {"Egrave", 200}, {"Epsilon", 917}, {"Eta", 919}, {"Euml", 203}, {"Gamma", 915},
    {"Iacute", 205}, {"Icirc", 206}, {"Igrave", 204}, {"Iota", 921}, {"Iuml", 207}, {"Kappa", 922}, {"Lambda", 923},
    {"Mu", 924}, {"Ntilde", 209}, {"Nu", 925}, {"OElig", 338}, {"Oacute", 211}, {"Ocirc", 212}, {"Ograve", 210},
    {"Omega", 937}, {"Omicron", 927}, {"Oslash", 216}, {"Otilde", 213}, {"Ouml", 214}, {"Phi", 934}, {"Pi", 928},
    {"Prime", 8243}, {"Psi", 936}, {"Rho", 929}, {"Scaron", 352}, {"Sigma", 931}, {"THORN", 222}, {"Tau", 932},
    {"Theta", 920}, {"Uacute", 218}, {"Ucirc", 219}, {"Ugrave", 217}, {"Upsilon", 933}, {"Uuml", 220}, {"Xi", 926},
    {"Yacute", 221}, {"Yuml", 376}, {"Zeta", 918}, {"aacute", 225}, {"acirc", 226}, {"acute", 180}, {"aelig", 230},
    {"agrave", 224}, {"alefsym", 8501}, {"alpha", 945}, {"amp", 38}, {"and", 8743}, {"ang", 8736}, {"apos", 39},
    {"aring", 229}, {"asymp", 8776}, {"atilde", 227}, {"auml", 228}, {"bdquo", 8222}, {"beta", 946}, {"brvbar", 166},
    {"bull", 8226}, {"cap", 8745}, {"ccedil", 231}, {"cedil", 184}, {"cent", 162}, {"chi", 967}, {"circ", 710},
    {"clubs", 9827}, {"cong", 8773}, {"copy", 169}, {"crarr", 8629}, {"cup", 8746}, {"curren", 164}, {"dArr", 8659},
    {"dagger", 8224}, {"darr", 8595}, {"deg", 176}, {"delta", 948}, {"diams", 9830}, {"divide", 247}, {"eacute", 233},
    {"ecirc", 234}, {"egrave", 232}, {"empty", 8709}, {"emsp", 8195}, {"ensp", 8194}, {"epsilon", 949}, {"equiv", 8801},
    {"eta", 951}, {"eth", 240}, {"euml", 235}, {"euro", 8364}, {"exist", 8707}, {"fnof", 402}, {"forall", 8704},
    {"frac12", 189}, {"frac14", 188}, {"frac34", 190}, {"frasl", 8260}, {"gamma", 947}, {"ge", 8805}, {"gt", 62},
    {"hArr", 8660}, {"harr", 8596}, {"hearts", 9829}, {"hellip", 8230}, {"iacute", 237}, {"icirc", 238}, {"iexcl", 161},
    {"igrave", 236}, {"image", 8465}, {"infin", 8734}, {"int", 8747}, {"iota", 953}, {"iquest", 191}, {"isin", 8712},
    {"iuml", 239}, {"kappa", 954}, {"lArr", 8656}, {"lambda", 955}, {"lang", 9001}, {"laquo", 171}, {"larr", 8592},
    {"lceil", 8968}, {"ldquo", 8220}, {"le", 8804}, {"lfloor", 8970}, {"lowast", 8727}, {"loz", 9674}, {"lrm", 8206},
    {"lsaquo", 8249}, {"lsquo", 8216}, {"lt", 60}, {"macr", 175}, {"mdash", 8212}, {"micro", 181}, {"middot", 183},
    {"minus", 8722}, {"mu", 956}, {"nabla", 8711}, {"nbsp", 160}, {"ndash", 8211}, {"ne", 8800}, {"ni", 8715},
    {"not", 172}, {"notin", 8713}, {"nsub", 8836}, {"ntilde", 241}, {"nu", 957}, {"oacute", 243}, {"ocirc", 244},
    {"oelig", 339}, {"ograve", 242}, {"oline", 8254}, {"omega", 969}, {"omicron", 959}, {"oplus", 8853}, {"or", 8744},
    {"ordf", 170}, {"ordm", 186}, {"oslash", 248}, {"otilde", 245}, {"otimes", 8855}, {"ouml", 246}, {"para", 182},
    {"part", 8706}, {"permil", 8240}, {"perp", 8869}, {"phi", 966}, {"pi", 960}, {"piv", 982}, {"plusmn", 177},
    {"pound", 163}, {"prime", 8242}, {"prod", 8719}, {"prop", 8733}, {"psi", 968}, {"quot", 34}, {"rArr", 8658},
    {"radic", 8730}, {"rang", 9002}, {"raquo", 187}, {"rarr", 8594}, {"rceil", 8969}, {"rdquo", 8221}, {"real", 8476},
    {"reg", 174}, {"rfloor", 8971}, {"rho", 961}, {"rlm", 8207}, {"rsaquo", 8250}, {"rsquo", 8217}, {"sbquo", 8218},
    {"scaron", 353}, {"sdot", 8901}, {"sect", 167}, {"shy", 173}, {"sigma", 963}, {"sigmaf", 962}, {"sim", 8764},
    {"spades", 9824}, {"sub", 8834}, {"sube", 8838}, {"sum", 8721}, {"sup", 8835}, {"sup1", 185}, {"sup2", 178},
    {"sup3", 179}, {"supe", 8839}, {"szlig", 223}, {"tau", 964}, {"there4", 8756}, {"theta", 952}, {"thetasym", 977},
    {"thinsp", 8201}, {"thorn", 254}, {"tilde", 732}, {"times", 215}, {"trade", 8482}, {"uArr", 8657}, {"uacute", 250},
    {"uarr", 8593}, {"ucirc", 251}, {"ugrave", 249}, {"uml", 168}, {"upsih", 978}, {"upsilon", 965}, {"uuml", 252},
    {"weierp", 8472}, {"xi", 958}, {"yacute", 253}, {"yen", 165}, {"yuml", 255}, {"zeta", 950}, {"zwj", 8205},
    {"zwnj", 8204},
};

// The character of a name, or 0.
inline std::uint32_t entity_of(std::string_view name) {
    const auto* found = std::lower_bound(std::begin(kEntities), std::end(kEntities), name,
                                         [](const Entity& entity, std::string_view n) { return entity.name < n; });
    return found != std::end(kEntities) && found->name == name ? found->code : 0;
}

struct Reference {
    std::uint32_t code = 0;
    std::size_t size = 0;  // 0: no reference
};

// Reads "&amp;", "&#38;" or "&#x26;" at a place, with or without its semicolon; in attributes, as in addresses, a name
// without a semicolon must not go on.
inline Reference read_reference(std::string_view text, std::size_t at, bool attribute) {
    constexpr std::size_t kLongest = 8;  // of the names
    std::size_t p = at + 1;
    if (p < text.size() && text[p] == '#') {
        const bool hex = ++p < text.size() && lower(text[p]) == 'x';
        if (hex) ++p;
        const std::size_t digits = p;
        std::uint32_t code = 0;
        for (; p < text.size(); ++p) {
            const int digit = hex ? hex_of(text[p]) : is_digit(text[p]) ? text[p] - '0' : -1;
            if (digit < 0) break;
            code = std::min<std::uint32_t>(code * (hex ? 16 : 10) + static_cast<std::uint32_t>(digit), 0x110000);
        }
        if (p == digits) return {};
        if (p < text.size() && text[p] == ';') ++p;
        return {code == 0 ? 0xFFFD : windows_character(code), p - at};
    }
    while (p < text.size() && p - at <= kLongest && (is_letter(text[p]) || is_digit(text[p]))) ++p;
    const std::string_view name = text.substr(at + 1, p - at - 1);
    if (p < text.size() && text[p] == ';') {
        const std::uint32_t code = entity_of(name);
        if (code != 0) return {code, p + 1 - at};
    }
    const auto goes_on = [&](std::size_t after) {
        return after < text.size() && (text[after] == '=' || is_letter(text[after]) || is_digit(text[after]));
    };
    for (std::size_t size = std::min<std::size_t>(name.size(), 6); size >= 2; --size) {  // the old names are short
        if (attribute && goes_on(at + 1 + size)) continue;
        const std::uint32_t code = entity_of(name.substr(0, size));
        if (code != 0 && code < 256) return {code, size + 1};
    }
    return {};
}

}  // namespace suffice::mail
