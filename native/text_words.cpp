// Vocabularies, lines and tables of counts, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "text/left_out.hpp"
#include "text/lines.hpp"
#include "text/words.hpp"
#include "text_bindings.hpp"

namespace suffice::text {

namespace {

// The sum of two tables of counts, (k, v) and (k, w): columns of the second go where `places` says, among `width`.
Result<double> added(Table one, Table two, Column<std::int64_t> places, std::size_t width) {
    const std::size_t k = one.shape(0), v = one.shape(1), w = two.shape(1);
    if (two.shape(0) != k || places.size() != w || width < v) throw nb::value_error("the tables do not fit");
    for (std::size_t j = 0; j < w; ++j) {
        if (places.data()[j] < 0 || places.data()[j] >= static_cast<std::int64_t>(width)) {
            throw nb::index_error("a place is not among the columns");
        }
    }
    Result<double> sum = zeros(k, width);
    nb::gil_scoped_release release;
    for (std::size_t c = 0; c < k; ++c) {
        double* row = sum.data() + c * width;
        std::copy_n(one.data() + c * v, v, row);
        for (std::size_t j = 0; j < w; ++j) row[places.data()[j]] += two.data()[c * w + j];
    }
    return sum;
}

// Sorts the columns of every row from begin to end, in place.
void sort_rows(nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig> ends,
               nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig> columns,
               nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig> counts, std::size_t begin, std::size_t end) {
    if (ends.size() < 1 || begin > end || end >= ends.size()) throw nb::index_error("rows are out of range");
    if (counts.size() != columns.size()) throw nb::value_error("columns and counts must be as many");
    nb::gil_scoped_release release;
    std::vector<std::uint64_t> keys;
    for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t first = ends.data()[i], last = ends.data()[i + 1];
        if (first < 0 || last < first || last > static_cast<std::int64_t>(columns.size())) {
            throw nb::index_error("a row is out of range");
        }
        keys.clear();
        for (std::int64_t j = first; j < last; ++j) {
            keys.push_back(std::uint64_t(std::uint32_t(columns.data()[j])) << 32 | std::uint32_t(counts.data()[j]));
        }
        std::sort(keys.begin(), keys.end());
        for (std::int64_t j = first; j < last; ++j) {
            columns.data()[j] = static_cast<std::int32_t>(keys[static_cast<std::size_t>(j - first)] >> 32);
            counts.data()[j] = static_cast<std::int32_t>(keys[static_cast<std::size_t>(j - first)] & 0xFFFFFFFFu);
        }
    }
}

Bytes checked(const Words& words, std::int64_t place) {
    if (place < 0 || place >= words.size()) throw nb::index_error("no word has this place");
    return words[static_cast<place_t>(place)];
}

Words words_of(const nb::bytes& text, const Column<std::int64_t>& ends) {
    Words words;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::int64_t end = ends.data()[i];
        if (end < begin || end > static_cast<std::int64_t>(text.size())) {
            throw nb::value_error("the ends of words must rise, and be within their text");
        }
        const place_t place = words.add({text.c_str() + begin, static_cast<std::size_t>(end - begin)});
        if (place != static_cast<place_t>(i)) throw nb::value_error("a vocabulary must hold every word once");
        begin = end;
    }
    if (begin != static_cast<std::int64_t>(text.size())) throw nb::value_error("text goes on after the last word");
    return words;
}

// The same words in another order, or some of them.
Words taken(const Words& words, Column<std::int64_t> places) {
    Words some;
    std::vector<bool> seen(static_cast<std::size_t>(words.size()));
    for (std::size_t i = 0; i < places.size(); ++i) {
        checked(words, places.data()[i]);
        const auto place = static_cast<std::size_t>(places.data()[i]);
        if (seen[place]) throw nb::value_error("a vocabulary holds every word once: a column was asked for twice");
        seen[place] = true;
    }
    some.take(words, places.data(), places.size());
    return some;
}

// Adds the words of another; returns where each of them is.
Result<place_t> merge(Words& words, const Words& other) {
    words.index();
    std::vector<place_t> places(static_cast<std::size_t>(other.size()));
    {
        nb::gil_scoped_release release;
        for (place_t i = 0; i < other.size(); ++i) places[static_cast<std::size_t>(i)] = words.add(other[i]);
    }
    return handed(std::move(places));
}

Result<place_t> places(Words& words, const Words& other) {
    words.index();
    std::vector<place_t> found(static_cast<std::size_t>(other.size()));
    for (place_t i = 0; i < other.size(); ++i) {
        found[static_cast<std::size_t>(i)] = words.find(other[i]);
    }
    return handed(std::move(found));
}

// MurmurHash3 of every word.
Result<std::int32_t> murmur(const Words& words) {
    std::vector<std::int32_t> found(static_cast<std::size_t>(words.size()));
    {
        nb::gil_scoped_release release;
        for (place_t i = 0; i < words.size(); ++i) {
            const Bytes word = words[i];
            found[static_cast<std::size_t>(i)] = murmur3(word.data, word.size);
        }
    }
    return handed(std::move(found));
}

Result<std::uint64_t> hashes(const Words& words) {
    std::vector<std::uint64_t> found(static_cast<std::size_t>(words.size()));
    for (place_t i = 0; i < words.size(); ++i) {
        const Bytes word = words[i];
        found[static_cast<std::size_t>(i)] = hash_of(word.data, word.size);
    }
    return handed(std::move(found));
}

// One document a line, after a label if there is a vocabulary of them: (begins, ends, places of labels).
nb::tuple lines(const nb::bytes& buffer, std::size_t size, const std::string& separator, Words* labels) {
    if (size > buffer.size()) throw nb::index_error("the buffer is not that long");
    if (separator.size() != 1) throw nb::value_error("separator must be one byte");
    Lines found;
    {
        nb::gil_scoped_release release;
        found = cut_lines(buffer.c_str(), size, separator[0], labels);
    }
    return nb::make_tuple(handed(std::move(found.begins)), handed(std::move(found.ends)),
                          handed(std::move(found.codes)));
}

// Scores of documents, each left out of what was learnt, (alphas, documents, classes).
nb::object left_out(Table counts, std::optional<Column<double>> others, Column<std::int64_t> ends,
                    Column<std::int64_t> columns, Column<double> times, Column<std::int64_t> codes,
                    Column<double> weights, Column<double> alphas, std::size_t begin, std::size_t end) {
    const std::size_t k = counts.shape(0), v = counts.shape(1), documents = codes.size();
    if (ends.size() != documents + 1 || weights.size() != documents || times.size() != columns.size() ||
        begin > end || end > documents || (others && others->size() != v)) {
        throw nb::value_error("counts and documents do not fit");
    }
    for (std::size_t i = 0; i < documents; ++i) {
        const std::int64_t first = ends.data()[i], last = ends.data()[i + 1], code = codes.data()[i];
        if (first < 0 || last < first || last > static_cast<std::int64_t>(columns.size()) || code < 0 ||
            code >= static_cast<std::int64_t>(k)) {
            throw nb::index_error("a document is out of range");
        }
    }
    for (std::size_t s = 0; s < columns.size(); ++s) {
        if (columns.data()[s] < 0 || columns.data()[s] >= static_cast<std::int64_t>(v)) {
            throw nb::index_error("a column is out of range");
        }
    }
    const Learnt learnt{counts.data(), others ? others->data() : nullptr, k, v, ends.data(), columns.data(),
                        times.data(), codes.data(), weights.data()};
    std::vector<double> scores(checked_product(alphas.size(), end - begin, k));
    {
        nb::gil_scoped_release release;
        left_out_scores(learnt, alphas.data(), alphas.size(), begin, end, scores.data());
    }
    return handed(std::move(scores)).cast().attr("reshape")(alphas.size(), end - begin, k);
}

}  // namespace

void bind_words(nb::module_& text) {
    nb::class_<Words>(text, "Words")
        .def(nb::init<>())
        .def("__len__", [](const Words& words) { return static_cast<std::size_t>(words.size()); })
        .def("copy", [](const Words& words) { return Words(words); })
        .def("word", [](const Words& words, std::int64_t place) {
            const Bytes word = checked(words, place);
            return text_of(word.data, word.size);
        })
        .def("list", [](const Words& words) {
            nb::list all;
            for (place_t i = 0; i < words.size(); ++i) all.append(text_of(words[i].data, words[i].size));
            return all;
        })
        .def("text", [](const Words& words) { return nb::bytes(words.text().data(), words.text().size()); })
        .def("ends", [](const Words& words) {
            return handed(std::vector<std::int64_t>(words.ends().begin(), words.ends().end()));
        })
        .def("hashes", &hashes)
        .def("murmur", &murmur)
        .def("probes", [](Words& words) { return words.index(), words.probes(); })
        .def("sorted",
             [](const Words& words) {
                 std::vector<place_t> places;
                 {
                     nb::gil_scoped_release release;
                     places = words.sorted();
                 }
                 return handed(std::move(places));
             })
        .def("take", &taken)
        .def("merge", &merge)
        .def("places", &places);
    text.def("words", &words_of);
    text.def("added", &added);
    text.def("sort_rows", &sort_rows);
    text.def("lines", &lines, nb::arg("buffer"), nb::arg("size"), nb::arg("separator"), nb::arg("labels").none());
    text.def("left_out", &left_out, nb::arg("counts"), nb::arg("others").none(), nb::arg("ends"), nb::arg("columns"),
             nb::arg("times"), nb::arg("codes"), nb::arg("weights"), nb::arg("alphas"), nb::arg("begin"),
             nb::arg("end"));
}

}  // namespace suffice::text
