#include "mail_bindings.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "mail/packing.hpp"
#include "mail/state.hpp"

namespace nb = nanobind;
using namespace suffice::mail;
using suffice::checked_product;

namespace {

std::string_view view_of(nb::handle object) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(object.ptr(), &data, &size) != 0) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

nb::str str_of(std::string_view text) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (made == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(made);
}

nb::list listed(const std::vector<Piece>& pieces) {
    static constexpr const char* kinds[] = {"header", "part", "text", "hidden", "link", "image", "tag", "attachment", "trouble"};
    nb::list all;
    for (const Piece& piece : pieces) {
        all.append(nb::make_tuple(kinds[static_cast<std::size_t>(piece.kind)], str_of(piece.name), str_of(piece.text)));
    }
    return all;
}

// A batch, and the bytes it reads from.
struct Letters {
    Batch batch;
    nb::object owner;
};

template <class T>
nb::bytes column(const std::vector<T>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <class T>
std::vector<T> values(nb::handle column) {
    const std::string_view bytes = view_of(column);
    if (bytes.size() % sizeof(T) != 0) throw nb::value_error("a column is cut short");
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

const Features& features_of(const Letters& letters, std::size_t i) {
    if (i >= letters.batch.features.size()) throw nb::index_error("there is no such message in the batch");
    return letters.batch.features[i];
}

nb::dict columns(const State& state) {
    const Memory& m = state.memory;
    nb::dict all;
    all["messages"] = column(m.messages);
    all["hashes"] = column(m.hashes);
    all["counts"] = column(m.counts);
    all["weights"] = column(m.weights);
    all["squares"] = column(m.squares);
    all["days"] = column(m.days);
    all["gram_weights"] = column(m.gram_weights);
    all["gram_squares"] = column(m.gram_squares);
    all["mix"] = column(state.mix.weights);
    all["mix_squares"] = column(state.mix.squares);
    return all;
}

// Whether all are numbers within bounds that no filter reaches, and within which no sum of them overflows.
template <class T>
bool sound(const std::vector<T>& values, double least, double most) {
    return std::all_of(values.begin(), values.end(), [&](T v) { return v >= least && v <= most; });
}
constexpr double kHeaviest = 1e6, kMost = 1e18;  // of weights; of counts and sums of squares

void put_columns(State& state, const nb::dict& all) {
    State made(state.memory.classes());
    Memory& m = made.memory;
    m.messages = values<double>(all["messages"]);
    m.hashes = values<std::uint64_t>(all["hashes"]);
    m.counts = values<float>(all["counts"]);
    m.weights = values<float>(all["weights"]);
    m.squares = values<float>(all["squares"]);
    m.days = values<std::uint16_t>(all["days"]);
    m.gram_weights = values<float>(all["gram_weights"]);
    m.gram_squares = values<float>(all["gram_squares"]);
    made.mix.weights = values<double>(all["mix"]);
    made.mix.squares = values<double>(all["mix_squares"]);
    const std::size_t rows = m.hashes.size(), classes = m.classes(), wide = m.columns();
    const std::size_t counts = checked_product(rows, classes), weights = checked_product(rows, wide);
    const std::size_t grams = checked_product(wide, kGrams);
    if (m.messages.size() != classes || m.counts.size() != counts || m.weights.size() != weights ||
        m.squares.size() != weights || m.days.size() != rows || m.gram_weights.size() != grams ||
        m.gram_squares.size() != grams || made.mix.weights.size() != 4 * wide || made.mix.squares.size() != 4 * wide) {
        throw nb::value_error("the columns do not belong together");
    }
    const Mix& mix = made.mix;
    if (!sound(m.messages, 0, kMost) || !sound(m.counts, 0, kMost) || !sound(m.squares, 0, kMost) ||
        !sound(m.gram_squares, 0, kMost) || !sound(mix.squares, 0, kMost) || !sound(m.weights, -kHeaviest, kHeaviest) ||
        !sound(m.gram_weights, -kHeaviest, kHeaviest) || !sound(mix.weights, -kHeaviest, kHeaviest)) {
        throw nb::value_error("a column holds what is no number of its kind");
    }
    m.index();
    m.fresh = std::move(state.memory.fresh);
    made.rates = state.rates;
    made.now = state.now;
    made.shared = state.shared;
    state = std::move(made);
}

// Calls each(name, row) for the lines that name a token, once for each token.
template <class Each>
void each_known(const Memory& memory, std::string_view lines, Each&& each) {
    std::vector<bool> met(memory.size());
    for (std::size_t i = 0; i < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', i), lines.size());
        const std::string_view name = lines.substr(i, end - i);
        const std::uint32_t row = memory.find(suffice::text::hash_of(name.data(), name.size()));
        if (row != kNoRow && !met[row]) {
            met[row] = true;
            each(name, row);
        }
        i = end + 1;
    }
}

}  // namespace

void bind_mail(nb::module_& module) {
    nb::module_ mail = module.def_submodule("mail");

    nb::class_<Letters>(mail, "Letters")
        .def("__init__",
             [](Letters* self, const nb::list& raw, std::size_t threads) {
                 std::vector<std::string_view> views;
                 views.reserve(raw.size());
                 for (const nb::handle one : raw) views.push_back(view_of(one));
                 nb::object owner = nb::borrow(nb::tuple(raw));
                 Batch batch;
                 {
                     nb::gil_scoped_release released;
                     batch = Batch(std::move(views), threads);
                 }
                 new (self) Letters{std::move(batch), std::move(owner)};
             })
        .def_static("unpacked",
                    [](const nb::list& all) {
                        Letters letters;
                        for (const nb::handle one : all) letters.batch.features.push_back(unpacked(view_of(one)));
                        letters.batch.troubles.resize(letters.batch.features.size());
                        return letters;
                    })
        .def("__len__", [](const Letters& self) { return self.batch.size(); })
        .def("foreign",
             [](Letters& self, std::size_t i) {
                 nb::list all;
                 for (const auto& one : self.batch.message(i).foreign()) {
                     all.append(nb::make_tuple(str_of(one.charset), bytes_of(one.bytes)));
                 }
                 return all;
             })
        .def("foreigners",
             [](Letters& self) {
                 nb::list all;
                 for (std::size_t i = 0; !self.batch.finished() && i < self.batch.size(); ++i) {
                     if (!self.batch.message(i).foreign().empty()) all.append(i);
                 }
                 return all;
             })
        .def("put",
             [](Letters& self, std::size_t i, std::size_t stretch, std::string text) {
                 self.batch.message(i).put(stretch, std::move(text));
             })
        .def("pieces", [](Letters& self, std::size_t i) { return listed(self.batch.message(i).pieces()); })
        .def("finish",
             [](Letters& self, std::size_t threads) {
                 nb::gil_scoped_release released;
                 self.batch.finish(threads);
             })
        .def("tokens",
             [](const Letters& self, std::size_t i) {
                 const Features& features = features_of(self, i);
                 nb::list names;
                 for (const Token& token : features.tokens) names.append(str_of(features.name(token)));
                 return names;
             })
        .def("grams", [](const Letters& self, std::size_t i) { return features_of(self, i).grams; })
        .def("header_grams", [](const Letters& self, std::size_t i) { return features_of(self, i).header_grams; })
        .def("origins",
             [](const Letters& self, std::size_t i) {
                 static constexpr const char* names[] = {"body", "header", "server"};
                 std::vector<std::string> all;
                 for (const Token& token : features_of(self, i).tokens) all.emplace_back(names[place(token.origin)]);
                 return all;
             })
        .def("trouble",
             [](const Letters& self, std::size_t i) {
                 nb::list all;
                 for (const Piece& piece : self.batch.troubles.at(i)) {
                     all.append(nb::make_tuple(str_of(piece.name), str_of(piece.text)));
                 }
                 return all;
             })
        .def("hashes",
             [](const Letters& self, std::size_t i) {
                 std::vector<std::uint64_t> all;
                 for (const Token& token : features_of(self, i).tokens) all.push_back(token.hash);
                 return column(all);
             })
        .def("packed", [](const Letters& self, std::size_t i) { return bytes_of(packed(features_of(self, i))); });

    nb::class_<State>(mail, "State")
        .def(nb::init<std::size_t>())
        .def_prop_ro("classes", [](const State& self) { return self.memory.classes(); })
        .def_prop_ro("messages", [](const State& self) { return self.memory.messages; })
        .def_prop_ro("mix", [](const State& self) { return self.mix.weights; })
        .def_rw("now", &State::now)
        .def("rate",
             [](State& self, const std::string& name, double value) {
                 Rates& r = self.rates;
                 const std::pair<const char*, double*> all[] = {
                     {"strength", &r.strength}, {"power", &r.power},     {"tokens", &r.tokens}, {"grams", &r.grams},
                     {"mixing", &r.mixing},     {"start", &r.start},     {"certain", &r.certain}, {"few", &r.few},
                     {"balance", &r.balance},   {"most", &r.most},
                     {"conflict", &r.conflict}, {"scale", &r.scale},     {"imbalance", &r.imbalance}, {"novelty", &r.novelty},
                     {"neutral", &r.neutral},   {"token_length", &r.token_length}, {"gram_length", &r.gram_length}};
                 for (const auto& [known, place] : all) {
                     if (name == known) return void(*place = value);
                 }
                 throw nb::key_error(name.c_str());
             })
        .def("__len__", [](const State& self) { return self.memory.size(); })
        .def("probes", [](const State& self) { return self.memory.probes(); })
        .def("lay", [](State& self, std::vector<std::shared_ptr<State>> below) { self.shared.assign(below.begin(), below.end()); })
        .def("mix_as", [](State& self, const State& other) {
            if (other.memory.columns() != self.memory.columns()) throw nb::value_error("the classes are not as many");
            self.mix = other.mix;
        })
        .def("columns", &columns)
        .def("put_columns", &put_columns)
        .def("fresh", [](const State& self) { return bytes_of(self.memory.fresh); })
        .def("take_fresh",
             [](State& self) {
                 nb::bytes names = bytes_of(self.memory.fresh);
                 self.memory.fresh.clear();
                 return names;
             })
        .def("known",
             [](const State& self, const nb::bytes& names) {
                 std::string kept;
                 each_known(self.memory, view_of(names), [&](std::string_view name, std::uint32_t) {
                     kept.append(name).push_back('\n');
                 });
                 return bytes_of(kept);
             })
        .def("rows",
             [](const State& self, const nb::bytes& names) {
                 nb::list lines;
                 each_known(self.memory, view_of(names), [&](std::string_view name, std::uint32_t row) {
                     lines.append(str_of(row_text(self.memory, name, row)));
                 });
                 return lines;
             })
        .def("gram_rows",
             [](const State& self) {
                 nb::list lines;
                 for (std::size_t gram = 0; gram < kGrams; ++gram) {
                     const std::string line = gram_text(self.memory, gram);
                     if (!line.empty()) lines.append(str_of(line));
                 }
                 return lines;
             })
        .def("take_rows",
             [](State& self, const std::vector<std::string>& rows, const std::vector<std::string>& grams,
                const std::vector<double>& messages) {
                 if (messages.size() != self.memory.classes()) throw nb::value_error("one number of messages for each class");
                 for (const double n : messages) {
                     if (!(n >= 0 && n <= kMost)) throw nb::value_error("a number of messages is not one");
                 }
                 self.memory.messages = messages;
                 for (const std::string& line : rows) take_row(self.memory, line);
                 for (const std::string& line : grams) take_gram(self.memory, line);
             })
        .def("merge", &State::merge)
        .def("scale",
             [](State& self, double factor) {
                 for (float& n : self.memory.counts) n = static_cast<float>(n * factor);
                 for (double& n : self.memory.messages) n *= factor;
             })
        .def("drop_unseen", &State::drop_unseen)
        .def("prune", [](State& self, std::size_t most) { return self.memory.prune(most); })
        .def("widen", &State::widen)
        .def("scores",
             [](const State& self, const Letters& letters, std::size_t threads) {
                 nb::gil_scoped_release released;
                 return self.scores(letters.batch.features, threads);
             })
        .def("score",
             [](const State& self, const Letters& letters, std::size_t i) {
                 std::vector<std::tuple<double, double, double, double>> all;
                 for (const Score& s : self.filter()(features_of(letters, i))) {
                     all.emplace_back(s.total, s.counts, s.tokens, s.grams);
                 }
                 return all;
             })
        .def("contributions",
             [](const State& self, const Letters& letters, std::size_t i, std::size_t column) {
                 Filter read = self.filter();
                 if (column >= read.columns()) throw nb::index_error("there is no such column");
                 return read.contributions(features_of(letters, i), column);
             })
        .def("intercept",
             [](const State& self, const Letters& letters, std::size_t i, std::size_t column) {
                 Filter read = self.filter();
                 if (column >= read.columns()) throw nb::index_error("there is no such column");
                 return read.intercept(features_of(letters, i), column);
             })
        .def("lines",
             [](const State& self, const Letters& letters, std::size_t i, const nb::bytes& raw, std::size_t column) {
                 Filter read = self.filter();
                 if (column >= read.columns()) throw nb::index_error("there is no such column");
                 const Origins factors = read.factors(features_of(letters, i), column);
                 std::vector<std::pair<std::string_view, double>> lines;
                 Extractor extract;
                 const std::string_view all = view_of(raw);
                 const auto add = [&](std::string_view line, std::uint32_t gram, Origin origin) {
                     if (lines.empty() || lines.back().first.data() != line.data()) lines.emplace_back(line, 0.0);
                     lines.back().second += factors[place(origin)] * read.of_gram(features_of(letters, i), gram, column);
                 };
                 extract.each_gram(all.substr(find_head(all).begin), add);
                 nb::list told;
                 for (const auto& [line, part] : lines) told.append(nb::make_tuple(str_of(line), part));
                 return told;
             })
        .def("seen",
             [](const State& self, const Letters& letters, std::size_t i) { return self.filter().seen(features_of(letters, i)); })
        .def("learn",
             [](State& self, const Letters& letters, std::size_t i, std::size_t label, double weight, std::uint16_t day,
                int steps) { self.learn(features_of(letters, i), label, weight, day, steps); })
        .def("learn_all",
             [](State& self, const Letters& letters, const std::vector<std::size_t>& order,
                const std::vector<std::size_t>& labels, double weight, std::uint16_t day) {
                 if (order.size() != labels.size()) throw nb::value_error("one label for each message");
                 for (const std::size_t i : order) features_of(letters, i);
                 nb::gil_scoped_release released;
                 std::vector<double> before;
                 for (std::size_t i = 0; i < order.size(); ++i) {
                     for (const Score& s : self.learn(letters.batch.features[order[i]], labels[i], weight, day, 1)) {
                         before.push_back(s.total);
                     }
                 }
                 return before;
             })
        .def("forget", [](State& self, const nb::bytes& hashes, std::size_t label, double weight) {
            self.forget(values<std::uint64_t>(hashes), label, weight);
        });
}
