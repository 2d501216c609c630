// The float nearest to a number in decimal digits, in any locale. std::from_chars has floats in few standard libraries.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "transfer.hpp"

namespace suffice::mail {

// A number in decimal digits: 0.d1 d2 d3 ... * 10^exponent, without zeros in front. `digits` may contain the point.
struct Decimal {
    bool negative = false;
    std::uint64_t leading = 0;  // the first 19 digits, or all
    int count = 0;              // of digits in `leading`
    std::string_view digits;
    std::int64_t exponent = 0;
};

// As std::from_chars reads it: a sign, digits with a point, and an exponent; nothing else may follow.
inline std::optional<Decimal> decimal_of(std::string_view text) {
    Decimal number;
    std::size_t i = 0;
    if (!text.empty() && text.front() == '-') number.negative = ++i;
    bool any = false, point = false;
    std::size_t first = text.size();
    for (; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '.' && !point) {
            point = true;
        } else if (is_digit(c)) {
            any = true;
            if (first == text.size() && c != '0') first = i;
            if (first < text.size()) {
                number.exponent += !point;
                if (number.count < 19) number.leading = 10 * number.leading + static_cast<unsigned>(c - '0'), ++number.count;
            } else {
                number.exponent -= point;
            }
        } else {
            break;
        }
    }
    if (!any) return std::nullopt;
    number.digits = text.substr(std::min(first, i), i - std::min(first, i));
    if (i == text.size()) return number;
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    if (++i == text.size()) return std::nullopt;
    const bool below = text[i] == '-';
    if (below || text[i] == '+') ++i;
    if (i == text.size()) return std::nullopt;
    std::int64_t power = 0;
    for (; i < text.size(); ++i) {
        if (!is_digit(text[i])) return std::nullopt;
        power = std::min<std::int64_t>(10 * power + (text[i] - '0'), 1'000'000'000'000);
    }
    number.exponent += below ? -power : power;
    return number;
}

// A whole number of any length, lowest word first.
class WholeNumber {
  public:
    // this * factor + more
    void multiply(std::uint32_t factor, std::uint32_t more = 0) {
        std::uint64_t carry = more;
        for (std::uint32_t& word : words_) {
            carry += std::uint64_t(word) * factor;
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry) words_.push_back(static_cast<std::uint32_t>(carry));
    }

    void multiply_power(std::uint32_t base, std::int64_t power) {
        for (; power > 0; --power) multiply(base);
    }

    bool operator==(const WholeNumber& other) const { return words_ == other.words_; }

    bool operator<(const WholeNumber& other) const {
        if (words_.size() != other.words_.size()) return words_.size() < other.words_.size();
        return std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(), other.words_.rend());
    }

  private:
    std::vector<std::uint32_t> words_;
};

// Whether a number is less than a positive double of at most 32 bits (-1), equal (0) or greater (1), exactly.
inline int compare(const Decimal& number, double other) {
    // A double of 32 bits between 2^-150 and 2^60 has fewer than 160 digits: of what follows, only whether it is 0 counts.
    constexpr int kDigits = 160;
    WholeNumber left, right;
    int taken = 0;
    bool more = false;
    for (const char c : number.digits) {
        if (c == '.') continue;
        if (taken < kDigits) left.multiply(10, static_cast<std::uint32_t>(c - '0')), ++taken;
        else more = more || c != '0';
    }
    left.multiply(10, more);
    const std::int64_t tens = number.exponent - (taken + 1);
    int twos = 0;
    const double fraction = std::frexp(other, &twos);
    right.multiply(0, static_cast<std::uint32_t>(std::ldexp(fraction, 32)));
    twos -= 32;
    left.multiply_power(10, tens);
    right.multiply_power(10, -tens);
    right.multiply_power(2, twos);
    left.multiply_power(2, -twos);
    return left == right ? 0 : left < right ? -1 : 1;
}

// The nearest float, the even one of two. Nothing if the text is no number, or one of 1e20 or more, or if the nearest
// float is 0 and the number is not.
inline std::optional<float> float_of(std::string_view text) {
    static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const std::optional<Decimal> number = decimal_of(text);
    if (!number || (number->count && number->exponent > 20)) return std::nullopt;
    if (!number->count) return number->negative ? -0.0f : 0.0f;
    if (number->exponent < -60) return std::nullopt;
    auto value = static_cast<double>(number->leading);
    std::int64_t tens = number->exponent - number->count;
    if (tens > 0) value *= kTens[tens];
    for (; tens < 0; tens += 22) value /= kTens[std::min<std::int64_t>(-tens, 22)];
    // Powers of ten to 10^22 are exact, so that these are at most seven roundings, of 2^-53 each.
    const auto low = static_cast<float>(value * (1 - 0x1p-50)), high = static_cast<float>(value * (1 + 0x1p-50));
    float nearest = low;
    if (low != high) {
        const int order = compare(*number, (double(low) + double(high)) / 2);
        const bool odd = std::bit_cast<std::uint32_t>(low) & 1;
        if (order > 0 || (order == 0 && odd)) nearest = high;
    }
    if (nearest == 0) return std::nullopt;
    return number->negative ? -nearest : nearest;
}

}  // namespace suffice::mail
