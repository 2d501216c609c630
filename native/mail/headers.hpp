// Heads: fields, encoded words in them (RFC 2047), and parameters (RFC 2045, RFC 2231).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "characters.hpp"
#include "limits.hpp"
#include "lines.hpp"
#include "transfer.hpp"

namespace suffice::mail {

// Where a head is, and the body after it.
struct Head {
    std::size_t begin, end, body;
};

// How long the name of the field is that a line begins with; 0 where a line begins no field.
inline std::size_t field_name_size(std::string_view line) {
    std::size_t size = 0;
    while (size < line.size() && line[size] > ' ' && line[size] < 127 && line[size] != ':') ++size;
    std::size_t colon = size;
    while (colon < line.size() && is_blank(line[colon])) ++colon;
    return colon < line.size() && line[colon] == ':' ? size : 0;
}

// Reads the head that begins with a line: `field(name, value)` gets each field as it stands, `stop(line)` says of a
// line that no head goes on there. A line that neither begins nor continues a field belongs to the body.
template <class Field, class Stop>
Head read_head(Lines& lines, Field&& field, Stop&& stop) {
    const std::string_view raw = lines.text();
    if (!lines.done() && lines.line().substr(0, 5) == "From ") lines.advance();
    const std::size_t begin = lines.at();
    std::string_view name;
    std::size_t from = kNowhere, to = 0;  // of the value
    const auto finish = [&] {
        if (from != kNowhere) field(name, raw.substr(from, to - from));
        from = kNowhere;
    };
    for (; !lines.done(); lines.advance()) {
        const std::string_view line = lines.line();
        if (line.empty()) {
            finish();
            return {begin, lines.at(), lines.next()};
        }
        if (is_blank(line[0])) {
            to = lines.end();
            continue;
        }
        finish();
        if (stop(line)) break;
        if (line[0] == ':' || line.substr(0, 6) == ">From ") continue;
        const std::size_t size = field_name_size(line);
        if (size == 0) break;
        name = line.substr(0, size);
        from = line.find(':', size) + 1 + lines.at();
        to = lines.end();
    }
    finish();
    return {begin, lines.at(), lines.at()};
}

inline Head find_head(std::string_view raw) {
    Lines lines(raw);
    return read_head(lines, [](std::string_view, std::string_view) {}, [](std::string_view) { return false; });
}

// The bytes of a message's head, without the line that mbox files put before it.
inline std::string_view head(std::string_view raw) {
    const Head found = find_head(raw);
    return raw.substr(found.begin, found.end - found.begin);
}

inline std::size_t body_begin(std::string_view raw) { return find_head(raw).body; }

// The value of a field on one line: where it was folded, there is one blank.
inline std::string unfolded(std::string_view value, std::size_t most, Troubles& troubles) {
    std::string out;
    for (Lines lines(value); !lines.done() && out.size() <= most; lines.advance()) {
        std::string_view line = lines.line();
        while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
        if (line.empty()) continue;
        if (!out.empty() && !is_blank(out.back())) out.push_back(' ');
        out.append(line.substr(0, most + 1));
    }
    if (out.size() > most) {
        troubles.over(Trouble::header_bytes, most, "bytes in a header field");
        out.resize(most);
    }
    while (!out.empty() && is_space(out.back())) out.pop_back();
    return out;
}

// Decodes the encoded words of fields.
class FieldReader {
public:
    FieldReader(Characters& characters, Troubles& troubles, const Limits& limits)
        : characters_(characters), troubles_(troubles), limits_(limits) {}

    Written read(std::string_view value) {
        Written out;
        std::string charset, bytes;  // of the words before, which may end in half a character
        bool after_word = false;
        std::size_t literal = 0, count = 0;
        const auto flush = [&] {
            if (after_word) characters_.append(out, charset, bytes);
            bytes.clear();
        };
        for (std::size_t at = value.find("=?"); at != std::string_view::npos; at = value.find("=?", at)) {
            const Word word = word_at(value, at);
            if (word.size == 0) {
                if (word.last) break;
                at += 2;
                continue;
            }
            if (count++ == limits_.words) {
                troubles_.over(Trouble::words, limits_.words, "encoded words in a header field");
                break;
            }
            const std::string_view between = value.substr(literal, at - literal);
            const bool joined = after_word && trimmed(between).empty();
            if (!joined || charset != word.charset) {
                flush();
                charset = word.charset;
                if (!joined) characters_.append(out, "", between);
            }
            append_word(bytes, word);
            after_word = true;
            at += word.size;
            literal = at;
        }
        flush();
        characters_.append(out, "", value.substr(literal));
        return out;
    }

private:
    struct Word {
        std::string_view charset, text;
        bool base64 = false;
        std::size_t size = 0;  // 0: no word
        bool last = false;     // there is none after it either
    };

    static Word word_at(std::string_view value, std::size_t at) {
        constexpr std::size_t kLongest = 80;  // names of charsets, with a language
        Word word;
        const std::size_t mark = value.substr(0, std::min(value.size(), at + 2 + kLongest)).find('?', at + 2);
        if (mark == std::string_view::npos || value.size() - mark < 3 || value[mark + 2] != '?') return word;
        const char encoding = lower(value[mark + 1]);
        if (encoding != 'q' && encoding != 'b') return word;
        const std::size_t end = value.find("?=", mark + 3);
        if (end == std::string_view::npos) {
            word.last = true;
            return word;
        }
        word.charset = value.substr(at + 2, mark - at - 2);
        word.charset = word.charset.substr(0, word.charset.find('*'));
        word.text = value.substr(mark + 3, end - mark - 3);
        word.base64 = encoding == 'b';
        word.size = end + 2 - at;
        return word;
    }

    void append_word(std::string& bytes, const Word& word) {
        const Decoded decoded = word.base64 ? decode_base64(word.text, word.text.size())
                                            : decode_quoted(word.text, word.text.size(), true);
        if (decoded.broken) {
            troubles_.add(word.base64 ? Trouble::base64 : Trouble::quoted_printable, "an encoded word is broken");
        }
        bytes.append(decoded.bytes);
    }

    Characters& characters_;
    Troubles& troubles_;
    const Limits& limits_;
};

// What a field such as "text/html; charset=utf-8" says.
struct Parameters {
    std::string value;  // "text/html", in lower case
    std::vector<std::pair<std::string, std::string>> named;

    explicit Parameters(std::string_view text) {
        constexpr std::size_t kMost = 100;
        std::size_t at = std::min(text.find(';'), text.size());
        value = lowered(trimmed(text.substr(0, at)));
        value.resize(std::min(value.find_first_of(" \t(,"), value.size()));
        while (at < text.size() && named.size() < kMost) {
            const std::size_t begin = at + 1;
            at = std::min(text.find_first_of("=;", begin), text.size());
            if (at == text.size()) break;
            if (text[at] == ';') continue;
            std::string name = lowered(trimmed(text.substr(begin, at - begin)));
            ++at;
            while (at < text.size() && is_space(text[at])) ++at;
            std::string found;
            if (at < text.size() && text[at] == '"') {
                for (++at; at < text.size() && text[at] != '"'; ++at) {
                    if (text[at] == '\\' && at + 1 < text.size()) ++at;
                    found.push_back(text[at]);
                }
                at = std::min(text.find(';', at), text.size());
            } else {
                const std::size_t end = std::min(text.find(';', at), text.size());
                found = trimmed(text.substr(at, end - at));
                at = end;
            }
            named.emplace_back(std::move(name), std::move(found));
        }
    }

    const std::string* find(std::string_view name) const {
        for (const auto& each : named) {
            if (each.first == name) return &each.second;
        }
        return nullptr;
    }

    // A parameter that may be cut into several, or say its charset.
    struct Found {
        std::string charset, bytes;
        bool extended = false;  // no encoded words in it
    };
    Found read(const std::string& name) const {
        Found found;
        const auto take = [&](std::string_view text, bool coded, bool first) {
            if (coded && first) {
                const std::size_t one = text.find('\'');
                const std::size_t two = one == std::string_view::npos ? one : text.find('\'', one + 1);
                if (two != std::string_view::npos) {
                    found.charset = text.substr(0, one);
                    text.remove_prefix(two + 1);
                }
            }
            found.extended = true;
            found.bytes += coded ? decode_percent(text) : std::string(text);
        };
        if (const std::string* whole = find(name + "*")) {
            take(*whole, true, true);
            return found;
        }
        for (std::size_t i = 0; i < named.size(); ++i) {
            const std::string section = name + "*" + std::to_string(i);
            const std::string* coded = find(section + "*");
            const std::string* plain = coded == nullptr ? find(section) : nullptr;
            if (coded == nullptr && plain == nullptr) break;
            take(coded != nullptr ? *coded : *plain, coded != nullptr, i == 0);
        }
        if (const std::string* plain = found.extended ? nullptr : find(name)) found.bytes = *plain;
        return found;
    }
};

}  // namespace suffice::mail
