// Overflow-checked sizes. A product that wraps would make an allocation smaller than the data written to it.
#pragma once

#include <limits>
#include <new>

namespace suffice {

// Memory that no machine has: a MemoryError in Python.
struct SizeOverflow : std::bad_alloc {
    const char* what() const noexcept override { return "a size that the shapes ask for does not fit in 64 bits"; }
};

// These have internal linkage: one shared copy could carry instructions that another machine lacks.
template <class T>
static constexpr T checked_product(T a) {
    if (a < 0) throw SizeOverflow();
    return a;
}

// The product of lengths, none of which is negative.
template <class T, class... More>
static constexpr T checked_product(T a, T b, More... more) {
    if (a < 0 || b < 0 || (a != 0 && b > std::numeric_limits<T>::max() / a)) throw SizeOverflow();
    return checked_product<T>(static_cast<T>(a * b), static_cast<T>(more)...);
}

// The sum of two lengths, neither of which is negative.
template <class T>
static constexpr T checked_sum(T a, T b) {
    if (a < 0 || b < 0 || b > std::numeric_limits<T>::max() - a) throw SizeOverflow();
    return static_cast<T>(a + b);
}

}  // namespace suffice
