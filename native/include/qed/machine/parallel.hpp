/// The thread pool.
///
/// Determinism: the caller cuts its work into blocks by shape alone; which thread runs a block, and when, is open, so a
/// block writes only to places of its own, and the caller merges them in order afterwards.
/// Ownership: threads start with the first call that wants more than one, sleep between calls and end with the process.
/// A child made by fork starts again with none. Several callers may be inside at once; a call from within a block runs
/// on the spot. Blocks are meant to last a few milliseconds: interrupts are noticed between them.
#pragma once

#include <atomic>
#include <exception>
#include <type_traits>

#include "qed/machine/matrix.hpp"

namespace qed {

/// Thrown out of parallel_for when the poll hook asked to stop. Whatever the kernel was writing is then unfinished.
struct Interrupted : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Asked at most every 50 ms, on the calling thread only. True means: stop. Null (the start) means: never asked.
using PollHook = bool (*)();
void set_poll_hook(PollHook hook) noexcept;

/// Starts the 50 ms anew on this thread. A kernel made of many short regions is polled because the clock runs on
/// between them; a short kernel is never polled because each call winds the clock first.
void wind_poll_clock() noexcept;

/// How many threads a call may use, the caller included. At least one.
void set_thread_count(int count) noexcept;
int thread_count() noexcept;

/// While it lives, calls from this thread use no more threads than so many multiply-adds keep busy: waking a thread costs
/// as much as a few hundred thousand of them.
class Effort {
  public:
    explicit Effort(double operations) noexcept;
    ~Effort();
    Effort(const Effort&) = delete;
    Effort& operator=(const Effort&) = delete;

  private:
    double before_;
};

/// How many threads the pool of this process has started so far.
int started_threads() noexcept;

namespace detail {
using BlockCall = void (*)(void* work, Index block);
void run_blocks(Index count, BlockCall call, void* work);
}  // namespace detail

/// Runs work(block) for each block in [0, count), on at most thread_count() threads. Rethrows the first exception.
template <class Work>
void parallel_for(Index count, Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    detail::run_blocks(
        count, [](void* self, Index block) { (*static_cast<Plain*>(self))(block); },
        const_cast<void*>(static_cast<const void*>(&work)));
}

}  // namespace qed
