// What a filter knows of a message: its tokens, each named by where it was found, and the bytes its head is made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../text/hashing.hpp"
#include "characters.hpp"
#include "dates.hpp"
#include "limits.hpp"
#include "seen.hpp"
#include "words.hpp"

namespace suffice::mail {

inline constexpr std::size_t kGramBits = 18;      // number of weights that 4-grams of bytes share
inline constexpr std::size_t kGrams = std::size_t(1) << kGramBits;
inline constexpr std::size_t kGramBytes = 3500;   // of the raw message that are cut into such stretches
inline constexpr std::size_t kTokens = 8192;      // distinct ones of a message; those that come later are left out
inline constexpr std::size_t kLongest = 30;       // bytes of a word that is kept as it is

// Where in a message something was seen first: in the body; in a field of the header, which anybody may have written; or in
// a field that the recipient's server added on top of all others.
enum class Origin : std::uint8_t { body, header, server };
inline constexpr std::size_t kOrigins = 3;

struct Token {
    std::uint64_t hash;
    std::uint32_t begin, size;  // of its name, within Features::names
    Origin origin = Origin::body;
};

// The distinct tokens and grams of a message.
struct Features {
    std::string names;
    std::vector<Token> tokens;          // in order of first sight
    std::vector<std::uint32_t> grams;   // places in the table of weights, in order of first sight
    std::size_t header_grams = 0;       // how many of the first were seen in the header; unknown if unpacked from a journal
    bool more = false;                  // there were more tokens than are kept

    std::string_view name(const Token& token) const {
        return std::string_view(names).substr(token.begin, token.size);
    }
};

class Extractor {
public:
    // The features of a message: the pieces it was read as, and its raw bytes from the head on.
    Features operator()(const std::vector<Piece>& pieces, std::string_view raw) {
        features_ = Features();
        features_.names.reserve(8192);
        features_.tokens.reserve(512);
        seen_.clear();
        const auto received = [](const Piece& piece) { return piece.kind == Kind::header && piece.name == "received"; };
        above_ = std::any_of(pieces.begin(), pieces.end(), received);
        for (const Piece& piece : pieces) {
            if (features_.more) break;
            origin_ = piece.kind == Kind::header ? origin(piece.name) : Origin::body;
            read(piece);
        }
        cut(told(raw), [](std::size_t, std::uint32_t) {});
        return std::move(features_);
    }

    // Calls each(line, gram, origin) for every gram of a message, with the line on which it first begins.
    template <class Each>
    void each_gram(std::string_view raw, Each&& each) {
        const std::string_view text = told(raw);
        features_ = Features();
        cut(text, [&](std::size_t at, std::uint32_t gram) {
            const std::size_t before = at == 0 ? text.npos : text.rfind('\n', at - 1);
            const std::size_t begin = before == text.npos ? 0 : before + 1;
            each(text.substr(begin, text.find('\n', at) - begin), gram, gram_origin(at));
        });
    }

private:
    void read(const Piece& piece) {
        switch (piece.kind) {
            case Kind::header: return header(piece.name, piece.text);
            case Kind::part:
                put("part:", piece.name);
                return each_field(piece.text, [&](std::string_view field) { put("part:", field); });
            case Kind::text: return words(piece.name == "title" ? "title:" : "", piece.text);
            case Kind::hidden: return words("hidden:", piece.text);
            case Kind::link: return link(piece.text, "url:");
            case Kind::image: return link(piece.text, "image:");
            case Kind::tag:
                put("tag:", piece.name);
                return each_field(piece.text, [&](std::string_view field) { put("look:", field); });
            case Kind::attachment:
                put("attachment:", piece.name);
                return words("attachment:", piece.text);
            case Kind::trouble: return put("trouble:", piece.name);
        }
    }

    // Fields that mail programs and filters add in transit are not features of the message.
    static bool ignored(std::string_view name) {
        constexpr std::array<std::string_view, 12> kIgnored = {
            "status", "x-status", "x-keywords", "x-uid", "x-mozilla-status", "x-mozilla-status2", "x-mozilla-keys",
            "content-length", "lines", "x-bogosity", "x-evolution", "x-imap"};
        return name.substr(0, 9) == "x-suffice" || std::find(kIgnored.begin(), kIgnored.end(), name) != kIgnored.end();
    }

    // The recipient's server adds the fields down to the first Received, but the sender chose what Return-Path says. Fields
    // that describe the body belong to it.
    Origin origin(std::string_view name) {
        if (name.substr(0, 8) == "content-" || name.substr(0, 5) == "part-" || name.substr(0, 6) == "inner-" ||
            name == "mime-version") {
            return Origin::body;
        }
        const bool server = above_ && name != "return-path";
        above_ = above_ && name != "received";
        return server ? Origin::server : Origin::header;
    }

    void header(const std::string& name, std::string_view text) {
        if (ignored(name)) return;
        put("header:", name);
        if (is_date_field(name)) return;
        undated_.clear();
        append_without_dates(undated_, text);
        text = undated_;
        tag_.assign(name).push_back(':');
        words(tag_, text);
        if (name == "received") {
            hosts(text);
        } else if (name == "from" || name == "reply-to" || name == "sender" || name == "return-path" || name == "to" ||
                   name == "cc") {
            addresses(text);
        }
    }

    static bool host_byte(unsigned char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
    }

    // Every name and address of a machine, and what it is part of: a.b.example, b.example; 192.0.2, 192.0.
    void hosts(std::string_view text) {
        for (std::size_t i = 0; i < text.size();) {
            std::size_t end = i;
            while (end < text.size() && host_byte(static_cast<unsigned char>(text[end]))) ++end;
            if (end > i) host(tag_, text.substr(i, end - i));
            i = end + 1;
        }
    }

    void host(std::string_view tag, std::string_view name) {
        while (!name.empty() && (name.front() == '.' || name.front() == '-')) name.remove_prefix(1);
        while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.remove_suffix(1);
        if (name.find('.') == name.npos || name.size() > 100) return;
        lower(name);
        const std::string_view whole = lowered_;
        put(tag, whole);
        if (whole.find_first_not_of("0123456789.") == whole.npos) {
            for (std::size_t dot = whole.rfind('.'); dot != whole.npos && dot > 0; dot = whole.rfind('.', dot - 1)) {
                put(tag, whole.substr(0, dot + 1));
            }
        } else {
            for (std::size_t dot = whole.find('.'); dot != whole.npos; dot = whole.find('.', dot + 1)) {
                put(tag, whole.substr(dot));
            }
        }
    }

    // The host of each address, and the address as a whole.
    void addresses(std::string_view text) {
        for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
            std::size_t begin = at, end = at + 1;
            const auto local = [](unsigned char c) { return host_byte(c) || c == '_' || c == '+' || c == '='; };
            while (begin > 0 && at - begin < 64 && local(static_cast<unsigned char>(text[begin - 1]))) --begin;
            while (end < text.size() && host_byte(static_cast<unsigned char>(text[end]))) ++end;
            const std::string_view name = text.substr(at + 1, end - at - 1);
            if (name.empty()) continue;
            host(tag_, name);
            lower(text.substr(begin, std::min<std::size_t>(end - begin, 120)));
            put(tag_, lowered_);
        }
    }

    void link(std::string_view url, std::string_view tag) {
        lower(cut_utf8(url, 1000));
        const std::string whole = lowered_;  // host() converts to lower case again
        std::string_view rest = whole;
        if (const std::size_t scheme = rest.find("://"); scheme != rest.npos && scheme < 10) {
            rest.remove_prefix(scheme + 3);
        } else if (const std::size_t colon = rest.find(':'); colon != rest.npos && colon < 12) {
            put(tag, rest.substr(0, colon + 1));
            rest.remove_prefix(colon + 1);
        }
        std::string_view name = rest.substr(0, rest.find_first_of("/?#"));
        rest.remove_prefix(name.size());
        if (const std::size_t at = name.rfind('@'); at != name.npos) {
            put(tag, "user@");
            name.remove_prefix(at + 1);
        }
        if (const std::size_t port = name.find(':'); port != name.npos) {
            put(tag, name.substr(port));
            name = name.substr(0, port);
        }
        if (!name.empty() && name.find_first_not_of("0123456789.") == name.npos) put(tag, "number");
        host(tag, name);
        for (std::size_t i = 0; i < rest.size();) {
            std::size_t end = i;
            while (end < rest.size() && !splits(rest[end])) ++end;
            if (end > i) part(tag, rest.substr(i, end - i));
            i = end + 1;
        }
    }

    static bool splits(char c) {
        switch (c) {
            case '/': case '?': case '&': case '=': case '.': case ';': case '#': case '%': case '+': case ',': case ':':
                return true;
            default:
                return false;
        }
    }

    void words(std::string_view tag, std::string_view text) {
        if (unseen(text, 0) != text.npos) {
            put("look:", "unseen-characters");
            text = without_unseen(text);
        }
        each_word(text, [&](std::string_view found) { word(tag, found); });
    }

    // Where a character is that takes no room, such as a soft hyphen: they are put into words to hide them from filters.
    static std::size_t unseen(std::string_view text, std::size_t from) {
        for (std::size_t i = from; i < text.size(); ++i) {
            if (static_cast<unsigned char>(text[i]) < 0xC2) continue;
            const std::string_view here = text.substr(i, 3);
            if (here.substr(0, 2) == "\xC2\xAD" || here == "\xEF\xBB\xBF" || here == "\xE2\x81\xA0" ||
                (here.substr(0, 2) == "\xE2\x80" && here.size() == 3 && here[2] >= '\x8B' && here[2] <= '\x8D')) {
                return i;
            }
        }
        return text.npos;
    }

    std::string_view without_unseen(std::string_view text) {
        seen_text_.clear();
        std::size_t from = 0;
        for (std::size_t at = unseen(text, 0); at != text.npos; at = unseen(text, from)) {
            seen_text_.append(text.substr(from, at - from));
            from = at + (text[at] == '\xC2' ? 2 : 3);
        }
        return seen_text_.append(text.substr(from));
    }

    void word(std::string_view tag, std::string_view found) {
        if (found.size() > kLongest) return part(tag, found);
        name_.assign(tag).append(found);
        put_name();
    }

    // A part of something, whatever is in it. A long one is remembered by how it begins and about how long it is.
    void part(std::string_view tag, std::string_view found) {
        if (found.size() <= kLongest) return put(tag, found);
        std::size_t first = 0;
        character(found, first);
        std::string& kept = long_;
        kept.assign(found.substr(0, first)).append("...").append(std::to_string(found.size() / 10 * 10));
        put(tag, kept);
    }

    void put(std::string_view tag, std::string_view text) {
        name_.assign(tag).append(cut_utf8(text, 120));
        for (char& c : name_) {
            if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) c = '_';
        }
        put_name();
    }

    // Adds the token that is called name_, which has neither blanks nor controls in it.
    void put_name() {
        if (features_.more) return;
        const std::uint64_t hash = text::hash_of(name_.data(), name_.size());
        if (!seen_.add(hash)) return;
        const auto begin = static_cast<std::uint32_t>(features_.names.size());
        features_.names.append(name_);
        features_.tokens.push_back({hash, begin, static_cast<std::uint32_t>(name_.size()), origin_});
        features_.more = features_.tokens.size() >= kTokens;
    }

    template <class Put>
    static void each_field(std::string_view text, Put&& put) {
        for (std::size_t i = 0; i < text.size();) {
            std::size_t end = text.find(' ', i);
            if (end == text.npos) end = text.size();
            if (end > i) put(text.substr(i, end - i));
            i = end + 1;
        }
    }

    void lower(std::string_view text) {
        lowered_.assign(text);
        for (char& c : lowered_) {
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
        }
    }

    // The first bytes of a message, without the fields that are ignored, dates in others, and carriage returns.
    std::string_view told(std::string_view raw) {
        told_.clear();
        bool head = true, skipping = false;
        header_end_ = kGramBytes;
        while (!raw.empty() && told_.size() < kGramBytes) {
            const std::string_view line = raw.substr(0, std::min(raw.find('\n'), raw.size() - 1) + 1);
            raw.remove_prefix(line.size());
            if (head && line.front() != ' ' && line.front() != '\t') {
                const std::size_t colon = line.substr(0, 80).find(':');
                head = colon != line.npos;
                if (head) lower(line.substr(0, colon));
                if (!head) header_end_ = std::min(header_end_, told_.size());
                skipping = head && (ignored(lowered_) || is_date_field(lowered_));
            }
            if (skipping) continue;
            std::string_view begin = line.substr(0, kGramBytes);
            if (head) {
                undated_.clear();
                append_without_dates(undated_, begin);
                begin = undated_;
            }
            if (begin.find('\r') == begin.npos) {
                told_.append(begin);
                continue;
            }
            for (const char c : begin) {
                if (c != '\r') told_.push_back(c);
            }
        }
        return std::string_view(told_).substr(0, kGramBytes);
    }

    // Finds the distinct grams; found(at, gram) gets each, and where it begins.
    template <class Found>
    void cut(std::string_view raw, Found&& found) {
        std::vector<std::uint32_t>& grams = features_.grams;
        if (raw.size() < 4) return;
        grams.reserve(raw.size());
        std::uint32_t four = 0;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            four = four << 8 | static_cast<unsigned char>(raw[i]);
            if (i < 3) continue;
            const std::uint32_t gram = place(four);
            std::uint64_t& word = met_[gram / 64];
            const std::uint64_t bit = std::uint64_t(1) << gram % 64;
            if (word & bit) continue;
            word |= bit;
            if (gram_origin(i - 3) == Origin::header) ++features_.header_grams;
            grams.push_back(gram);
            found(i - 3, gram);
        }
        for (const std::uint32_t gram : grams) met_[gram / 64] = 0;
    }

    // The origin of a gram that begins at a byte of told_.
    Origin gram_origin(std::size_t at) const { return at < header_end_ ? Origin::header : Origin::body; }

    static std::uint32_t place(std::uint32_t four) {
        return static_cast<std::uint32_t>(text::mixed(four) >> (64 - kGramBits));
    }

    Features features_;
    Origin origin_ = Origin::body;  // of the tokens of the piece that is being read
    bool above_ = false;            // whether a Received field comes at or below the field that is being read
    std::size_t header_end_ = 0;    // end of the header within told_
    Seen seen_{2048};
    std::string tag_, name_, lowered_, long_, told_, seen_text_, undated_;
    std::vector<std::uint64_t> met_ = std::vector<std::uint64_t>(kGrams / 64);
};

}  // namespace suffice::mail
