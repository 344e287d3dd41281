// Lines of separated text without quotes: whether each has as many fields as the header.

#pragma once

#include "base.hpp"

namespace {

// Which line, counted from 0, has another number of fields, and how many; -1 where none has. The last line need not end.
nb::tuple line_of_other_width(nb::bytes text, char separator, Index width) {
    const char* at = text.c_str();
    const char* const end = at + text.size();
    const char* begun = at;
    Index line = 0, fields = 1;
    {
        nb::gil_scoped_release released;
        for (; at < end; ++at) {
            if (*at == separator) {
                ++fields;
            } else if (*at == '\n') {
                if (fields != width) break;
                begun = at + 1;
                ++line;
                fields = 1;
            }
        }
    }
    const bool other = at < end || (begun < end && fields != width);
    return nb::make_tuple(other ? line : -1, fields);
}

}  // namespace
