#include "qed/machine/parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

namespace qed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollInterval = std::chrono::milliseconds(50);
// Waking a thread costs tens of microseconds: kernels that call again and again find the helpers looking out for work.
constexpr auto kLookOut = std::chrono::microseconds(50);
// multiply-adds that are worth a thread that sleeps, and one that looks out
constexpr double kWorthWaking = 5e5, kWorthSharing = 1e5;

std::atomic<int> allowed_threads{1};
std::atomic<PollHook> poll_hook{nullptr};
thread_local bool inside_block = false;
thread_local double operations_ahead = std::numeric_limits<double>::infinity();
thread_local Clock::time_point last_poll = Clock::now();

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/// Looks out for something without sleeping, for a short while. Returns whether it came.
template <class Came>
bool look_out(const Came& came) {
    for (const auto until = Clock::now() + kLookOut; Clock::now() < until;) {
        for (int k = 0; k < 16; ++k) {
            if (came()) {
                return true;
            }
            relax();
        }
    }
    return came();
}

/// One call of parallel_for; it lives on the stack of its caller.
struct Job {
    Index count;
    detail::BlockCall call;
    void* work;
    int helpers_wanted;
    std::atomic<int> helpers_inside{0};  // written under Pool::mutex
    std::atomic<Index> next{0};
    std::atomic<bool> stop{false};
    std::atomic<bool> interrupted{false};
    std::exception_ptr error{};  // written once, by whoever turns `stop` first
    std::atomic<bool> has_error{false};
};

void run_one(Job& job, Index block) noexcept {
    inside_block = true;
    try {
        job.call(job.work, block);
    } catch (...) {
        if (!job.has_error.exchange(true)) {
            job.error = std::current_exception();
        }
        job.stop = true;
    }
    inside_block = false;
}

struct Pool {
    std::mutex mutex;
    std::condition_variable work_waits;
    std::condition_variable helper_left;
    std::list<Job*> jobs;
    int threads = 0;
    int asleep = 0;
    std::atomic<std::uint64_t> posted{0};  // jobs so far
    std::atomic<int> looking_out{0};

    /// A job that still has blocks to hand out and room for a helper; null if there is none.
    Job* find_job() {
        for (Job* job : jobs) {
            if (job->helpers_inside < job->helpers_wanted && job->next < job->count && !job->stop) {
                return job;
            }
        }
        return nullptr;
    }

    void wait_for_more(std::unique_lock<std::mutex>& lock) {
        const std::uint64_t seen = posted;
        lock.unlock();
        ++looking_out;
        look_out([&] { return posted != seen; });
        --looking_out;
        lock.lock();
        if (posted == seen) {
            ++asleep;
            work_waits.wait(lock);
            --asleep;
        }
    }

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            Job* job = find_job();
            if (job == nullptr) {
                wait_for_more(lock);
                continue;
            }
            ++job->helpers_inside;
            lock.unlock();
            while (!job->stop) {
                const Index block = job->next++;
                if (block >= job->count) {
                    break;
                }
                run_one(*job, block);
            }
            lock.lock();
            // The caller frees the job once nobody is inside, so this is the last touch.
            if (--job->helpers_inside == 0) {
                helper_left.notify_all();
            }
        }
    }

    void enter(Job& job) {
        const std::lock_guard lock(mutex);
        while (threads < job.helpers_wanted) {
            try {
                std::thread([this] { serve(); }).detach();
            } catch (const std::system_error&) {
                break;  // fewer threads give the same bits, only later
            }
            ++threads;
        }
        jobs.push_back(&job);
        ++posted;
        if (asleep == 0 || looking_out >= job.helpers_wanted) {
            return;
        }
        if (job.helpers_wanted == 1) {
            work_waits.notify_one();
        } else {
            work_waits.notify_all();
        }
    }

    void leave(Job& job) {
        look_out([&job] { return job.helpers_inside == 0; });
        std::unique_lock lock(mutex);
        jobs.remove(&job);
        helper_left.wait(lock, [&job] { return job.helpers_inside == 0; });
    }
};

// Leaked on purpose: sleeping threads must never see their pool destroyed at exit, and after fork the child must not
// touch locks that threads of the parent may have held.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { current_pool = nullptr; });
    static_cast<void>(registered);
    Pool* found = current_pool;
    if (found == nullptr) {
        auto* fresh = new Pool;
        if (current_pool.compare_exchange_strong(found, fresh)) {
            return *fresh;
        }
        delete fresh;
    }
    return *found;
}

/// How many threads the work ahead of this one keeps busy.
int worthwhile_threads() noexcept {
    constexpr double kMost = 1 << 20;
    const Pool* const found = current_pool;
    const bool is_awake = found != nullptr && found->looking_out > 0;
    return static_cast<int>(std::clamp(operations_ahead / (is_awake ? kWorthSharing : kWorthWaking), 1.0, kMost));
}

/// The share of the caller: blocks like everybody else, and a look at the poll hook between them.
void run_as_caller(Job& job) {
    const PollHook hook = poll_hook;
    while (!job.stop) {
        const Index block = job.next++;
        if (block >= job.count) {
            break;
        }
        run_one(job, block);
        if (hook != nullptr && Clock::now() - last_poll >= kPollInterval) {
            if (hook()) {
                job.interrupted = true;
                job.stop = true;
            }
            last_poll = Clock::now();
        }
    }
}

}  // namespace

void set_poll_hook(PollHook hook) noexcept {
    poll_hook = hook;
}
void wind_poll_clock() noexcept {
    last_poll = Clock::now();
}
Effort::Effort(double operations) noexcept : before_(operations_ahead) {
    operations_ahead = operations;
}
Effort::~Effort() {
    operations_ahead = before_;
}
void set_thread_count(int count) noexcept {
    allowed_threads = std::max(1, count);
}
int thread_count() noexcept {
    return allowed_threads;
}
int started_threads() noexcept {
    Pool* found = current_pool;
    if (found == nullptr) {
        return 0;
    }
    const std::lock_guard lock(found->mutex);
    return found->threads;
}

void detail::run_blocks(Index count, BlockCall call, void* work) {
    if (inside_block) {
        for (Index block = 0; block < count; ++block) {
            call(work, block);
        }
        return;
    }
    const Index helpers = std::min<Index>(std::min(thread_count(), worthwhile_threads()), count) - 1;
    Job job{
        .count = count, .call = call, .work = work, .helpers_wanted = static_cast<int>(std::max<Index>(helpers, 0))};
    if (helpers >= 1) {
        Pool& shared = pool();
        shared.enter(job);
        run_as_caller(job);
        shared.leave(job);
    } else {
        run_as_caller(job);
    }
    if (job.interrupted) {
        throw Interrupted{};
    }
    if (job.error) {
        std::rethrow_exception(job.error);
    }
}

}  // namespace qed
