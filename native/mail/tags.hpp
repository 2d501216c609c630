// HTML elements and attributes that matter for features.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace suffice::mail::html {

// The first eight letters of a name in lower case as a number, by which names are compared.
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

// Elements without traits do not end words; unknown elements are treated alike.
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

}  // namespace suffice::mail::html
