// Lines of text, whichever way they end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "transfer.hpp"

namespace suffice::mail {

// Lines that end in LF, CRLF or CR. However often it is sought, each byte is looked at once for each of the two.
class Lines {
public:
    explicit Lines(std::string_view text)
        : text_(text), feed_(find_byte(text, '\n', 0)), back_(find_byte(text, '\r', 0)) {}

    std::string_view text() const { return text_; }
    bool done() const { return at_ >= text_.size(); }
    std::size_t at() const { return at_; }  // where the line begins
    std::size_t end() const { return std::min(std::min(feed_, back_), text_.size()); }
    std::string_view line() const { return text_.substr(at_, end() - at_); }

    // Where the next line begins.
    std::size_t next() const {
        const std::size_t end = this->end();
        if (end == text_.size()) return end;
        return end == back_ && feed_ == end + 1 ? end + 2 : end + 1;
    }

    void advance() { seek(next()); }

    // Goes on to a place.
    void seek(std::size_t at) {
        at_ = at;
        if (feed_ < at_) feed_ = find_byte(text_, '\n', at_);
        if (back_ < at_) back_ = find_byte(text_, '\r', at_);
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t feed_, back_;  // where the next LF and CR are
};

}  // namespace suffice::mail
