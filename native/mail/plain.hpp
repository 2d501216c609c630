// Plain text: the addresses that stand in it, and the files that are written into it as uuencode writes them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "limits.hpp"
#include "lines.hpp"
#include "transfer.hpp"

namespace suffice::mail {

// What bytes are to addresses in plain text: 1 may belong to the beginning of one, 2 ends one.
constexpr std::array<std::uint8_t, 256> make_address_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (std::size_t i = 0; i <= ' '; ++i) classes[i] = 2;
    for (const char c : std::string_view("<>\"\x7F\\^`{}|")) classes[static_cast<unsigned char>(c)] = 2;
    classes[':'] = classes['.'] = 1;
    return classes;
}
inline constexpr std::array<std::uint8_t, 256> kAddressClasses = make_address_classes();

// Finds addresses that stand in plain text: `found(url)` gets each.
template <class Found>
void find_addresses(std::string_view text, Found&& found) {
    const auto of_class = [&](std::size_t at, std::uint8_t which) {
        while (at < text.size() && kAddressClasses[byte_of(text[at])] != which) ++at;
        return at;
    };
    std::size_t last = 0;  // where the address before ends
    for (std::size_t at = of_class(0, 1); at < text.size(); at = of_class(std::max(at + 1, last), 1)) {
        std::size_t begin = kNowhere, least = 2;  // of the address, and what there is of it at least from here on
        if (text[at] == ':') {
            if (!has_at(text, at, "://")) continue;
            least = 4;
            if (at >= last + 5 && has_at(text, at - 5, "https")) begin = at - 5;
            if (at >= last + 4 && has_at(text, at - 4, "http")) begin = at - 4;
        } else if (at >= last + 3 && has_at(text, at - 3, "www")) {
            const bool within = at > 3 && (is_letter(text[at - 4]) || is_digit(text[at - 4]));
            if (!within) begin = at - 3;
        }
        if (begin == kNowhere) continue;
        std::size_t end = last = of_class(at, 2);
        while (end > at && std::string_view(".,;:!?)]'*_").find(text[end - 1]) != std::string_view::npos) --end;
        if (end >= at + least) found(text.substr(begin, end - begin));
    }
}

// The file name of a line that begins a uuencoded block ("begin 644 name"); without data if it is none.
inline std::string_view uuencoded_name(std::string_view line) {
    if (line.substr(0, 6) != "begin ") return {};
    std::size_t at = 6;
    while (at < line.size() && line[at] >= '0' && line[at] <= '7') ++at;
    if (at < 9 || at > 10 || at + 1 >= line.size() || line[at] != ' ') return {};
    return trimmed(line.substr(at + 1));
}

// Whether a line is as long as its first character says.
inline bool is_uuencoded(std::string_view line) {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    if (line.empty() || line[0] < ' ' || line[0] > '`') return false;
    const std::size_t count = static_cast<std::size_t>(line[0] - ' ') & 63;
    const std::size_t long_form = 1 + (count + 2) / 3 * 4;
    if (line.size() > long_form + 1) return false;
    // Blanks at the end may be lost, where they stand for zeros.
    return count > 0 && line.size() + 3 >= long_form;
}

// Where the next line begins that may begin a uuencoded block.
inline std::size_t find_block(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find("begin ", from); at < text.size(); at = text.find("begin ", at + 1)) {
        if (at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r') return at;
    }
    return text.size();
}

// Addresses, and blocks that are files, are told apart from text.
inline void read_plain(std::string_view text, Pieces& pieces) {
    const auto put_stretch = [&](std::string_view stretch) {
        if (!trimmed(stretch).empty()) pieces.add(Kind::text, "plain", std::string(stretch));
    };
    std::size_t from = 0;
    Lines lines(text);
    for (std::size_t at = find_block(text, 0); at < text.size(); at = find_block(text, at)) {
        lines.seek(at);
        const std::string_view name = uuencoded_name(lines.line());
        const std::size_t begin = lines.next();
        if (!name.empty()) {
            lines.advance();
            while (!lines.done() && is_uuencoded(lines.line())) lines.advance();
        }
        if (lines.at() <= begin) {
            at = begin;
            continue;
        }
        put_stretch(text.substr(from, at - from));
        pieces.add(Kind::attachment, "uuencode", std::string(name));
        const std::string_view rest = trimmed(lines.line());
        if (!lines.done() && rest.size() <= 1) lines.advance();
        if (!lines.done() && lines.line().substr(0, 3) == "end") lines.advance();
        at = from = lines.at();
    }
    put_stretch(text.substr(from));
    find_addresses(text, [&](std::string_view address) { pieces.add(Kind::link, "", std::string(address)); });
}

}  // namespace suffice::mail
