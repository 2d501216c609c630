// Raw mail messages: read once, from the first byte to the last, into pieces of text. Nothing in them is trusted.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "characters.hpp"
#include "headers.hpp"
#include "html.hpp"
#include "limits.hpp"
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
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    // Stretches of fields and of text in charsets for others to decode, transfer encodings removed.
    const std::vector<Foreign>& foreign() const { return characters_.foreign(); }

    // Says what a foreign stretch says. Those of which nothing is said are read as UTF-8 or as windows-1252.
    void put(std::size_t index, std::string utf8) {
        said_.resize(foreign().size());
        drop_nuls(utf8);
        if (index < said_.size()) said_[index] = repaired(std::move(utf8));
    }

    std::vector<Piece> pieces() const {
        Troubles troubles = troubles_;
        Pieces pieces(limits_.pieces, troubles);
        for (const Item& item : items_) {
            if (item.reading == Reading::none) {
                pieces.add(item.kind, item.name, written(item.text));
            } else {
                std::string filled;
                if (!item.text.gaps.empty()) filled = written(item.text);
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

    // A part, or the message: what its head says of the body.
    struct Part {
        std::size_t body = 0;
        std::string type, transfer, disposition;  // the fields as they stand
        bool typed = false;
    };

    // A multipart whose end is not reached.
    struct Open {
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

    // Reads one message; messages within it too, unless they are encoded.
    void read_message(std::string_view raw, std::size_t depth, std::string_view prefix) {
        std::vector<Open> open;
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
            Cut cut = find_cut(lines, open);
            if (!opened) read_leaf(type, part, raw.substr(at, cut.begin - at), depth, several);
            while (true) {
                end_parts(raw, cut, open);
                if (cut.open == kNowhere) return;
                if (!cut.last) break;
                open.pop_back();
                lines.seek(cut.next);
                cut = find_cut(lines, open);
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

    // Which of the open boundaries a line is, the innermost first; kNowhere if it is none.
    static std::size_t boundary_of(std::string_view line, const std::vector<Open>& open, bool& last) {
        if (line.size() < 3 || line[0] != '-' || line[1] != '-') return kNowhere;
        line.remove_prefix(2);
        while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
        for (std::size_t i = open.size(); i > 0; --i) {
            const std::string& boundary = open[i - 1].boundary;
            if (line.substr(0, boundary.size()) != boundary) continue;
            const std::string_view rest = line.substr(boundary.size());
            last = rest == "--";
            if (last || rest.empty()) return i - 1;
        }
        return kNowhere;
    }

    static Cut find_cut(Lines& lines, const std::vector<Open>& open) {
        const std::size_t size = lines.text().size();
        std::size_t before = lines.at();  // where the line before ends
        for (; !open.empty() && !lines.done(); lines.advance()) {
            bool last = false;
            const std::size_t found = boundary_of(lines.line(), open, last);
            if (found != kNowhere) return {before, lines.next(), found, last};
            before = lines.end();
        }
        return {size, size, kNowhere, true};
    }

    // Ends the multiparts within the one that a boundary belongs to, and counts the part that begins.
    void end_parts(std::string_view raw, const Cut& cut, std::vector<Open>& open) {
        const std::size_t kept = cut.open == kNowhere ? 0 : cut.open + 1;
        while (open.size() > kept) {
            const Open& ended = open.back();
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
        Open& here = open.back();
        if (!cut.last) ++here.parts;
        if (here.item < items_.size()) items_[here.item].text.text = "parts=" + std::to_string(here.parts);
    }

    Part read_part(Lines& lines, std::string_view prefix, const std::vector<Open>& open) {
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
                        return boundary_of(line, open, last) != kNowhere;
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

    static bool begins_as_html(std::string_view body) {
        const std::string_view begin = trimmed(body.substr(0, 1024));
        return has_at(begin, 0, "<html") || has_at(begin, 0, "<!doctype");
    }

    static bool has_html_early(std::string_view body) {
        const std::string_view early = body.substr(0, 1024);
        for (std::size_t at = find_byte(early, '<', 0); at != kNowhere; at = find_byte(early, '<', at + 1)) {
            if (has_at(early, at, "<html")) return true;
        }
        return false;
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

    // The charset that HTML says it is in.
    static std::string_view charset_within(std::string_view html) {
        const std::string_view early = html.substr(0, 2048);
        for (std::size_t at = find_byte(early, '=', 0); at != kNowhere; at = find_byte(early, '=', at + 1)) {
            if (at < 7 || !has_at(early, at - 7, "charset")) continue;
            std::size_t begin = at + 1;
            if (begin < early.size() && (early[begin] == '"' || early[begin] == '\'')) ++begin;
            std::size_t end = begin;
            while (end < early.size() && is_charset_name(early.substr(end, 1))) ++end;
            const std::string_view name = early.substr(begin, end - begin);
            return is_charset_name(name) && charset_of(lowered(name)) == Charset::foreign ? name : std::string_view();
        }
        return {};
    }

    // The text with what belongs in its gaps.
    std::string written(const Written& text) const {
        if (text.gaps.empty()) return text.text;
        std::string out;
        std::size_t at = 0;
        for (const Written::Gap& gap : text.gaps) {
            out.append(text.text, at, gap.at - at);
            at = gap.at;
            if (gap.foreign < said_.size() && said_[gap.foreign]) {
                out.append(*said_[gap.foreign]);
            } else {
                std::string bytes = foreign()[gap.foreign].bytes;
                drop_nuls(bytes);
                append_guess(out, bytes);
            }
        }
        out.append(text.text, at);
        return out;
    }

    // Addresses, and blocks that are files, are told apart from text.
    static void read_plain(std::string_view text, Pieces& pieces) {
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

    // Where the next line begins that may begin a uuencoded block.
    static std::size_t find_block(std::string_view text, std::size_t from) {
        for (std::size_t at = text.find("begin ", from); at < text.size(); at = text.find("begin ", at + 1)) {
            if (at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r') return at;
        }
        return text.size();
    }

    Limits limits_;
    Troubles troubles_;
    Characters characters_;
    std::vector<Item> items_;
    std::vector<std::optional<std::string>> said_;
    std::size_t parts_ = 0, decoded_ = 0;
};

}  // namespace suffice::mail
