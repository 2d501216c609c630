// Dates in header fields. They are not features: a filter that learned them would be wrong next month.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "transfer.hpp"

namespace suffice::mail {

// Whether all that a field, its name in lower case, says is a date.
inline bool is_date_field(std::string_view name) {
    constexpr std::string_view ending = "-date";
    return name == "date" || (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending);
}

// Finds a date where it begins: "Thu, 22 Aug 2002 11:36:23 -0400 (EDT)", "Thu Aug 22 11:36:23 2002", "2002-08-22T11:36",
// "20020822113623", each with or without what is around the day.
class DateReader {
public:
    explicit DateReader(std::string_view text) : text_(text) {}

    // Where the date ends that begins at a place; the place itself if none does.
    std::size_t end(std::size_t begin) {
        at_ = begin;
        weekday();
        if (!(day_first() || month_first() || numbers())) return begin;
        return at_;
    }

private:
    std::size_t digits() const {
        std::size_t n = 0;
        while (at_ + n < text_.size() && is_digit(text_[at_ + n])) ++n;
        return n;
    }

    std::size_t letters() const {
        std::size_t n = 0;
        while (at_ + n < text_.size() && is_letter(text_[at_ + n])) ++n;
        return n;
    }

    bool number(std::size_t fewest, std::size_t most) {
        const std::size_t n = digits();
        if (n < fewest || n > most) return false;
        at_ += n;
        return true;
    }

    bool mark(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool blanks() {
        const std::size_t before = at_;
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        return at_ > before;
    }

    bool between() { return blanks() || mark('-') || mark('/'); }

    // One of some names, whole or its first three letters.
    template <std::size_t N>
    bool name(const std::array<std::string_view, N>& names) {
        const std::size_t n = letters();
        for (const std::string_view each : names) {
            if ((n == 3 || n == each.size()) && has_at(text_, at_, each.substr(0, n))) {
                at_ += n;
                return true;
            }
        }
        return false;
    }

    bool month() {
        static constexpr std::array<std::string_view, 12> kMonths = {
            "january", "february", "march", "april", "may", "june",
            "july", "august", "september", "october", "november", "december"};
        return name(kMonths);
    }

    void weekday() {
        static constexpr std::array<std::string_view, 7> kDays = {
            "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
        if (!name(kDays)) return;
        mark(',');
        blanks();
    }

    // Extends the date by an optional part; the date ends before it if the part does not match.
    template <class Part>
    void perhaps(Part&& part) {
        const std::size_t before = at_;
        if (!part()) at_ = before;
    }

    bool clock() {
        if (!(number(1, 2) && mark(':') && number(2, 2))) return false;
        perhaps([&] { return mark(':') && number(2, 2); });
        perhaps([&] { return mark('.') && number(1, 9); });
        perhaps([&] {
            blanks();
            return zone();
        });
        return true;
    }

    bool zone() {
        if (mark('+') || mark('-')) {
            if (!number(4, 4)) return false;
        } else {
            const std::size_t n = letters();
            if (n < 1 || n > 5 || text_[at_] < 'A' || text_[at_] > 'Z' || text_[at_ + n - 1] > 'Z') return false;
            at_ += n;
        }
        perhaps([&] {
            if (!(blanks() && mark('('))) return false;
            const std::size_t n = letters();
            at_ += n;
            return n <= 5 && mark(')');
        });
        return true;
    }

    bool tried(std::size_t before, bool found) {
        if (!found) at_ = before;
        return found;
    }

    bool day_first() {
        const std::size_t before = at_;
        if (!tried(before, number(1, 2) && between() && month() && between() && (number(4, 4) || number(2, 2)))) return false;
        perhaps([&] { return (blanks() || mark(',')) && clock(); });
        return true;
    }

    bool month_first() {
        const std::size_t before = at_;
        if (!tried(before, month() && blanks() && number(1, 2))) return false;
        mark(',');
        const std::size_t day = at_;
        perhaps([&] { return blanks() && clock(); });
        const std::size_t timed = at_;
        perhaps([&] { return blanks() && number(4, 4); });
        return tried(before, at_ > timed || timed > day);  // "May 2" alone is no date
    }

    bool numbers() {
        const std::size_t before = at_, n = digits();
        if (n < 4 || (text_.substr(at_, 2) != "19" && text_.substr(at_, 2) != "20")) return false;
        const auto two = [&](std::size_t at) { return (text_[at] - '0') * 10 + text_[at + 1] - '0'; };
        if (n == 8 || n == 12 || n == 14) {
            if (two(at_ + 4) < 1 || two(at_ + 4) > 12 || two(at_ + 6) < 1 || two(at_ + 6) > 31) return false;
            at_ += n;
            return true;
        }
        if (!tried(before, number(4, 4) && mark('-') && number(2, 2) && mark('-') && digits() == 2)) return false;
        at_ += 2;
        perhaps([&] { return (blanks() || mark('T')) && clock(); });
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// Appends text to `out`, less the dates in it.
inline void append_without_dates(std::string& out, std::string_view text) {
    DateReader reader(text);
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_letter(text[at]) && !is_digit(text[at])) {
            ++at;
            continue;
        }
        if (const std::size_t end = reader.end(at); end > at) {
            out.append(text.substr(from, at - from));
            from = at = end;
            continue;
        }
        while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
    }
    out.append(text.substr(from));
}

}  // namespace suffice::mail
