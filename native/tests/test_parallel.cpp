#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"
#include "qed/machine/parallel.hpp"

using namespace qed;

namespace {

Index sum_of_blocks(Index count) {
    std::vector<Index> seen(static_cast<std::size_t>(count));
    parallel_for(count, [&](Index block) { seen[static_cast<std::size_t>(block)] += block; });
    Index total = 0;
    for (const Index value : seen) {
        total += value;
    }
    return total;
}

}  // namespace

TEST(one_thread_starts_none) {
    const int before = started_threads();
    set_thread_count(1);
    CHECK(sum_of_blocks(100) == 4950);
    CHECK(started_threads() == before);
}

TEST(every_block_runs_once) {
    set_thread_count(4);
    for (const Index count : {0, 1, 2, 3, 100, 10000}) {
        CHECK(sum_of_blocks(count) == count * (count - 1) / 2);
    }
    CHECK(started_threads() >= 3);
}

TEST(nested_calls_run_on_the_spot) {
    set_thread_count(4);
    std::atomic<Index> total{0};
    parallel_for(8, [&](Index) { parallel_for(8, [&](Index block) { total += block; }); });
    CHECK(total == 8 * 28);
}

TEST(exceptions_come_back) {
    set_thread_count(4);
    std::string words;
    try {
        parallel_for(1000, [](Index block) {
            if (block == 17) {
                throw std::runtime_error("seventeen");
            }
        });
    } catch (const std::runtime_error& error) {
        words = error.what();
    }
    CHECK(words == "seventeen");
    CHECK(sum_of_blocks(100) == 4950);
}

TEST(callers_do_not_disturb_each_other) {
    set_thread_count(3);
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 6; ++i) {
        callers.emplace_back([&] {
            for (int turn = 0; turn < 200; ++turn) {
                wrong += sum_of_blocks(50) == 1225 ? 0 : 1;
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    CHECK(wrong == 0);
}

TEST(the_poll_hook_stops_a_long_call) {
    set_thread_count(2);
    static std::atomic<int> asked{0};
    set_poll_hook([] { return ++asked == 2; });
    wind_poll_clock();
    bool interrupted = false;
    std::atomic<Index> done{0};
    try {
        parallel_for(100000, [&](Index) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            ++done;
        });
    } catch (const Interrupted&) {
        interrupted = true;
    }
    set_poll_hook(nullptr);
    CHECK(interrupted);
    CHECK(asked == 2);
    CHECK(done < 1000);
    CHECK(sum_of_blocks(100) == 4950);
}

TEST(a_forked_child_starts_afresh) {
    set_thread_count(3);
    CHECK(sum_of_blocks(1000) == 499500);
    const pid_t child = fork();
    if (child == 0) {
        const bool fine = started_threads() == 0 && sum_of_blocks(1000) == 499500 && started_threads() == 2;
        _exit(fine ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(sum_of_blocks(1000) == 499500);
}
