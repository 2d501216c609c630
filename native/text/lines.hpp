// One document a line, with or without a label before it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace suffice::text {

struct Lines {
    std::vector<std::int64_t> begins, cuts, ends;  // of each line; a cut is where its first separator is, or -1
};

inline Lines cut_lines(const char* data, std::size_t size, char separator) {
    Lines lines;
    for (std::size_t at = 0; at < size;) {
        const auto* found = static_cast<const char*>(std::memchr(data + at, '\n', size - at));
        std::size_t end = found == nullptr ? size : static_cast<std::size_t>(found - data);
        const std::size_t next = end + 1;
        if (end > at && data[end - 1] == '\r') --end;
        const auto* cut = separator == '\n' ? nullptr
                                            : static_cast<const char*>(std::memchr(data + at, separator, end - at));
        lines.begins.push_back(static_cast<std::int64_t>(at));
        lines.cuts.push_back(cut == nullptr ? -1 : static_cast<std::int64_t>(cut - data));
        lines.ends.push_back(static_cast<std::int64_t>(end));
        at = next;
    }
    return lines;
}

}  // namespace suffice::text
