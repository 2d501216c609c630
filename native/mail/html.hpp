// HTML: what a reader of it sees, what is there without being seen, where it leads, and how it looks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../text/hashing.hpp"
#include "characters.hpp"
#include "limits.hpp"
#include "transfer.hpp"

namespace suffice::mail {

namespace html {

// The first eight letters of a name, in lower case, as a number: names are told apart by it.
using Key = std::uint64_t;
constexpr Key key_of(std::string_view name) {
    Key key = 0;
    for (std::size_t i = 0; i < name.size() && i < 8; ++i) {
        const char c = name[i];
        key = key << 8 | static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return key;
}

enum Trait : std::uint8_t {
    line = 1,    // a line ends where the element begins and ends
    gap = 2,     // words end there
    alone = 4,   // it has no content
    cell = 8,    // what is open within it ends with it
    single = 16  // it ends where the next one of its name begins
};

// Elements without traits neither end words nor anything else, like those that nobody knows.
constexpr std::uint8_t traits_of(Key key) {
    switch (key) {
        case key_of("br"): case key_of("hr"): return line | alone;
        case key_of("img"): case key_of("input"): case key_of("embed"): case key_of("frame"): return gap | alone;
        case key_of("area"): case key_of("base"): case key_of("col"): case key_of("link"): case key_of("meta"):
        case key_of("param"): case key_of("wbr"): case key_of("basefont"): return alone;
        case key_of("table"): case key_of("tr"): case key_of("td"): case key_of("th"): return line | cell;
        case key_of("p"): case key_of("li"): case key_of("dt"): case key_of("dd"): case key_of("option"):
            return line | single;
        case key_of("a"): return single;
        case key_of("button"): case key_of("select"): case key_of("iframe"): case key_of("object"):
        case key_of("marquee"): return gap;
        case key_of("html"): case key_of("head"): case key_of("body"): case key_of("div"): case key_of("center"):
        case key_of("h1"): case key_of("h2"): case key_of("h3"): case key_of("h4"): case key_of("h5"):
        case key_of("h6"): case key_of("ul"): case key_of("ol"): case key_of("dl"): case key_of("dir"):
        case key_of("menu"): case key_of("pre"): case key_of("blockquote"): case key_of("address"):
        case key_of("form"): case key_of("fieldset"): case key_of("legend"): case key_of("caption"):
        case key_of("thead"): case key_of("tbody"): case key_of("tfoot"): case key_of("colgroup"):
        case key_of("noscript"): case key_of("textarea"): case key_of("frameset"): case key_of("noframes"):
        case key_of("article"): case key_of("section"): case key_of("header"): case key_of("footer"):
        case key_of("nav"): case key_of("main"): case key_of("aside"): case key_of("figure"):
        case key_of("layer"): case key_of("title"): case key_of("script"): case key_of("style"): return line;
        default: return 0;
    }
}

// The attributes that are looked at; those that carry a look first, in the order in which they are told.
enum Attribute : std::uint8_t {
    color, size, face, bgcolor, width, height, border, align, style, type, method, background,
    href, src, action, hidden, text, kAttributes, kLooks = href
};
constexpr std::array<std::string_view, kAttributes> kAttributeNames = {
    "color", "size", "face", "bgcolor", "width", "height", "border", "align", "style",
    "type", "method", "background", "href", "src", "action", "hidden", "text"};

constexpr std::array<Key, kAttributes> make_attribute_keys() {
    std::array<Key, kAttributes> keys{};
    for (std::size_t i = 0; i < kAttributes; ++i) keys[i] = key_of(kAttributeNames[i]);
    return keys;
}
inline constexpr std::array<Key, kAttributes> kAttributeKeys = make_attribute_keys();

// kAttributes for one that is not looked at.
inline Attribute attribute_of(Key key) {
    const auto found = std::find(kAttributeKeys.begin(), kAttributeKeys.end(), key);
    return static_cast<Attribute>(found - kAttributeKeys.begin());
}

// The attributes of one tag: the first of each name.
struct Attributes {
    std::array<std::string_view, kAttributes> values;
    std::uint32_t present = 0;  // a bit for each

    bool has(Attribute attribute) const { return (present >> attribute & 1) != 0; }
    void put(Attribute attribute, std::string_view value) {
        if (attribute == kAttributes || has(attribute)) return;
        present |= std::uint32_t(1) << attribute;
        values[attribute] = value;
    }
};

using Colour = std::uint32_t;
constexpr Colour kUnknown = 0xFFFFFFFF, kWhite = 0xFFFFFF, kBlack = 0, kLink = 0x0000EE;

// "#ff0000", "#f00", "ff0000", "rgb(255, 0, 0)" or a name.
inline Colour colour_of(std::string_view value) {
    struct Named {
        std::string_view name;
        Colour colour;
    };
    static constexpr Named kNamed[] = {
        {"white", 0xFFFFFF}, {"black", 0x000000}, {"red", 0xFF0000}, {"blue", 0x0000FF}, {"green", 0x008000},
        {"yellow", 0xFFFF00}, {"navy", 0x000080}, {"gray", 0x808080}, {"grey", 0x808080}, {"silver", 0xC0C0C0},
        {"maroon", 0x800000}, {"purple", 0x800080}, {"fuchsia", 0xFF00FF}, {"magenta", 0xFF00FF}, {"lime", 0x00FF00},
        {"olive", 0x808000}, {"aqua", 0x00FFFF}, {"cyan", 0x00FFFF}, {"teal", 0x008080}, {"orange", 0xFFA500},
        {"snow", 0xFFFAFA}, {"ivory", 0xFFFFF0}, {"whitesmoke", 0xF5F5F5}, {"ghostwhite", 0xF8F8FF},
        {"floralwhite", 0xFFFAF0}, {"azure", 0xF0FFFF}, {"mintcream", 0xF5FFFA}, {"seashell", 0xFFF5EE},
        {"aliceblue", 0xF0F8FF}, {"lightyellow", 0xFFFFE0}, {"lightgrey", 0xD3D3D3}, {"lightgray", 0xD3D3D3},
        {"darkblue", 0x00008B}, {"darkred", 0x8B0000}, {"darkgreen", 0x006400}, {"pink", 0xFFC0CB}, {"gold", 0xFFD700},
        {"beige", 0xF5F5DC}, {"brown", 0xA52A2A}, {"lightblue", 0xADD8E6}};
    value = trimmed(value);
    if (has_at(value, 0, "rgb")) {
        Colour colour = 0;
        std::size_t at = value.find('(');
        if (at == std::string_view::npos) return kUnknown;
        for (int i = 0; i < 3; ++i) {
            while (at < value.size() && !is_digit(value[at])) ++at;
            Colour part = 0;
            for (; at < value.size() && is_digit(value[at]); ++at) {
                part = std::min<Colour>(255, 10 * part + static_cast<Colour>(value[at] - '0'));
            }
            colour = colour << 8 | part;
        }
        return colour;
    }
    const std::string_view digits = !value.empty() && value[0] == '#' ? value.substr(1) : value;
    if (digits.size() == 6 || (digits.size() == 3 && digits.size() < value.size())) {
        Colour colour = 0;
        bool good = true;
        for (const char c : digits) {
            const int digit = hex_of(c);
            good = good && digit >= 0;
            const auto part = static_cast<Colour>(digit) & 15;
            colour = digits.size() == 6 ? colour << 4 | part : colour << 8 | part << 4 | part;
        }
        if (good) return colour;
    }
    for (const Named& each : kNamed) {
        if (each.name.size() == value.size() && has_at(value, 0, each.name)) return each.colour;
    }
    return kUnknown;
}

// Whether no eye tells two colours apart.
inline bool alike(Colour a, Colour b) {
    constexpr int kNear = 24;
    if (a == kUnknown || b == kUnknown) return false;
    for (int shift = 0; shift < 24; shift += 8) {
        const int difference = static_cast<int>(a >> shift & 255) - static_cast<int>(b >> shift & 255);
        if (difference > kNear || difference < -kNear) return false;
    }
    return true;
}

struct Length {
    double number = -1;  // negative: no length
    std::string_view unit;
};

inline Length length_of(std::string_view value) {
    value = trimmed(value);
    std::size_t at = 0;
    double number = 0, place = 1;
    bool digits = false;
    for (; at < value.size() && is_digit(value[at]); ++at) number = 10 * number + (value[at] - '0'), digits = true;
    if (at < value.size() && value[at] == '.') {
        for (++at; at < value.size() && is_digit(value[at]); ++at) {
            place /= 10, number += place * (value[at] - '0'), digits = true;
        }
    }
    return digits ? Length{number, trimmed(value.substr(at))} : Length{};
}

// At most so many pixels or points.
inline bool at_most(std::string_view value, double most) {
    const Length length = length_of(value);
    if (length.number < 0) return false;
    const bool absolute = length.unit.empty() || has_at(length.unit, 0, "px") || has_at(length.unit, 0, "pt") ||
                          length.unit[0] == '!';
    return length.number <= (absolute ? most : 0);
}

// Why text is not seen.
enum Sight : std::uint8_t { seen, gone, boxed, tiny, coloured, comment, kSights };
constexpr std::array<std::string_view, kSights> kSightNames = {"", "display", "box", "size", "colour", "comment"};

// How text looks where it stands.
struct Look {
    Colour fore = kBlack, back = kWhite;
    bool gone = false, boxed = false, tiny = false;

    bool operator==(const Look&) const = default;
    Sight sight() const {
        if (gone) return html::gone;
        if (boxed) return html::boxed;
        if (tiny) return html::tiny;
        return alike(fore, back) ? coloured : seen;
    }
};

// What a style attribute makes of a look; `table` elements are as large as what they hold, whatever they say.
inline void apply_style(Look& look, std::string_view style, bool table) {
    bool small = false, empty = false, clipped = false;  // at most one pixel, none at all, and nothing shown outside
    while (!style.empty()) {
        const std::size_t end = std::min(style.find(';'), style.size());
        const std::string_view declaration = style.substr(0, end);
        style.remove_prefix(std::min(end + 1, style.size()));
        const std::size_t colon = declaration.find(':');
        if (colon == std::string_view::npos) continue;
        const std::string_view name = trimmed(declaration.substr(0, colon));
        const std::string_view value = trimmed(declaration.substr(colon + 1));
        const auto is = [&](std::string_view other) { return name.size() == other.size() && has_at(name, 0, other); };
        if (is("display")) {
            look.gone = look.gone || has_at(value, 0, "none");
        } else if (is("visibility")) {
            look.gone = look.gone || has_at(value, 0, "hidden");
        } else if (is("opacity")) {
            look.gone = look.gone || at_most(value, 0);
        } else if (is("font-size")) {
            if (length_of(value).number >= 0) look.tiny = at_most(value, 1);
        } else if (is("color")) {
            const Colour colour = colour_of(value);
            if (colour != kUnknown) look.fore = colour;
        } else if (is("background-color") || is("background")) {
            const std::string_view first = value.substr(0, has_at(value, 0, "rgb") ? value.size() : value.find(' '));
            if (!has_at(first, 0, "transparent") && !has_at(first, 0, "inherit")) look.back = colour_of(first);
        } else if (is("background-image")) {
            if (!has_at(value, 0, "none")) look.back = kUnknown;
        } else if (is("overflow")) {
            clipped = has_at(value, 0, "hidden");
        } else if (is("width") || is("height") || is("max-width") || is("max-height")) {
            small = small || at_most(value, 1);
            empty = empty || at_most(value, 0);
        }
    }
    if (!table && (empty || (small && clipped))) look.boxed = true;
}

// Text that is written with one blank, or one end of a line, wherever there is any.
struct Sink {
    std::string text;
    char pending = 0;

    void put(std::string_view run) {
        if (pending != 0 && !text.empty()) text.push_back(pending);
        pending = 0;
        text.append(run);
    }
    void space() { pending = pending == 0 ? ' ' : pending; }
    void end_line() { pending = '\n'; }
};

// Whether there is nothing but space, no-break space too.
inline bool is_blank_text(std::string_view text) {
    return text.find_first_not_of(" \n\xC2\xA0") == std::string_view::npos;
}

// Hashes, each once.
class Seen {
public:
    // Whether it is new.
    bool add(std::uint64_t hash) {
        if (2 * (count_ + 1) > slots_.size()) widen();
        if (!place(hash + (hash == 0))) return false;
        ++count_;
        return true;
    }

private:
    bool place(std::uint64_t hash) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
        if (slots_[at] == hash) return false;
        slots_[at] = hash;
        return true;
    }
    void widen() {
        std::vector<std::uint64_t> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const std::uint64_t hash : old) {
            if (hash != 0) place(hash);
        }
    }

    std::vector<std::uint64_t> slots_;  // a power of two
    std::size_t count_ = 0;
};

// What bytes are within text: 0 themselves, 1 blanks, 2 other space, 3 the beginning of a reference.
constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    classes[' '] = 1, classes['\t'] = classes['\n'] = classes['\v'] = classes['\f'] = classes['\r'] = 2;
    classes['&'] = 3;
    return classes;
}
inline constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

inline std::string without_references(std::string_view value) {
    std::string out;
    for (std::size_t at = 0; at < value.size();) {
        const std::size_t end = std::min(find_byte(value, '&', at), value.size());
        out.append(value.substr(at, end - at));
        at = end;
        if (at == value.size()) break;
        const Reference reference = read_reference(value, at, true);
        if (reference.size == 0) {
            out.push_back('&');
            ++at;
        } else {
            append_character(out, reference.code);
            at += reference.size;
        }
    }
    return out;
}

}  // namespace html

// Reads one HTML text. Whatever is open at the same time is kept in a stack that does not grow beyond a depth.
class HtmlReader {
public:
    explicit HtmlReader(std::string_view text) : text_(text), last_close_(text.rfind('>')) {
        sinks_[html::seen].text.reserve(text.size() / 2);
    }

    void read(Pieces& pieces) {
        while (at_ < text_.size()) {
            const std::size_t open = std::min(find_byte(text_, '<', at_), text_.size());
            if (open > at_) put_text(text_.substr(at_, open - at_));
            at_ = open;
            if (at_ < text_.size()) read_markup();
        }
        if (!title_.text.empty()) pieces.add(Kind::text, "title", std::move(title_.text));
        if (!sinks_[html::seen].text.empty()) pieces.add(Kind::text, "html", std::move(sinks_[html::seen].text));
        for (std::size_t i = 1; i < html::kSights; ++i) {
            if (html::is_blank_text(sinks_[i].text)) continue;
            pieces.add(Kind::hidden, html::kSightNames[i], std::move(sinks_[i].text));
        }
        for (Piece& piece : found_) pieces.add(piece.kind, piece.name, std::move(piece.text));
    }

private:
    static constexpr std::size_t kDeepest = 128;  // elements that are open at a time
    static constexpr std::size_t kLongestName = 40, kLongestValue = 60;

    struct Open {
        html::Key key;
        std::uint8_t traits;
        html::Look outside;
    };

    html::Sink& sink() { return sinks_[sight_]; }

    void put_text(std::string_view run) {
        put_text(run, sink());
        const bool room = sight_ == html::coloured && std::any_of(run.begin(), run.end(), is_space);
        if (room) sinks_[html::seen].space();  // which is seen, whatever its colour
    }

    static void put_text(std::string_view run, html::Sink& sink) {
        using html::kClasses;
        for (std::size_t at = 0; at < run.size();) {
            const std::uint8_t first = kClasses[byte_of(run[at])];
            if (first == 1 || first == 2) {
                sink.space();
                ++at;
                continue;
            }
            if (first == 3) {
                const Reference reference = read_reference(run, at, false);
                if (reference.size > 0) {
                    sink.put({});
                    append_character(sink.text, reference.code);
                    at += reference.size;
                    continue;
                }
            }
            std::size_t end = at + 1;
            while (end < run.size()) {
                const std::uint8_t here = kClasses[byte_of(run[end])];
                if (here > 1) break;
                if (here == 1 && (end + 1 == run.size() || kClasses[byte_of(run[end + 1])] != 0)) break;
                ++end;
            }
            sink.put(run.substr(at, end - at));
            at = end;
        }
    }

    // Reads what begins with "<".
    void read_markup() {
        const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
        if (next == '!' && has_at(text_, at_, "<!--")) return read_comment();
        const bool closed = last_close_ != std::string_view::npos && at_ < last_close_;
        if (closed && (next == '!' || next == '?')) return read_declaration();
        if (closed && is_letter(next)) return read_tag();
        if (closed && next == '/' && at_ + 2 < text_.size() && is_letter(text_[at_ + 2])) return read_end_tag();
        sink().put("<");
        ++at_;
    }

    // A comment that is never closed ends like a tag.
    void read_comment() {
        const std::size_t begin = at_ + 4;
        std::size_t end = begin, next = text_.size();
        if (has_at(text_, begin, ">")) {
            next = begin + 1;
        } else if (has_at(text_, begin, "->")) {
            next = begin + 2;
        } else {
            end = uncommented_ ? std::string_view::npos : text_.find("-->", begin);
            uncommented_ = end == std::string_view::npos;
            next = end + 3;
            if (uncommented_) {
                end = std::min(text_.find('>', begin), text_.size());
                next = std::min(end + 1, text_.size());
            }
        }
        put_aside(text_.substr(begin, end - begin));
        at_ = next;
    }

    void read_declaration() {
        const std::size_t end = text_.find('>', at_);
        const bool known = text_[at_ + 1] == '?' || has_at(text_, at_, "<!doctype") || has_at(text_, at_, "<![");
        if (!known) put_aside(text_.substr(at_ + 2, end - at_ - 2));
        at_ = end + 1;
    }

    void put_aside(std::string_view comment) {
        html::Sink& sink = sinks_[html::comment];
        sink.space();
        put_text(comment, sink);
    }

    // Where a name that begins at a place ends.
    std::size_t name_end(std::size_t at) const {
        while (at < text_.size() && !is_space(text_[at]) && text_[at] != '/' && text_[at] != '>') ++at;
        return at;
    }

    void read_end_tag() {
        const std::size_t begin = at_ + 2, end = name_end(begin);
        const html::Key key = html::key_of(text_.substr(begin, end - begin));
        at_ = std::min(text_.find('>', end), text_.size() - 1) + 1;
        close(key, html::traits_of(key));
    }

    void read_tag() {
        const std::size_t begin = at_ + 1, end = name_end(begin);
        const std::string_view name = text_.substr(begin, end - begin);
        const html::Key key = html::key_of(name);
        const std::uint8_t traits = html::traits_of(key);
        html::Attributes attributes;
        at_ = end;
        read_attributes(attributes);
        note(name, key, attributes);
        open(key, traits, attributes);
        if (key == html::key_of("script") || key == html::key_of("style")) {
            at_ = raw_end(key == html::key_of("script") ? "</script" : "</style", text_.size());
        } else if (key == html::key_of("title")) {
            const std::size_t stop = raw_end("</title", at_);
            title_.space();
            put_text(text_.substr(at_, stop - at_), title_);
            at_ = stop;
        }
    }

    // Where an element ends whose content is no markup; `otherwise` where it does not end at all.
    std::size_t raw_end(std::string_view end_tag, std::size_t otherwise) {
        const std::size_t which = end_tag[2] == 't';
        if (endless_[which]) return otherwise;
        for (std::size_t at = find_byte(text_, '<', at_); at != kNowhere; at = find_byte(text_, '<', at + 1)) {
            if (has_at(text_, at, end_tag)) return at;
        }
        endless_[which] = true;
        return otherwise;
    }

    // Reads up to the end of the tag. A quote that is never closed is none.
    void read_attributes(html::Attributes& attributes) {
        const std::size_t size = text_.size();
        while (at_ < size) {
            while (at_ < size && (is_space(text_[at_]) || text_[at_] == '/')) ++at_;
            if (at_ == size) return;
            if (text_[at_] == '>') {
                ++at_;
                return;
            }
            const std::size_t begin = at_++;
            while (at_ < size && text_[at_] != '=' && text_[at_] != '>' && text_[at_] != '/' && !is_space(text_[at_])) {
                ++at_;
            }
            const html::Attribute attribute = html::attribute_of(html::key_of(text_.substr(begin, at_ - begin)));
            while (at_ < size && is_space(text_[at_])) ++at_;
            if (at_ == size || text_[at_] != '=') {
                attributes.put(attribute, {});
                continue;
            }
            ++at_;
            while (at_ < size && is_space(text_[at_])) ++at_;
            attributes.put(attribute, read_value());
        }
    }

    std::string_view read_value() {
        const std::size_t size = text_.size();
        if (at_ == size) return {};
        const char quote = text_[at_];
        if (quote == '"' || quote == '\'') {
            bool& none = unquoted_[quote == '"'];
            const std::size_t close = none ? kNowhere : find_byte(text_, quote, at_ + 1);
            if (close != kNowhere) {
                const std::string_view value = text_.substr(at_ + 1, close - at_ - 1);
                at_ = close + 1;
                return value;
            }
            none = true;
            ++at_;
        }
        const std::size_t begin = at_;
        while (at_ < size && !is_space(text_[at_]) && text_[at_] != '>') ++at_;
        return text_.substr(begin, at_ - begin);
    }

    // Keeps what a tag says of links and looks.
    void note(std::string_view name, html::Key key, const html::Attributes& attributes) {
        using html::key_of;
        switch (key) {
            case key_of("a"): case key_of("area"): note_address(Kind::link, attributes, html::href); break;
            case key_of("form"): note_address(Kind::link, attributes, html::action); break;
            case key_of("iframe"): note_address(Kind::link, attributes, html::src); break;
            case key_of("img"): note_address(Kind::image, attributes, html::src); break;
            default: break;
        }
        scratch_.clear();
        for (const char c : cut_utf8(name, kLongestName)) scratch_.push_back(lower(c));
        const std::size_t size = scratch_.size();
        for (std::size_t i = 0; i < html::kLooks; ++i) {
            if (!attributes.has(static_cast<html::Attribute>(i)) || attributes.values[i].empty()) continue;
            scratch_.push_back(' ');
            scratch_.append(html::kAttributeNames[i]);
            scratch_.push_back('=');
            for (const char c : cut_utf8(attributes.values[i], kLongestValue)) {
                if (!is_space(c)) scratch_.push_back(lower(c));
            }
        }
        if (!tags_.add(text::hash_of(scratch_.data(), scratch_.size()))) return;
        std::string looks = scratch_.size() > size ? scratch_.substr(size + 1) : std::string();
        found_.push_back({Kind::tag, scratch_.substr(0, size), std::move(looks)});
    }

    void note_address(Kind kind, const html::Attributes& attributes, html::Attribute attribute) {
        if (!attributes.has(attribute)) return;
        std::string address = html::without_references(trimmed(attributes.values[attribute]));
        address.erase(std::remove_if(address.begin(), address.end(),
                                     [](char c) { return c == '\t' || c == '\r' || c == '\n'; }),
                      address.end());
        if (!address.empty()) found_.push_back({kind, {}, std::move(address)});
    }

    void open(html::Key key, std::uint8_t traits, const html::Attributes& attributes) {
        using html::key_of;
        if (traits & html::cell) end_cells(key);
        if ((traits & html::single) && !stack_.empty() && stack_.back().key == key) pop_to(stack_.size() - 1);
        const bool body = key == key_of("body");
        html::Look look = look_;
        if (attributes.present != 0) apply(look, key, traits, attributes);
        if (!look.gone || look_.gone) end_words(traits);
        if (body) {
            look_ = look;
            sight_ = look_.sight();
            return;
        }
        if (traits & html::alone) return;
        const bool again = std::any_of(stack_.begin(), stack_.end(), [&](const Open& each) { return each.key == key; });
        if (stack_.size() == kDeepest || !((traits & html::cell) || again || !(look == look_))) return;
        stack_.push_back({key, traits, look_});
        see(look);
    }

    static void apply(html::Look& look, html::Key key, std::uint8_t traits, const html::Attributes& attributes) {
        using html::key_of;
        const auto& values = attributes.values;
        const bool table = (traits & html::cell) != 0;
        const auto colour = [&](html::Attribute attribute, html::Colour& into) {
            const html::Colour found = attributes.has(attribute) ? html::colour_of(values[attribute]) : html::kUnknown;
            if (found != html::kUnknown) into = found;
        };
        if (attributes.has(html::href) && key == key_of("a")) look.fore = html::kLink;
        if (key == key_of("font") || key == key_of("basefont")) colour(html::color, look.fore);
        if (key == key_of("body")) colour(html::text, look.fore);
        colour(html::bgcolor, look.back);
        if (attributes.has(html::background) && !values[html::background].empty()) look.back = html::kUnknown;
        if (attributes.has(html::hidden) && key != key_of("input")) look.gone = true;
        const bool page = key == key_of("body") || key == key_of("html");
        const auto none = [&](html::Attribute side) { return attributes.has(side) && html::at_most(values[side], 0); };
        if (!table && !page && (none(html::width) || none(html::height))) look.boxed = true;
        if (attributes.has(html::style)) html::apply_style(look, values[html::style], table);
    }

    void see(const html::Look& look) {
        look_ = look;
        const html::Sight sight = look_.sight();
        if (sight != sight_ && sight != html::seen) sinks_[sight].space();
        sight_ = sight;
    }

    // Lines end among the words that are seen, too, unless nothing is shown here at all.
    void end_words(std::uint8_t traits) {
        for (html::Sink* each : {&sink(), look_.gone || look_.boxed ? &sink() : &sinks_[html::seen]}) {
            if (traits & html::line) {
                each->end_line();
            } else if (traits & html::gap) {
                each->space();
            }
        }
    }

    // A row or a cell ends where the next one of the same table begins.
    void end_cells(html::Key key) {
        using html::key_of;
        if (key == key_of("table")) return;
        for (std::size_t i = stack_.size(); i > 0; --i) {
            const Open& each = stack_[i - 1];
            if (each.key == key_of("table")) return;
            const bool inner = key != key_of("tr") && each.key == key_of("tr");
            if (inner) return;
            if (each.traits & html::cell) pop_to(i - 1);
        }
    }

    void close(html::Key key, std::uint8_t traits) {
        const bool was_gone = look_.gone;
        for (std::size_t i = stack_.size(); i > 0; --i) {
            const Open& each = stack_[i - 1];
            if (each.key == key) {
                if (!each.outside.gone && was_gone) traits = 0;  // what is not shown at all ends no words
                pop_to(i - 1);
                break;
            }
            const bool outside = !(traits & html::cell) ? (each.traits & html::cell) != 0
                                                        : each.key == html::key_of("table");
            if (outside) break;
        }
        end_words(traits);
    }

    void pop_to(std::size_t size) {
        see(stack_[size].outside);
        stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(size), stack_.end());
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t last_close_;             // where the last ">" is
    bool endless_[2] = {false, false};   // whether nothing, or no title, ends any more
    bool uncommented_ = false;           // whether no comment is closed any more
    bool unquoted_[2] = {false, false};  // whether there are no more single, or double, quotes
    html::Look look_;
    html::Sight sight_ = html::seen;
    std::vector<Open> stack_;
    std::array<html::Sink, html::kSights> sinks_;
    html::Sink title_;
    html::Seen tags_;
    std::string scratch_;
    std::vector<Piece> found_;
};

}  // namespace suffice::mail
