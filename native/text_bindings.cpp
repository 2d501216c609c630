// Python bindings of text: documents, vocabularies and counts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>

#include "text/counting.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using namespace suffice::text;

namespace {

// The counts of every class as one table, (classes, words).
Result<double> table(const std::vector<std::vector<double>>& counts, std::size_t words, std::size_t classes) {
    Result<double> all = zeros(classes, counts.empty() ? 0 : words);
    for (std::size_t c = 0; c < counts.size(); ++c) {
        std::copy_n(counts[c].begin(), std::min(words, counts[c].size()), all.data() + c * words);
    }
    return all;
}

constexpr char kSigma[] = "\xCE\xA3";  // the capital one, in UTF-8

bool has_sigma(const char* data, std::size_t size) {
    return std::search(data, data + size, kSigma, kSigma + 2) != data + size;
}

// Documents as bytes, where they lie or copied. What becomes of a capital sigma depends on its neighbours: where letters
// are to be lower, documents with one are lowered by Python first.
class Documents {
public:
    // Strings and bytes; `first` is the position of the first, for errors.
    Documents(const nb::list& objects, std::int64_t first, bool lower) : lower_(lower) {
        const std::size_t count = objects.size();
        documents_.reserve(count);
        ends_.reserve(count + 1);
        ends_.push_back(0);
        for (std::size_t i = 0; i < count; ++i) add(objects[i], first + static_cast<std::int64_t>(i));
    }

    // Parts of one buffer.
    Documents(const nb::bytes& buffer, const Column<std::int64_t>& begins, const Column<std::int64_t>& ends, bool lower)
        : lower_(lower) {
        if (begins.size() != ends.size()) throw nb::value_error("begins and ends must be as many");
        owners_.push_back(nb::borrow(buffer));
        ends_.push_back(0);
        const bool look = lower && has_sigma(buffer.c_str(), buffer.size());
        for (std::size_t i = 0; i < begins.size(); ++i) {
            const std::int64_t begin = begins.data()[i], end = ends.data()[i];
            if (begin < 0 || end < begin || end > static_cast<std::int64_t>(buffer.size())) {
                throw nb::index_error("a document is not within the buffer");
            }
            put(buffer.c_str() + begin, static_cast<std::size_t>(end - begin), look);
        }
    }

    std::size_t size() const { return documents_.size(); }
    const Document& operator[](std::size_t i) const { return documents_[i]; }
    Result<std::int64_t> ends() const { return handed(std::vector<std::int64_t>(ends_)); }

private:
    void add(const nb::handle object, std::int64_t position) {
        if (PyUnicode_Check(object.ptr())) {
            if (nb::cast<bool>(object.attr("isascii")())) {
                Py_ssize_t size = 0;
                const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
                if (data == nullptr) throw nb::python_error();
                owners_.push_back(nb::borrow(object));
                put(data, static_cast<std::size_t>(size), false);
            } else {
                put_text(object);
            }
        } else if (PyBytes_Check(object.ptr())) {
            owners_.push_back(nb::borrow(object));
            const auto [data, size] = bytes_of(object);
            put(data, size, lower_);
        } else {
            const std::string kind = nb::cast<std::string>(object.type().attr("__name__"));
            throw nb::type_error(("documents[" + std::to_string(position) + "] is of type " + kind +
                                  "; a document is a str, or the bytes of one")
                                     .c_str());
        }
    }

    // Not PyUnicode_AsUTF8: it would leave a copy within the caller's string for as long as that lives.
    void put_text(const nb::handle text) {
        const bool sigma = lower_ && PyUnicode_FindChar(text.ptr(), 0x3A3, 0, PyUnicode_GetLength(text.ptr()), 1) >= 0;
        const nb::object lowered = sigma ? nb::object(text.attr("lower")()) : nb::borrow(text);
        PyObject* bytes = PyUnicode_AsEncodedString(lowered.ptr(), "utf-8", "surrogatepass");
        if (bytes == nullptr) throw nb::python_error();
        owners_.push_back(nb::steal(bytes));
        const auto [data, size] = bytes_of(bytes);
        add_document(data, size, true);
    }

    void put(const char* data, std::size_t size, bool look) {
        if (!look || !has_sigma(data, size)) return add_document(data, size, false);
        PyObject* text = PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "replace");
        if (text == nullptr) throw nb::python_error();
        put_text(nb::steal(text));
    }

    void add_document(const char* data, std::size_t size, bool surrogates) {
        documents_.push_back({data, data + size, surrogates});
        ends_.push_back(ends_.back() + static_cast<std::int64_t>(size));
    }

    static Bytes bytes_of(nb::handle bytes) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
        return {data, static_cast<std::size_t>(size)};
    }

    bool lower_;
    std::vector<Document> documents_;
    std::vector<std::int64_t> ends_;
    std::vector<nb::object> owners_;
};

// How documents become features.
class Tokeniser {
public:
    Tokeniser(int unit, int shortest, int longest, std::int64_t least, std::int64_t most, Column<std::uint8_t> kind,
              Column<std::int32_t> fold, Column<std::int32_t> longer, std::optional<nb::object> stop)
        : kind_(kind), fold_(fold), longer_(longer), stop_(stop) {
        if (kind.size() != kCharacters || fold.size() != kCharacters) {
            throw nb::value_error("kind and fold must have one entry per character");
        }
        for (std::size_t i = 0; i < fold.size(); ++i) check_fold(fold.data()[i]);
        if (shortest < 1 || longest < shortest) throw nb::value_error("runs must be of 1 unit at least");
        settings_.unit = static_cast<Settings::Unit>(unit);
        settings_.shortest = shortest;
        settings_.longest = longest;
        settings_.least = least;
        settings_.most = most;
        settings_.alphabet = {kind_.data(), fold_.data(), longer_.data()};
        if (stop) {
            auto* words = nb::cast<Words*>(*stop);
            words->index();
            settings_.stop = words;
        }
    }
    const Settings& settings() const { return settings_; }

    nb::list tokens(const Documents& documents, std::size_t i) const {
        if (i >= documents.size()) throw nb::index_error("no such document");
        Tokens tokens(settings_);
        nb::list found;
        tokens.visit(documents[i],
                     [&](const char* data, std::size_t size, std::uint64_t) { found.append(text_of(data, size)); });
        return found;
    }

private:
    void check_fold(std::int32_t folded) const {
        if (folded >= 0 ? folded < kCharacters : std::size_t(~folded) < longer_.size()) return;
        throw nb::value_error("fold must hold characters, or places among the longer ones");
    }

    Column<std::uint8_t> kind_;
    Column<std::int32_t> fold_, longer_;
    std::optional<nb::object> stop_;
    Settings settings_;
};

void check_range(const Documents& documents, std::size_t start, std::size_t stop) {
    if (start > stop || stop > documents.size()) throw nb::index_error("documents are out of range");
}

template <class Places>
void read_rows(const Tokeniser& tokeniser, const Documents& documents, std::size_t start, std::size_t stop,
               Places places, Rows& rows, std::vector<std::int64_t>& unknown) {
    Tokens tokens(tokeniser.settings());
    Bag bag;
    rows.ends.reserve(stop - start + 1);
    rows.ends.push_back(0);
    for (std::size_t i = start; i < stop; ++i) {
        unknown.push_back(fill(bag, tokens, documents[i], places));
        rows.add(bag.entries.data(), bag.count);
    }
}

// Rows of counts: (row ends, columns, counts, features without a column). `grow`: new words are added.
nb::tuple rows(const Tokeniser& tokeniser, const Documents& documents, std::size_t start, std::size_t stop,
               Words& words, bool grow) {
    check_range(documents, start, stop);
    words.index();
    Rows found;
    std::vector<std::int64_t> unknown;
    {
        nb::gil_scoped_release release;
        if (grow) {
            read_rows(tokeniser, documents, start, stop, Growing{words}, found, unknown);
        } else {
            read_rows(tokeniser, documents, start, stop, Fixed{words}, found, unknown);
        }
    }
    return nb::make_tuple(handed(std::move(found.ends)), handed(std::move(found.columns)),
                          handed(std::move(found.counts)), handed(std::move(unknown)));
}

template <class Places>
void score(const Tokeniser& tokeniser, const Documents& documents, std::size_t start, std::size_t stop, Places places,
           const std::vector<place_t>* slots, const Scoring& scoring, double* scores) {
    Tokens tokens(tokeniser.settings());
    Bag bag;
    for (std::size_t i = start; i < stop; ++i, scores += scoring.classes) {
        fill(bag, tokens, documents[i], places);
        scoring.add(bag, slots != nullptr ? slots->data() : nullptr, scores);
    }
}

// Linear scores of documents, (documents, classes); the table is (places, classes).
Result<double> scores(const Tokeniser& tokeniser, const Documents& documents, std::size_t start, std::size_t stop,
                      Words* words, int bits, Table table, Column<double> intercept, bool presence, bool normed) {
    check_range(documents, start, stop);
    const std::size_t k = intercept.size();
    if (words == nullptr && (bits < 1 || bits > 30)) throw nb::value_error("bits must be from 1 to 30");
    if (words != nullptr) words->index();
    const std::size_t width = words != nullptr ? static_cast<std::size_t>(words->size()) : std::size_t(1) << bits;
    if (table.shape(0) != width || table.shape(1) != k) throw nb::value_error("the table must have a row for each place");
    const Scoring scoring{table.data(), intercept.data(), width, k, presence, normed};
    Result<double> found = zeros(stop - start, k);
    nb::gil_scoped_release release;
    if (words != nullptr) {
        score(tokeniser, documents, start, stop, Fixed{*words}, nullptr, scoring, found.data());
    } else {
        Words seen;
        std::vector<place_t> slots;
        score(tokeniser, documents, start, stop, Hashed{seen, slots, width - 1}, &slots, scoring, found.data());
    }
    return found;
}

// Counts per class of new words, (events, presences, documents per word, class weights), and the sample as
// (limit, hashes, codes, weights, row ends, columns, counts).
nb::tuple counts(const Tokeniser& tokeniser, const Documents& documents, std::size_t start, std::size_t stop,
                 Column<std::int64_t> codes, std::optional<Column<double>> weights, std::size_t classes, Words& words,
                 bool events, bool presences, std::size_t sample) {
    check_range(documents, start, stop);
    if (words.size() != 0) throw nb::value_error("words must be new");
    const std::size_t count = stop - start;
    if (codes.size() != count || (weights && weights->size() != count)) {
        throw nb::value_error("codes and weights must have one entry per document");
    }
    const std::vector<std::int64_t> class_of(codes.data(), codes.data() + count);  // the caller may write to codes
    for (const std::int64_t code : class_of) {
        if (code < 0 || code >= static_cast<std::int64_t>(classes)) throw nb::index_error("a code is of no class");
    }
    ClassCounts sums(classes, events, presences);
    Sample kept(sample);
    std::vector<double> rows(classes);
    {
        nb::gil_scoped_release release;
        Tokens tokens(tokeniser.settings());
        Bag bag;
        Growing places{words};
        for (const std::size_t i : by_class(class_of.data(), count, classes)) {
            const auto code = static_cast<std::size_t>(class_of[i]);
            const double weight = weights ? weights->data()[i] : 1.0;
            if (weight == 0.0) continue;  // skipped: its words are not learned
            fill(bag, tokens, documents[start + i], places);
            sums.add(bag, code, weight, static_cast<std::size_t>(words.size()));
            kept.offer(bag, class_of[i], weight);
            rows[code] += weight;
        }
        kept.trim();
    }
    const auto size = static_cast<std::size_t>(words.size());
    Rows held;
    held.ends.push_back(0);
    std::vector<double> hashes, kept_weights;
    std::vector<std::int64_t> kept_codes;
    for (const auto& one : kept.kept) {
        hashes.push_back(static_cast<double>(one.hash));
        kept_codes.push_back(one.code);
        kept_weights.push_back(one.weight);
        held.add(one.entries.data(), one.entries.size());
    }
    sums.documents.resize(size);
    sums.documents.shrink_to_fit();
    return nb::make_tuple(
        table(sums.events, size, classes), table(sums.presences, size, classes),
        handed(std::move(sums.documents)), handed(std::move(rows)),
        nb::make_tuple(static_cast<double>(kept.below()), handed(std::move(hashes)), handed(std::move(kept_codes)),
                       handed(std::move(kept_weights)), handed(std::move(held.ends)), handed(std::move(held.columns)),
                       handed(std::move(held.counts))));
}

}  // namespace

void bind_text(nb::module_& module) {
    nb::module_ text = module.def_submodule("text");
    bind_words(text);
    nb::class_<Documents>(text, "Documents")
        .def(nb::init<const nb::list&, std::int64_t, bool>())
        .def(nb::init<const nb::bytes&, const Column<std::int64_t>&, const Column<std::int64_t>&, bool>())
        .def("__len__", &Documents::size)
        .def("ends", &Documents::ends);
    nb::class_<Tokeniser>(text, "Tokeniser")
        .def(nb::init<int, int, int, std::int64_t, std::int64_t, Column<std::uint8_t>, Column<std::int32_t>,
                      Column<std::int32_t>, std::optional<nb::object>>(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none())
        .def("tokens", &Tokeniser::tokens)
        .def("rows", &rows, nb::arg("documents"), nb::arg("start"), nb::arg("stop"), nb::arg("words"), nb::arg("grow"))
        .def("scores", &scores, nb::arg("documents"), nb::arg("start"), nb::arg("stop"), nb::arg("words").none(),
             nb::arg("bits"), nb::arg("table"), nb::arg("intercept"), nb::arg("presence"), nb::arg("normed"))
        .def("counts", &counts, nb::arg("documents"), nb::arg("start"), nb::arg("stop"), nb::arg("codes"),
             nb::arg("weights").none(), nb::arg("classes"), nb::arg("words"), nb::arg("events"),
             nb::arg("presences"), nb::arg("sample"));
}
