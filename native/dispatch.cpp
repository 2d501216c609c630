// Which kernels this machine runs, and how a kernel complains. Compiled for the baseline instruction set.
#include <cstdio>
#include <cstring>

#include "kernels.hpp"
#include "row_kernels.hpp"

#if defined(_MSC_VER)
#include <intrin.h>
#include <windows.h>
#endif

namespace suffice {

namespace baseline {
extern const Kernels table;
extern const RowKernels row_table;
bool runs_here() { return true; }
}  // namespace baseline

#if defined(SUFFICE_X86)
namespace avx2 {
extern const Kernels table;
extern const RowKernels row_table;
bool runs_here() {
#if defined(_MSC_VER)
    int info[4];
    __cpuid(info, 1);
    const bool fma = (info[2] & (1 << 12)) != 0;
    return fma && IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE);
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#endif
}
}  // namespace avx2

namespace avx512 {
extern const Kernels table;
extern const RowKernels row_table;
bool runs_here() {
#if defined(_MSC_VER)
    return avx2::runs_here() && IsProcessorFeaturePresent(PF_AVX512F_INSTRUCTIONS_AVAILABLE);
#else
    return avx2::runs_here() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
}
}  // namespace avx512
#endif

const Kernels* kernels(const char* instruction_set) {
    const Kernels* best_first[] = {
#if defined(SUFFICE_X86)
        &avx512::table, &avx2::table,
#endif
        &baseline::table};
    for (const Kernels* candidate : best_first) {
        if (instruction_set != nullptr && std::strcmp(instruction_set, candidate->name) != 0) continue;
        if (candidate->runs_here()) return candidate;
    }
    return nullptr;
}

const RowKernels* row_kernels(const Kernels& others) {
    const RowKernels* all[] = {
#if defined(SUFFICE_X86)
        &avx512::row_table, &avx2::row_table,
#endif
        &baseline::row_table};
    for (const RowKernels* candidate : all)
        if (std::strcmp(others.name, candidate->name) == 0) return candidate;
    return nullptr;
}

Offence::Offence(const char* what, index_t row, index_t col, double value) {
    char line[128];
    std::snprintf(line, sizeof line, "%s %lld %lld %.17g", what, static_cast<long long>(row),
                  static_cast<long long>(col), value);
    text = line;
}

void offend(const char* what, index_t row, index_t col, double value) { throw Offence(what, row, col, value); }

}  // namespace suffice
