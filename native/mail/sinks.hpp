// What is written down of HTML: text with its space made even, and each thing once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "entities.hpp"
#include "transfer.hpp"

namespace suffice::mail::html {

// What bytes are within text: 0 themselves, 1 blanks, 2 other space, 3 the beginning of a reference.
constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    classes[' '] = 1, classes['\t'] = classes['\n'] = classes['\v'] = classes['\f'] = classes['\r'] = 2;
    classes['&'] = 3;
    return classes;
}
inline constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

// Text that is written with one blank, or one end of a line, wherever there is any.
struct Sink {
    std::string text;
    char pending = 0;

    void put(std::string_view run) {
        if (pending != 0 && !text.empty()) text.push_back(pending);
        pending = 0;
        text.append(run);
    }
    void space() { pending = pending == 0 ? ' ' : pending; }
    void end_line() { pending = '\n'; }

    // Puts in a run of text as it stands between tags.
    void read(std::string_view run) {
        for (std::size_t at = 0; at < run.size();) {
            const std::uint8_t first = kClasses[byte_of(run[at])];
            if (first == 1 || first == 2) {
                space();
                ++at;
                continue;
            }
            if (first == 3) {
                const Reference reference = read_reference(run, at, false);
                if (reference.size > 0) {
                    put({});
                    append_character(text, reference.code);
                    at += reference.size;
                    continue;
                }
            }
            std::size_t end = at + 1;
            while (end < run.size()) {
                const std::uint8_t here = kClasses[byte_of(run[end])];
                if (here > 1) break;
                if (here == 1 && (end + 1 == run.size() || kClasses[byte_of(run[end + 1])] != 0)) break;
                ++end;
            }
            put(run.substr(at, end - at));
            at = end;
        }
    }

    // Whether there is nothing but space, no-break space too.
    bool blank() const { return text.find_first_not_of(" \n\xC2\xA0") == std::string::npos; }
};

}  // namespace suffice::mail::html
