// HTML: visible text, hidden text, links and appearance.
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
#include "entities.hpp"
#include "limits.hpp"
#include "looks.hpp"
#include "scanning.hpp"
#include "seen.hpp"
#include "sinks.hpp"
#include "tags.hpp"
#include "transfer.hpp"

namespace suffice::mail {

// Reads one HTML text. Whatever is open at the same time is kept in a stack that does not grow beyond a depth.
class HtmlReader {
public:
    explicit HtmlReader(std::string_view text) : scanner_(text) {
        sinks_[html::seen].text.reserve(text.size() / 2);
    }

    void read(Pieces& pieces) {
        while (!scanner_.done()) {
            const std::string_view run = scanner_.run();
            if (!run.empty()) put_text(run);
            if (!scanner_.done()) read_sign();
        }
        if (!title_.text.empty()) pieces.add(Kind::text, "title", std::move(title_.text));
        if (!sinks_[html::seen].text.empty()) pieces.add(Kind::text, "html", std::move(sinks_[html::seen].text));
        for (std::size_t i = 1; i < html::kSights; ++i) {
            if (sinks_[i].blank()) continue;
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
        sink().read(run);
        const bool room = sight_ == html::coloured && std::any_of(run.begin(), run.end(), is_space);
        if (room) sinks_[html::seen].space();  // which is seen, whatever its colour
    }

    void read_sign() {
        switch (scanner_.sign()) {
            case html::Sign::letter: return sink().put(scanner_.letter());
            case html::Sign::comment: return put_aside(scanner_.comment());
            case html::Sign::declaration: return put_aside(scanner_.declaration());
            case html::Sign::tag: return read_tag();
            case html::Sign::end_tag:
                const html::Key key = html::key_of(scanner_.end_tag());
                return close(key, html::traits_of(key));
        }
    }

    void put_aside(std::string_view comment) {
        html::Sink& sink = sinks_[html::comment];
        sink.space();
        sink.read(comment);
    }

    void read_tag() {
        using html::key_of;
        html::Attributes attributes;
        const std::string_view name = scanner_.tag(attributes);
        const html::Key key = key_of(name);
        note(name, key, attributes);
        open(key, html::traits_of(key), attributes);
        if (key == key_of("script") || key == key_of("style")) {
            scanner_.content(key);
        } else if (key == key_of("title")) {
            title_.space();
            title_.read(scanner_.content(key));
        }
    }

    // Keeps the links and the appearance of a tag.
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
        std::string address = without_references(trimmed(attributes.values[attribute]));
        address.erase(std::remove_if(address.begin(), address.end(),
                                     [](char c) { return c == '\t' || c == '\r' || c == '\n'; }),
                      address.end());
        if (!address.empty()) found_.push_back({kind, {}, std::move(address)});
    }

    void open(html::Key key, std::uint8_t traits, const html::Attributes& attributes) {
        using html::key_of;
        if (traits & html::cell) {
            if (!in_table(key)) return end_words(traits);
            end_cells(key);
        }
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

    // Rows and cells outside of tables are ignored, and so are their attributes.
    bool in_table(html::Key key) const {
        const html::Key table = html::key_of("table");
        return key == table || std::any_of(stack_.begin(), stack_.end(), [&](const Open& each) { return each.key == table; });
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

    html::Scanner scanner_;
    html::Look look_;
    html::Sight sight_ = html::seen;
    std::vector<Open> stack_;
    std::array<html::Sink, html::kSights> sinks_;
    html::Sink title_;
    Seen tags_{64};
    std::string scratch_;
    std::vector<Piece> found_;
};

// Whether a body without a declared type is HTML, by its beginning.
inline bool begins_as_html(std::string_view body) {
    const std::string_view begin = trimmed(body.substr(0, 1024));
    return has_at(begin, 0, "<html") || has_at(begin, 0, "<!doctype");
}

inline bool has_html_early(std::string_view body) {
    const std::string_view early = body.substr(0, 1024);
    for (std::size_t at = find_byte(early, '<', 0); at != kNowhere; at = find_byte(early, '<', at + 1)) {
        if (has_at(early, at, "<html")) return true;
    }
    return false;
}

// The charset that HTML says it is in.
inline std::string_view charset_within(std::string_view html) {
    const std::string_view early = html.substr(0, 2048);
    for (std::size_t at = find_byte(early, '=', 0); at != kNowhere; at = find_byte(early, '=', at + 1)) {
        if (at < 7 || !has_at(early, at - 7, "charset")) continue;
        std::size_t begin = at + 1;
        if (begin < early.size() && (early[begin] == '"' || early[begin] == '\'')) ++begin;
        std::size_t end = begin;
        while (end < early.size() && is_charset_name(early.substr(end, 1))) ++end;
        const std::string_view name = early.substr(begin, end - begin);
        return is_charset_name(name) && charset_of(lowered(name)) == Charset::foreign ? name : std::string_view();
    }
    return {};
}

}  // namespace suffice::mail
