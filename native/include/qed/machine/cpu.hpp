/// What this processor can do. Needs nothing beyond the plainest instructions.
#pragma once

namespace qed {

/// The widest x86-64 level of this processor: 2, 3 or 4; 0 below all of them, and on other architectures.
inline int widest_level() noexcept {
#if defined(__x86_64__)
    const bool v2 =
        __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? 4 : v3 ? 3 : v2 ? 2 : 0;
#else
    return 0;
#endif
}

}  // namespace qed
