// Raw mail messages: read once, from the first byte to the last, into pieces of text. Nothing in them is trusted.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "characters.hpp"
#include "headers.hpp"
#include "html.hpp"
#include "limits.hpp"
#include "parts.hpp"
#include "plain.hpp"
#include "transfer.hpp"

namespace suffice::mail {

class Message {
public:
    using Foreign = mail::Foreign;

    Message(std::string_view raw, const Limits& limits) : limits_(limits), characters_(troubles_) {
        if (trimmed(raw).empty()) troubles_.add(Trouble::empty, "there is nothing in the message");
        const std::size_t body = raw.size() > limits_.bytes ? body_begin(raw) : 0;
        if (raw.size() - body > limits_.bytes) {
            troubles_.over(Trouble::bytes, limits_.bytes, "bytes in the body");
            raw = raw.substr(0, body + limits_.bytes);
        }
        if (find_byte(raw, '\0', 0) != kNowhere) troubles_.add(Trouble::nul, "there are NUL bytes in the message");
        limits_.depth = std::min(limits_.depth, Limits::kDeepest);
        items_.reserve(64);
        read_message(raw, 0, "");
        for (Written& text : outside_) put(Kind::hidden, "outside", std::move(text));
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    // Stretches of fields and of text in charsets for others to decode, transfer encodings removed.
    const std::vector<Foreign>& foreign() const { return characters_.foreign(); }

    // Sets the decoded text of a foreign stretch. Stretches that are not set are read as UTF-8 or windows-1252.
    void put(std::size_t index, std::string utf8) { characters_.say(index, std::move(utf8)); }

    std::vector<Piece> pieces() const {
        Troubles troubles = troubles_;
        Pieces pieces(limits_.pieces, troubles);
        for (const Item& item : items_) {
            if (item.reading == Reading::none) {
                pieces.add(item.kind, item.name, characters_.written(item.text));
            } else {
                std::string filled;
                if (!item.text.gaps.empty()) filled = characters_.written(item.text);
                const std::string& text = item.text.gaps.empty() ? item.text.text : filled;
                if (item.reading == Reading::html) {
                    HtmlReader(text).read(pieces);
                } else {
                    read_plain(text, pieces);
                }
            }
        }
        std::vector<Piece> all = pieces.take();
        all.insert(all.end(), troubles.found().begin(), troubles.found().end());
        return all;
    }

private:
    static constexpr std::size_t kLongestName = 200;  // of a field

    enum class Reading : std::uint8_t { none, plain, html };

    struct Item {
        Kind kind;
        Reading reading;  // of texts
        std::string name;
        Written text;
    };

    // A part, or the message: the properties of the body by its header.
    struct Part {
        std::size_t body = 0;
        std::string type, transfer, disposition;  // the fields as they stand
        bool typed = false;
    };

    // Reads one message; messages within it too, unless they are encoded.
    void read_message(std::string_view raw, std::size_t depth, std::string_view prefix) {
        std::vector<Multipart> open;
        Lines lines(raw);
        bool digest = false;
        while (true) {
            const Part part = read_part(lines, prefix, open);
            if (parts_++ == limits_.parts) {
                troubles_.over(Trouble::parts, limits_.parts, "parts");
                return;
            }
            const std::size_t at = part.body;
            lines.seek(at);
            const Parameters type(part.typed ? part.type : digest ? "message/rfc822" : "text/plain");
            const bool deep = depth >= limits_.depth;
            const bool message = type.value == "message/rfc822" || type.value == "message/news";
            const bool several = type.value.substr(0, 10) == "multipart/";
            if ((message || several) && deep) {
                troubles_.over(Trouble::depth, limits_.depth, "multiparts and messages in each other");
            }
            if (message && !deep && !is_encoded(part)) {
                put_part(type, part);
                prefix = "inner-";
                digest = false;
                ++depth;
                continue;
            }
            std::string boundary = several && !deep ? type.read("boundary").bytes : std::string();
            while (!boundary.empty() && is_space(boundary.back())) boundary.pop_back();
            if (several && !deep && boundary.empty()) {
                troubles_.add(Trouble::boundary, "a multipart declares no boundary");
            }
            const bool opened = !boundary.empty();
            if (opened) {
                open.push_back({std::move(boundary), items_.size(), at, 0, depth, type.value == "multipart/digest"});
                put(Kind::part, clean(type.value), {"parts=0", {}});
            }
            Cut cut = find_cut(lines, open, troubles_);
            const std::string_view body = raw.substr(at, cut.begin - at);
            if (!opened) {
                read_leaf(type, part, body, depth, several);
            } else if (cut.open + 1 == open.size()) {
                put_outside(body);
            }
            while (true) {
                end_parts(raw, cut, open);
                if (cut.open == kNowhere) return;
                if (!cut.last) break;
                open.pop_back();
                const std::size_t after = cut.next;
                lines.seek(after);
                cut = find_cut(lines, open, troubles_);
                put_outside(raw.substr(after, cut.begin - after));
            }
            lines.seek(cut.next);
            depth = open.back().depth + 1;
            digest = open.back().digest;
            prefix = "part-";
        }
    }

    static bool is_encoded(const Part& part) {
        const std::string transfer = lowered(trimmed(part.transfer));
        return transfer == "base64" || transfer == "quoted-printable";
    }

    // Ends the multiparts within the one that a boundary belongs to, and counts the part that begins.
    void end_parts(std::string_view raw, const Cut& cut, std::vector<Multipart>& open) {
        const std::size_t kept = cut.open == kNowhere ? 0 : cut.open + 1;
        while (open.size() > kept) {
            const Multipart& ended = open.back();
            if (ended.parts == 0) {
                troubles_.add(Trouble::boundary, "a declared boundary never occurs");
                const std::string_view body = raw.substr(ended.begin, cut.begin - ended.begin);
                put_text("", decoded("", body), begins_as_html(body));
            } else {
                troubles_.add(Trouble::boundary, "a multipart does not end");
            }
            open.pop_back();
        }
        if (kept == 0) return;
        Multipart& here = open.back();
        if (!cut.last) ++here.parts;
        if (here.item < items_.size()) items_[here.item].text.text = "parts=" + std::to_string(here.parts);
    }

    Part read_part(Lines& lines, std::string_view prefix, const std::vector<Multipart>& open) {
        Part part;
        std::size_t fields = 0;
        FieldReader reader(characters_, troubles_, limits_);
        const auto field = [&](std::string_view name, std::string_view value) {
            if (fields++ >= limits_.headers) {
                troubles_.over(Trouble::headers, limits_.headers, "fields in a head");
                return;
            }
            std::string small(prefix);
            if (name.size() > kLongestName) {
                troubles_.over(Trouble::header_bytes, kLongestName, "bytes in the name of a header field");
                name = name.substr(0, kLongestName);
            }
            for (const char c : name) small.push_back(lower(c));
            std::string whole = unfolded(value, limits_.header_bytes, troubles_);
            const std::string_view own = std::string_view(small).substr(prefix.size());
            put(Kind::header, small, reader.read(whole));
            if (own == "content-type" && !part.typed) {
                part.type = std::move(whole);
                part.typed = part.type.find('/') != std::string::npos;
            } else if (own == "content-transfer-encoding" && part.transfer.empty()) {
                part.transfer = std::move(whole);
            } else if (own == "content-disposition" && part.disposition.empty()) {
                part.disposition = std::move(whole);
            }
        };
        part.body = read_head(lines, field, [&](std::string_view line) {
                        bool last = false;
                        return boundary_of(line, open, last, troubles_) != kNowhere;
                    }).body;
        if (fields == 0 && prefix.empty()) troubles_.add(Trouble::no_header, "the message has no header");
        return part;
    }

    void put(Kind kind, std::string_view name, Written text, Reading reading = Reading::none) {
        if (items_.size() < limits_.pieces) {
            items_.push_back({kind, reading, std::string(name), std::move(text)});
        } else {
            troubles_.over(Trouble::pieces, limits_.pieces, "pieces");
        }
    }

    // Tells of a part that is no multipart.
    void put_part(const Parameters& type, const Part& part) {
        Written told;
        const auto tell = [&](std::string_view name, std::string_view value) {
            if (value.empty()) return;
            if (!told.text.empty()) told.text.push_back(' ');
            told.text.append(name);
            characters_.append(told, "", lowered(value));
        };
        if (const std::string* charset = type.find("charset")) tell("charset=", *charset);
        tell("encoding=", trimmed(part.transfer));
        tell("disposition=", Parameters(part.disposition).value);
        put(Kind::part, clean(type.value), std::move(told));
    }

    std::string clean(std::string_view bytes) {
        Written out;
        characters_.append(out, "", bytes);
        return std::move(out.text);
    }

    void read_leaf(const Parameters& type, const Part& part, std::string_view body, std::size_t depth, bool several) {
        put_part(type, part);
        const Written file = file_name(type, part);
        const bool named = !file.text.empty() || !file.gaps.empty();
        const bool text = several || type.value.substr(0, 5) == "text/";
        if (!text || named) put(Kind::attachment, clean(type.value), file);
        const std::string transfer = lowered(trimmed(part.transfer));
        if (text) {
            const std::string bytes = decoded(transfer, body);
            const bool sniffed = several ? begins_as_html(bytes) : !part.typed && has_html_early(bytes);
            put_text(type.read("charset").bytes, bytes, sniffed || type.value == "text/html");
        } else if (type.value == "message/rfc822" && is_encoded(part) && depth < limits_.depth) {
            const std::string inner = decoded(transfer, body);
            read_message(inner, depth + 1, "inner-");
        }
    }

    Written file_name(const Parameters& type, const Part& part) {
        Parameters::Found found = Parameters(part.disposition).read("filename");
        if (found.bytes.empty()) found = type.read("name");
        if (!found.extended) return FieldReader(characters_, troubles_, limits_).read(found.bytes);
        Written out;
        characters_.append(out, found.charset, found.bytes);
        return out;
    }

    // Removes a transfer encoding, as long as there is room for more text.
    std::string decoded(std::string_view transfer, std::string_view body) {
        const std::size_t room = limits_.decoded - std::min(decoded_, limits_.decoded);
        Decoded result;
        if (transfer == "base64") {
            result = decode_base64(body, room);
            if (result.broken) troubles_.add(Trouble::base64, "a part is not what base64 makes");
        } else if (transfer == "quoted-printable") {
            result = decode_quoted(body, room, false);
            if (result.broken) troubles_.add(Trouble::quoted_printable, "a part is not what quoted-printable makes");
        } else {
            result.cut = body.size() > room;
            result.bytes = body.substr(0, room);
        }
        if (result.cut) troubles_.over(Trouble::decoded, limits_.decoded, "bytes of text");
        decoded_ += result.bytes.size();
        return std::move(result.bytes);
    }

    void put_text(std::string_view charset, std::string_view bytes, bool html) {
        if (bytes.empty()) return;
        std::string_view name = charset;
        if (html && name.empty()) name = charset_within(bytes);
        Written text;
        characters_.append(text, name, bytes);
        put(Kind::text, html ? "html" : "plain", std::move(text), html ? Reading::html : Reading::plain);
    }

    // Keeps the text before the first part of a multipart and after the last one, which few programs show; there is
    // room for the usual notice to programs without MIME.
    void put_outside(std::string_view bytes) {
        constexpr std::size_t kUsual = 200;
        if (trimmed(bytes).size() <= kUsual) return;
        Written text;
        characters_.append(text, "", decoded("", bytes));
        outside_.push_back(std::move(text));
    }

    Limits limits_;
    Troubles troubles_;
    Characters characters_;
    std::vector<Item> items_;
    std::vector<Written> outside_;  // added last, so that hidden text does not use up the limits of visible text
    std::size_t parts_ = 0, decoded_ = 0;
};

}  // namespace suffice::mail
