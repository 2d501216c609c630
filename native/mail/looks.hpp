// How text in HTML looks where it stands, and whether it is seen at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "transfer.hpp"

namespace suffice::mail::html {

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

// Whether two colours look the same.
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

// Size in pixels or points, up to a maximum.
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

}  // namespace suffice::mail::html
