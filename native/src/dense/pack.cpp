#include "qed/dense/pack.hpp"

#include <algorithm>

#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

/// What is done to an entry on its way; the flags let the compiler drop what is not asked for.
template <bool ColumnShift, bool RowShift, bool RowScale>
struct Change {
    const double* __restrict column_shift;
    const double* __restrict row_shift;
    const double* __restrict row_scale;

    template <class T, class S>
    [[gnu::always_inline]] T operator()(S value, Index k, Index c) const noexcept {
        if constexpr (!ColumnShift && !RowShift && !RowScale) {
            return static_cast<T>(value);
        }
        auto wide = static_cast<double>(value);
        if constexpr (ColumnShift) {
            wide -= column_shift[c];
        }
        if constexpr (RowShift) {
            wide -= row_shift[k];
        }
        if constexpr (RowScale) {
            wide *= row_scale[k];
        }
        return static_cast<T>(wide);
    }
};

/// Where row k begins, in elements: rows in order, or those of a list.
struct InOrder {
    Index stride;
    [[gnu::always_inline]] Index operator()(Index k) const noexcept { return k * stride; }
    template <class S>
    [[gnu::always_inline]] void fetch(const S*, Index, Index) const noexcept {}
};
struct Listed {
    static constexpr Index kAhead = 8;  // rows: far enough for memory to answer, few enough for what a core can have on its way

    const Index* __restrict rows;
    Index depth;
    Index stride;
    [[gnu::always_inline]] Index operator()(Index k) const noexcept { return rows[k] * stride; }
    /// Asks for a later row: no pattern in the list lets the processor do so by itself.
    template <class S>
    [[gnu::always_inline]] void fetch(const S* from, Index k, Index width) const noexcept {
        if (k + kAhead < depth) {
            const S* row = from + rows[k + kAhead] * stride;
            for (Index c = 0; c < width; c += static_cast<Index>(kCacheLine / sizeof(S))) {
                __builtin_prefetch(row + c);
            }
        }
    }
};

/// Rows lie side by side in memory: copy them piece by piece. A width known to the compiler becomes vectors.
template <Index Width, class T, class S, class Place, class Change>
void copy_rows(const S* __restrict from, Place place, Index depth, Index columns, T* __restrict to, Index stride,
               Change change) noexcept {
    const Index width = Width > 0 ? Width : columns;
    for (Index k = 0; k < depth; ++k) {
        place.fetch(from, k, width);
        const S* __restrict source = from + place(k);
        T* __restrict target = to + k * stride;
        for (Index c = 0; c < width; ++c) {
            target[c] = change.template operator()<T>(source[c], k, c);
        }
    }
}

/// Any strides: four columns at a time, so that a line of the target is touched in one go.
template <class T, class S, class Place, class Change>
void gather(const S* __restrict from, Place place, Index column_stride, Index depth, Index columns, T* __restrict to,
            Index stride, Change change) noexcept {
    Index c = 0;
    for (; c + 4 <= columns; c += 4) {
        const S* source = from + c * column_stride;
        T* target = to + c;
        for (Index k = 0; k < depth; ++k) {
            for (Index i = 0; i < 4; ++i) {
                target[k * stride + i] =
                    change.template operator()<T>(source[place(k) + i * column_stride], k, c + i);
            }
        }
    }
    for (; c < columns; ++c) {
        for (Index k = 0; k < depth; ++k) {
            to[k * stride + c] = change.template operator()<T>(from[place(k) + c * column_stride], k, c);
        }
    }
}

template <class T, class S, class Place, class Change>
void move(const S* from, Place place, Index column_stride, Index depth, Index columns, T* to, Index stride,
          Change change) noexcept {
    if (column_stride == 1 && columns == kStrip<T>) {
        copy_rows<kStrip<T>>(from, place, depth, columns, to, stride, change);
    } else if (column_stride == 1) {
        copy_rows<0>(from, place, depth, columns, to, stride, change);
    } else {
        gather(from, place, column_stride, depth, columns, to, stride, change);
    }
}

/// Turns three run-time questions into one of the five changes that occur.
template <class T, class S, class Place>
void move_changed(const S* from, Place place, Index column_stride, Index depth, Index columns, T* to, Index stride,
                  const double* column_shift, const double* row_shift, const double* row_scale) noexcept {
    const auto with = [&](auto change) { move(from, place, column_stride, depth, columns, to, stride, change); };
    if (column_shift != nullptr && row_scale != nullptr) {
        with(Change<true, false, true>{column_shift, nullptr, row_scale});
    } else if (column_shift != nullptr) {
        with(Change<true, false, false>{column_shift, nullptr, nullptr});
    } else if (row_shift != nullptr && row_scale != nullptr) {
        with(Change<false, true, true>{nullptr, row_shift, row_scale});
    } else if (row_shift != nullptr) {
        with(Change<false, true, false>{nullptr, row_shift, nullptr});
    } else if (row_scale != nullptr) {
        with(Change<false, false, true>{nullptr, nullptr, row_scale});
    } else {
        with(Change<false, false, false>{});
    }
}

const double* moved(const double* pointer, Index by) noexcept {
    return pointer == nullptr ? nullptr : pointer + by;
}

}  // namespace

template <class T>
void pack_strip(const Factor& from, Index row, Index depth, Index strip, T* to) noexcept {
    const Index first = strip * kStrip<T>;
    const Index total = from.columns();
    const Index width = strip_width<T>(total, strip);
    const Index last = std::min(total, first + kStrip<T>);
    Index offset = 0;  // of the part within the factor
    for (const Matrix& part : from.parts) {
        const Index begin = std::max(first, offset);
        const Index end = std::min(last, offset + part.columns);
        if (begin < end) {
            with_type(part.kind, [&](auto type) {
                using S = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                const auto from_rows = [&](const S* source, auto place) {
                    move_changed(source, place, part.column_stride, depth, end - begin, to + (begin - first), width,
                                 moved(from.column_shift, begin), moved(from.row_shift, row), moved(from.row_scale, row));
                };
                if (from.list.rows == nullptr) {
                    from_rows(part.at<S>(row, begin - offset), InOrder{part.row_stride});
                } else {
                    from_rows(part.at<S>(0, begin - offset), Listed{from.list.rows + row, depth, part.row_stride});
                }
            });
        }
        offset += part.columns;
    }
    for (Index c = last - first; c < width; ++c) {
        for (Index k = 0; k < depth; ++k) {
            to[k * width + c] = T{0};
        }
    }
}

template void pack_strip<double>(const Factor&, Index, Index, Index, double*) noexcept;
template void pack_strip<float>(const Factor&, Index, Index, Index, float*) noexcept;

void load_rows(const Matrix& from, Index row, Index count, Index column, Index width, double* to,
               Index stride) noexcept {
    with_type(from.kind, [&](auto type) {
        using S = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        const Change<false, false, false> nothing{};
        if (width == 1) {
            const S* source = from.at<S>(row, column);
            for (Index i = 0; i < count; ++i) {
                to[i * stride] = static_cast<double>(source[i * from.row_stride]);
            }
        } else if (from.column_stride == 1) {
            copy_rows<0>(from.at<S>(row, column), InOrder{from.row_stride}, count, width, to, stride, nothing);
        } else {
            gather(from.at<S>(row, column), InOrder{from.row_stride}, from.column_stride, count, width, to, stride,
                   nothing);
        }
    });
}

}  // namespace qed
