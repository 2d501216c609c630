// The parts of multiparts: the lines that are boundaries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "limits.hpp"
#include "lines.hpp"
#include "transfer.hpp"

namespace suffice::mail {

// A multipart whose end is not reached.
struct Multipart {
    std::string boundary;
    std::size_t item;   // its own
    std::size_t begin;  // of its body
    std::size_t parts, depth;
    bool digest;
};

// A line that is a boundary.
struct Cut {
    std::size_t begin, next;  // where the part before it ends, and where the line after it begins
    std::size_t open;         // whose boundary; kNowhere: the end of all
    bool last;                // no part follows
};

// Which of the open boundaries a line is, the innermost first; kNowhere if it is none. No multipart ends before its first
// part: what follows would be hidden.
inline std::size_t boundary_of(std::string_view line, const std::vector<Multipart>& open, bool& last, Troubles& troubles) {
    if (line.size() < 3 || line[0] != '-' || line[1] != '-') return kNowhere;
    line.remove_prefix(2);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    for (std::size_t i = open.size(); i > 0; --i) {
        const std::string& boundary = open[i - 1].boundary;
        if (line.substr(0, boundary.size()) != boundary) continue;
        const std::string_view rest = line.substr(boundary.size());
        last = rest == "--";
        if (!last && !rest.empty()) continue;
        if (!last || open[i - 1].parts > 0) return i - 1;
        troubles.add(Trouble::boundary, "a multipart ends before its first part");
    }
    return kNowhere;
}

// The next boundary from a line on.
inline Cut find_cut(Lines& lines, const std::vector<Multipart>& open, Troubles& troubles) {
    const std::size_t size = lines.text().size();
    std::size_t before = lines.at();  // where the line before ends
    for (; !open.empty() && !lines.done(); lines.advance()) {
        bool last = false;
        const std::size_t found = boundary_of(lines.line(), open, last, troubles);
        if (found != kNowhere) return {before, lines.next(), found, last};
        before = lines.end();
    }
    return {size, size, kNowhere, true};
}

}  // namespace suffice::mail
