// The signs of HTML: runs of text, tags, comments. What never ends is looked for once, so that each byte is read once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tags.hpp"
#include "transfer.hpp"

namespace suffice::mail::html {

enum class Sign : std::uint8_t { letter, comment, declaration, tag, end_tag };

class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text), last_close_(text.rfind('>')) {}

    bool done() const { return at_ >= text_.size(); }

    // The text up to the next "<".
    std::string_view run() {
        const std::size_t begin = at_;
        at_ = std::min(find_byte(text_, '<', at_), text_.size());
        return text_.substr(begin, at_ - begin);
    }

    // What begins with the "<" that is here; one that begins nothing is a letter.
    Sign sign() const {
        const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
        if (next == '!' && has_at(text_, at_, "<!--")) return Sign::comment;
        const bool closed = last_close_ != std::string_view::npos && at_ < last_close_;
        if (closed && (next == '!' || next == '?')) return Sign::declaration;
        if (closed && is_letter(next)) return Sign::tag;
        if (closed && next == '/' && at_ + 2 < text_.size() && is_letter(text_[at_ + 2])) return Sign::end_tag;
        return Sign::letter;
    }

    std::string_view letter() { return text_.substr(at_++, 1); }

    // What a comment says. One that is never closed ends like a tag.
    std::string_view comment() {
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
        at_ = next;
        return text_.substr(begin, end - begin);
    }

    // The text of an unknown declaration; empty for known ones.
    std::string_view declaration() {
        const std::size_t begin = at_, end = text_.find('>', at_);
        at_ = end + 1;
        const bool known = text_[begin + 1] == '?' || has_at(text_, begin, "<!doctype") || has_at(text_, begin, "<![");
        return known ? std::string_view() : text_.substr(begin + 2, end - begin - 2);
    }

    // The name of an end tag.
    std::string_view end_tag() {
        const std::size_t begin = at_ + 2, end = name_end(begin);
        at_ = std::min(text_.find('>', end), text_.size() - 1) + 1;
        return text_.substr(begin, end - begin);
    }

    // The name of a tag.
    std::string_view tag(Attributes& attributes) {
        const std::size_t begin = at_ + 1, end = name_end(begin);
        at_ = end;
        read_attributes(attributes);
        return text_.substr(begin, end - begin);
    }

    // Up to the end tag of an element whose content is no markup. Without one, a title has no content, and others go on to
    // the end of all.
    std::string_view content(Key key) {
        const bool title = key == key_of("title");
        const std::string_view end_tag = title ? "</title" : key == key_of("script") ? "</script" : "</style";
        const std::size_t begin = at_;
        at_ = raw_end(end_tag, title ? at_ : text_.size());
        return text_.substr(begin, at_ - begin);
    }

private:
    // Where a name that begins at a place ends.
    std::size_t name_end(std::size_t at) const {
        while (at < text_.size() && !is_space(text_[at]) && text_[at] != '/' && text_[at] != '>') ++at;
        return at;
    }

    std::size_t raw_end(std::string_view end_tag, std::size_t otherwise) {
        bool& endless = endless_[end_tag[2] == 't'];
        if (endless) return otherwise;
        for (std::size_t at = find_byte(text_, '<', at_); at != kNowhere; at = find_byte(text_, '<', at + 1)) {
            if (has_at(text_, at, end_tag)) return at;
        }
        endless = true;
        return otherwise;
    }

    // Reads up to the end of the tag. A quote that is never closed is none.
    void read_attributes(Attributes& attributes) {
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
            const Attribute attribute = attribute_of(key_of(text_.substr(begin, at_ - begin)));
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

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t last_close_;             // where the last ">" is
    bool endless_[2] = {false, false};   // whether nothing, or no title, ends any more
    bool uncommented_ = false;           // whether no comment is closed any more
    bool unquoted_[2] = {false, false};  // whether there are no more single, or double, quotes
};

}  // namespace suffice::mail::html
