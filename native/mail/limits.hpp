// What is read of a message: pieces of text, each of a kind, within limits that hold for whatever was sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace suffice::mail {

// Over a limit, what is read so far is kept, and a piece of kind trouble says so.
struct Limits {
    std::size_t bytes = std::size_t(1) << 20;    // of the body that are read at all
    std::size_t headers = 1000;                  // fields of one head
    std::size_t header_bytes = 16384;            // of one field, unfolded
    std::size_t parts = 200;                     // of one message, multiparts and messages within it too
    std::size_t depth = 20;                      // of multiparts and messages in each other; never more than kDeepest
    std::size_t decoded = std::size_t(1) << 20;  // bytes of text in all, transfer encodings removed
    std::size_t words = 200;                     // encoded words of one field
    std::size_t pieces = 20000;                  // not counting trouble

    static constexpr std::size_t kDeepest = 100;
};

enum class Kind : std::uint8_t { header, part, text, hidden, link, image, tag, attachment, trouble };

struct Piece {
    Kind kind;
    std::string name;  // both are valid UTF-8
    std::string text;
};

enum class Trouble : std::uint8_t {
    bytes, headers, header_bytes, parts, depth, decoded, words, pieces,
    base64, quoted_printable, charset, boundary, nul, empty, no_header
};

// What is wrong with a message, each kind of trouble once.
class Troubles {
public:
    void add(Trouble trouble, std::string_view detail) {
        const auto at = static_cast<std::size_t>(trouble);
        if (seen_[at]) return;
        seen_[at] = true;
        found_.push_back({Kind::trouble, std::string(kNames[at]), std::string(detail)});
    }

    // For limits: "more than 200 parts".
    void over(Trouble trouble, std::size_t limit, std::string_view what) {
        if (!seen_[static_cast<std::size_t>(trouble)]) {
            add(trouble, "more than " + std::to_string(limit) + " " + std::string(what));
        }
    }

    const std::vector<Piece>& found() const { return found_; }

private:
    static constexpr std::array<std::string_view, 15> kNames = {
        "bytes",  "headers",          "header_bytes", "parts",    "depth", "decoded", "words",    "pieces",
        "base64", "quoted-printable", "charset",      "boundary", "nul",   "empty",   "no-header"};

    std::array<bool, kNames.size()> seen_{};
    std::vector<Piece> found_;
};

// Pieces, up to the limit.
class Pieces {
public:
    Pieces(std::size_t most, Troubles& troubles) : most_(most), troubles_(troubles) {}

    void add(Kind kind, std::string_view name, std::string text) {
        if (found_.size() < most_) {
            found_.push_back({kind, std::string(name), std::move(text)});
        } else {
            troubles_.over(Trouble::pieces, most_, "pieces");
        }
    }

    std::vector<Piece> take() { return std::move(found_); }

private:
    std::size_t most_;
    Troubles& troubles_;
    std::vector<Piece> found_;
};

}  // namespace suffice::mail
