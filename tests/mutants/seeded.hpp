// Whether a seeded fault is there: its number is in the environment of the process.
#pragma once

#include <cstdlib>

inline bool seeded_fault(int number) {
    static const int wanted = [] {
        const char* said = std::getenv("SUFFICE_FAULT");
        return said == nullptr ? -1 : std::atoi(said);
    }();
    return wanted == number;
}
