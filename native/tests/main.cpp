#include "check.hpp"
#include "qed/machine/simd.hpp"

namespace check {

std::vector<Named>& tests() {
    static std::vector<Named> all;
    return all;
}
int& failures() {
    static int count = 0;
    return count;
}

}  // namespace check

int main() {
#if defined(__x86_64__)
    if ((qed::kVectorBytes == 64 && !__builtin_cpu_supports("avx512vl")) ||
        (qed::kVectorBytes == 32 && !__builtin_cpu_supports("avx2"))) {
        std::puts("skipped: this processor lacks the instructions of this level");
        return 77;
    }
#endif
    for (const check::Named& test : check::tests()) {
        const int before = check::failures();
        test.run();
        std::printf("%s %s\n", check::failures() == before ? "ok  " : "FAIL", test.name);
    }
    return check::failures() == 0 ? 0 : 1;
}
