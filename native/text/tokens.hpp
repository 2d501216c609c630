// Documents to features: words, characters, bytes, and runs of them.
#pragma once

#include <cstring>
#include <vector>

#include "alphabet.hpp"
#include "windows.hpp"
#include "words.hpp"

namespace suffice::text {

struct Settings {
    enum Unit { words = 0, characters = 1, characters_in_words = 2, bytes = 3 };
    Unit unit = words;
    int shortest = 1, longest = 1;    // how many units make a feature
    std::int64_t least = 2, most = 0;  // characters of a word; 0: any number
    Alphabet alphabet{};
    const Words* stop = nullptr;  // words to leave out
};

// The units of one document, in one buffer: a run of units is a run of bytes. Words are apart by one space.
class Tokens {
public:
    explicit Tokens(const Settings& settings) : settings_(settings) {
        bool keeps = true, lowers = true;
        for (int c = 0; c < 128; ++c) {
            const std::int32_t folded = settings.alphabet.fold[c];
            // A character that stays within ASCII is looked up.
            simple_[c] = folded >= 0 && folded < 128;
            plain_[c] = simple_[c] ? static_cast<char>(folded) : '\0';
            in_word_[c] = simple_[c] && (settings.alphabet.kind[folded] & word) != 0;
            const bool capital = c >= 'A' && c <= 'Z', small = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
            const bool usual = simple_[c] && in_word_[c] == (capital || small || digit || c == '_');
            keeps = keeps && usual && folded == c;
            lowers = lowers && usual && folded == (capital ? c + 32 : c);
        }
        lowers_ = lowers;
        usual_ = keeps || lowers;
    }

    // Calls each(bytes, size, hash) for every feature of a document.
    template <class Each>
    void visit(const Document& document, Each&& each) {
        switch (settings_.unit) {
            case Settings::words: read_words(document), visit_words(each); break;
            case Settings::characters: read_characters(document), visit_runs(0, begin_.size() - 1, each); break;
            case Settings::characters_in_words: read_characters(document), visit_in_words(each); break;
            case Settings::bytes: read_bytes(document), visit_runs(0, begin_.size() - 1, each); break;
        }
    }

private:
    static constexpr std::size_t kSlack = 64;  // what one character may become, and bytes that are read past the end

    void room(std::size_t size) {
        if (buffer_.size() < size + kSlack) buffer_.resize(2 * (size + kSlack));
    }

    // Calls each(character) for what one character of the document becomes; returns where the next one is.
    template <class Each>
    const char* fold(const Document& document, const char* p, Each&& each) const {
        const Alphabet& alphabet = settings_.alphabet;
        const Character at = decode(p, document.end, document.surrogates);
        const std::int32_t folded = alphabet.fold[at.code];
        if (folded >= 0) {
            each(folded);
        } else {
            const std::int32_t* longer = alphabet.longer + ~folded;
            for (std::int32_t i = 1; i <= longer[0]; ++i) each(longer[i]);
        }
        return at.after;
    }

    void read_words(const Document& document) {
        count_ = start_ = at_ = 0;
        length_ = 0;
        const char* p = document.begin;
        while (p < document.end) {
            room(at_ + 2 * kWindow);
            if (begin_.size() < count_ + kWindow) begin_.resize(2 * count_ + kWindow), end_.resize(2 * count_ + kWindow);
            if (usual_ && document.end - p >= static_cast<std::ptrdiff_t>(kWindow)) {
                p += read_window(p);
                if (p == document.end || static_cast<unsigned char>(*p) < 128) continue;
            }
            p = read_character(document, p);
        }
        if (length_ > 0) finish();
    }

    // Reads ASCII up to the end of a window, and returns how many bytes that is.
    std::size_t read_window(const char* p) {
        Window window;
        look(p, lowers_, window);
        const std::size_t usable = window.foreign != 0 ? static_cast<std::size_t>(lowest(window.foreign)) : kWindow;
        const std::uint64_t words = usable < kWindow ? window.words & ((std::uint64_t(1) << usable) - 1) : window.words;
        for (std::size_t i = 0; i < usable;) {
            const std::uint64_t rest = words >> i;
            if ((rest & 1) == 0) {  // between words
                if (length_ > 0) finish();
                if (rest == 0) break;
                i += static_cast<std::size_t>(lowest(rest));
            } else {
                const std::uint64_t gaps = ~rest;
                const auto run = gaps == 0 ? kWindow : static_cast<std::size_t>(lowest(gaps));
                std::memcpy(buffer_.data() + at_, window.bytes + i, kWindow - i < 16 ? kWindow - i : 16);
                if (run > 16) std::memcpy(buffer_.data() + at_ + 16, window.bytes + i + 16, run - 16);
                const std::size_t taken = run < usable - i ? run : usable - i;
                at_ += taken;
                length_ += static_cast<std::int64_t>(taken);
                i += taken;
            }
        }
        return usable;
    }

    // Reads one character, and returns where the next one is.
    const char* read_character(const Document& document, const char* p) {
        const auto byte = static_cast<unsigned char>(*p);
        if (byte < 128 && simple_[byte]) {
            if (in_word_[byte]) {
                buffer_[at_++] = plain_[byte];
                ++length_;
            } else if (length_ > 0) {
                finish();
            }
            return p + 1;
        }
        return fold(document, p, [&](std::int32_t code) {
            if (settings_.alphabet.kind[code] & word) {
                room(at_);
                at_ = static_cast<std::size_t>(encode(code, buffer_.data() + at_) - buffer_.data());
                ++length_;
            } else if (length_ > 0) {
                finish();
            }
        });
    }

    // Ends the word that is being read. There is room for one more.
    void finish() {
        if (count_ == begin_.size()) begin_.resize(2 * count_ + kWindow), end_.resize(2 * count_ + kWindow);
        const bool kept = length_ >= settings_.least && (settings_.most == 0 || length_ <= settings_.most) &&
                          (settings_.stop == nullptr || !is_stop(start_, at_ - start_));
        begin_[count_] = start_, end_[count_] = at_;
        count_ += kept;
        buffer_[at_] = ' ';
        at_ = start_ = kept ? at_ + 1 : start_;
        length_ = 0;
    }

    bool is_stop(std::size_t start, std::size_t size) const {
        const char* data = buffer_.data() + start;
        return settings_.stop->find({data, size}) >= 0;
    }

    template <class Each>
    void visit_words(Each&& each) const {
        const std::size_t count = count_;
        for (std::size_t n = static_cast<std::size_t>(settings_.shortest);
             n <= static_cast<std::size_t>(settings_.longest) && n <= count; ++n) {
            for (std::size_t i = 0; i + n <= count; ++i) give(begin_[i], end_[i + n - 1], each);
        }
    }

    // All characters, several spaces in a row becoming one blank; begin_ gets one entry more than there are characters.
    void read_characters(const Document& document) {
        begin_.clear();
        std::size_t at = 0, spaces = 0;
        const auto put = [&](std::int32_t code) {
            if (settings_.alphabet.kind[code] & space) {
                if (++spaces > 1) {
                    at = begin_.back();
                    begin_.pop_back();
                    code = ' ';
                }
            } else {
                spaces = 0;
            }
            room(at);
            begin_.push_back(at);
            at = static_cast<std::size_t>(encode(code, buffer_.data() + at) - buffer_.data());
        };
        for (const char* p = document.begin; p < document.end;) {
            const auto byte = static_cast<unsigned char>(*p);
            if (byte < 128 && simple_[byte]) {
                put(plain_[byte]);
                ++p;
            } else {
                p = fold(document, p, put);
            }
        }
        room(at);
        begin_.push_back(at);
    }

    void read_bytes(const Document& document) {
        const auto size = static_cast<std::size_t>(document.end - document.begin);
        room(size);
        if (size > 0) std::memcpy(buffer_.data(), document.begin, size);
        begin_.resize(size + 1);
        for (std::size_t i = 0; i <= size; ++i) begin_[i] = i;
    }

    // Runs of the units from first to last - 1.
    template <class Each>
    void visit_runs(std::size_t first, std::size_t last, Each&& each) const {
        for (std::size_t n = static_cast<std::size_t>(settings_.shortest);
             n <= static_cast<std::size_t>(settings_.longest) && n <= last - first; ++n) {
            for (std::size_t i = first; i + n <= last; ++i) give(begin_[i], begin_[i + n], each);
        }
    }

    // Runs of characters within words, each with a blank on either side; a word shorter than a run counts once, whole.
    template <class Each>
    void visit_in_words(Each&& each) {
        const std::size_t last = begin_.size() - 1;
        if (padded_.size() < 3 * begin_[last] + 3) padded_.resize(3 * begin_[last] + 3);
        char* out = padded_.data();
        for (std::size_t i = 0; i < last;) {
            while (i < last && is_space(i)) ++i;
            std::size_t j = i;
            while (j < last && !is_space(j)) ++j;
            if (j > i) out = visit_padded(i, j, out, each);
            i = j;
        }
    }

    bool is_space(std::size_t i) const {
        const char* p = buffer_.data() + begin_[i];
        return settings_.alphabet.kind[decode(p, buffer_.data() + begin_[i + 1], true).code] & space;
    }

    // Writes the padded word to `word`, and returns where the next one goes: bytes stay until the next document.
    template <class Each>
    char* visit_padded(std::size_t first, std::size_t last, char* word, Each&& each) {
        const std::size_t inner = begin_[last] - begin_[first], bytes = inner + 2, length = last - first + 2;
        word[0] = word[bytes - 1] = ' ';
        std::memcpy(word + 1, buffer_.data() + begin_[first], inner);
        const auto start = [&](std::size_t i) {  // of the character at place i of the padded word
            return i == 0 ? 0 : i > length - 1 ? bytes : begin_[first + i - 1] - begin_[first] + 1;
        };
        for (std::size_t n = static_cast<std::size_t>(settings_.shortest);
             n <= static_cast<std::size_t>(settings_.longest); ++n) {
            if (n >= length) {
                each(word, bytes, hash_of(word, bytes));
                break;
            }
            for (std::size_t i = 0; i + n <= length; ++i) {
                const std::size_t from = start(i), to = start(i + n);
                each(word + from, to - from, hash_of(word + from, to - from));
            }
        }
        return word + bytes;
    }

    template <class Each>
    void give(std::size_t from, std::size_t to, Each&& each) const {
        const char* data = buffer_.data() + from;
        each(data, to - from, hash_of<true>(data, to - from));
    }

    Settings settings_;
    char plain_[128];
    bool simple_[128], in_word_[128];
    std::vector<char> buffer_, padded_;
    std::vector<std::size_t> begin_, end_;
    bool usual_, lowers_;  // whether ASCII is read in the usual way: letters, digits and _ are words
    // The word that is being read, and how many there were before it.
    std::size_t count_ = 0, start_ = 0, at_ = 0;
    std::int64_t length_ = 0;  // in characters
};

}  // namespace suffice::text
