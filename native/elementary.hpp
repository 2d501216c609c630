// exp and log1p without branches or tables, so that a loop over them vectorises on any instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels.hpp"

namespace suffice {
namespace SUFFICE_ISA {

inline double power_of_two(std::int64_t exponent) {  // of -1022 to 1023
    const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// exp(x) = series * 2^power.
struct Exponential {
    double series;
    std::int64_t power;
};

// For |x| up to 745.2.
inline Exponential reduced_exponential(double bounded) {
    const double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number, held in the low bits
    const double shifted = bounded * 1.4426950408889634 + magic;
    const double whole = shifted - magic;
    std::int64_t power;
    std::memcpy(&power, &shifted, sizeof power);
    power = static_cast<std::int64_t>(static_cast<std::uint64_t>(power) - 0x4338000000000000ull);
    // log 2 in two parts: whole * (first part) is exact, so the rest keeps its digits.
    const double r = (bounded - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
    // Taylor's series to r^13, |r| <= 0.347: the first term left out is below 1e-17. Estrin's order, for short chains.
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const double a = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6));
    const double b = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    const double c = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
    const double e = 1.0 / 479001600 + r * (1.0 / 6227020800.0);
    return {a + r4 * b + r8 * (c + r4 * e), power};
}

// exp(x) to about one unit in the last place; 0 and infinity where the result leaves the range, NaN for NaN.
inline double exponential(double x) {
    // Past these bounds the result is 0 or infinite anyway; within them the exponent is safe to build.
    const double bounded = x > 745.2 ? 745.2 : (x < -745.2 ? -745.2 : x);
    const Exponential e = reduced_exponential(bounded);
    // Two factors: 2^-1074 and 2^1075 are out of reach of one.
    const std::int64_t half = e.power >> 1;
    const double result = e.series * power_of_two(half) * power_of_two(e.power - half);
    return x != x ? x : result;
}

// The same where x is known to lie within -700 and 700.
inline double bounded_exponential(double x) {
    const Exponential e = reduced_exponential(x);
    return e.series * power_of_two(e.power);
}

// log(1 + u) for u in [0, 1], to about one unit in the last place.
inline double log_one_plus(double u) {
    // log y = 2 atanh((y - 1) / (y + 1)); past sqrt(2), y is halved first and log 2 added, so that |s| <= 0.172.
    const bool upper = u > 0.41421356237309503;
    const double s = (upper ? u - 1.0 : u) / (upper ? u + 3.0 : u + 2.0);
    const double q = s * s, q2 = q * q, q4 = q2 * q2;
    const double a = (1.0 / 3 + q * (1.0 / 5)) + q2 * (1.0 / 7 + q * (1.0 / 9));
    const double b = (1.0 / 11 + q * (1.0 / 13)) + q2 * (1.0 / 15 + q * (1.0 / 17));
    const double c = 1.0 / 19 + q * (1.0 / 21) + q2 * (1.0 / 23);
    const double tail = 2.0 * s * q * (a + q4 * (b + q4 * c));
    return (upper ? 0.6931471805599453 : 0.0) + (2.0 * s + tail);
}

// log(1 + u) for any finite u >= 0, to about one unit in the last place.
inline double log_one_plus_any(double u) {
    const double y = 1.0 + u;
    std::uint64_t bits;
    std::memcpy(&bits, &y, sizeof bits);
    const std::uint64_t biased = bits >> 52;
    const std::uint64_t mantissa = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    double scaled, power;  // y = scaled * 2^power, with scaled in [1, 2)
    std::memcpy(&scaled, &mantissa, sizeof scaled);
    // As in exponential: a small whole number in the low bits of 2^52 is that number, once 2^52 is taken off.
    const std::uint64_t held = biased | 0x4330000000000000ull;
    std::memcpy(&power, &held, sizeof power);
    power -= 4503599627370496.0 + 1023.0;
    // Below 2 the digits of u that 1 + u has lost still count.
    return power * 0.6931471805599453 + log_one_plus(biased == 1023 ? u : scaled - 1.0);
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
