// One document a line, with or without a label before it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "words.hpp"

namespace suffice::text {

struct Lines {
    std::vector<std::int64_t> begins, ends;  // of each document
    std::vector<std::int64_t> codes;         // the place of its label among the labels; -1 where a line has none
};

// With `labels`, a line is a label, a separator and a document; labels that are new are added.
inline Lines cut_lines(const char* data, std::size_t size, char separator, Words* labels) {
    Lines lines;
    for (std::size_t at = 0; at < size;) {
        const auto* found = static_cast<const char*>(std::memchr(data + at, '\n', size - at));
        std::size_t end = found == nullptr ? size : static_cast<std::size_t>(found - data);
        const std::size_t next = end + 1;
        if (end > at && data[end - 1] == '\r') --end;
        std::size_t begin = at;
        std::int64_t code = -1;
        if (labels != nullptr) {
            const auto* cut = static_cast<const char*>(std::memchr(data + at, separator, end - at));
            if (cut != nullptr) {
                code = labels->add({data + at, static_cast<std::size_t>(cut - data) - at});
                begin = static_cast<std::size_t>(cut - data) + 1;
            }
        }
        lines.begins.push_back(static_cast<std::int64_t>(begin));
        lines.ends.push_back(static_cast<std::int64_t>(end));
        lines.codes.push_back(code);
        at = next;
    }
    return lines;
}

}  // namespace suffice::text
