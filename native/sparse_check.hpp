// Whether the parts of CSR fit each other, in one pass over them.
#pragma once

#include "rows.hpp"

namespace suffice {
namespace SUFFICE_ISA {

template <class I, class Unsigned>
void check_parts(const Features& x) {
    const I* ends = static_cast<const I*>(x.indptr);
    if (ends[0] != 0) offend("indptr", 0, -1, static_cast<double>(ends[0]));
    bool falling = false;
    for (index_t i = 0; i < x.rows; ++i) falling |= ends[i + 1] < ends[i];
    for (index_t i = 0; falling && i < x.rows; ++i) {
        if (ends[i + 1] < ends[i]) offend("indptr", i + 1, -1, static_cast<double>(ends[i + 1]));
    }
    const index_t stored = static_cast<index_t>(ends[x.rows]);
    if (stored > x.stored) offend("indptr", x.rows, -1, static_cast<double>(stored));

    const I* columns = static_cast<const I*>(x.indices);
    constexpr std::uint64_t negative = std::uint64_t(1) << (8 * sizeof(I) - 1);  // the first, read without a sign
    const auto cols = static_cast<std::uint64_t>(x.cols);
    const auto width = static_cast<Unsigned>(cols < negative ? cols : negative);
    const auto outside = [&](index_t s) { return static_cast<Unsigned>(columns[s]) >= width; };
    Unsigned found = 0;
    for (index_t s = 0; s < stored; ++s) found |= outside(s) ? 1 : 0;
    for (index_t s = 0; found != 0 && s < stored; ++s) {
        if (outside(s)) offend("indices", s, -1, static_cast<double>(columns[s]));
    }
}

// Refuses CSR whose row ends fall or lie past the stored values, or which stores a value in no column.
inline void check_sparse(const Features& x) {
    if (x.wide) {
        check_parts<std::int64_t, std::uint64_t>(x);
    } else {
        check_parts<std::int32_t, std::uint32_t>(x);
    }
}

}  // namespace SUFFICE_ISA
}  // namespace suffice
