// Answers which instruction-set levels this processor has. Compiled for the plainest one, so that it loads everywhere.
#define PY_SSIZE_T_CLEAN
#include "qed/machine/cpu.hpp"

#include <Python.h>

namespace {

PyObject* levels(PyObject*, PyObject*) {
#if defined(__x86_64__)
    switch (qed::widest_level()) {
        case 4:
            return Py_BuildValue("(sss)", "v2", "v3", "v4");
        case 3:
            return Py_BuildValue("(ss)", "v2", "v3");
        case 2:
            return Py_BuildValue("(s)", "v2");
        default:
            return PyTuple_New(0);
    }
#else
    return Py_BuildValue("(s)", "portable");
#endif
}

PyMethodDef methods[] = {
    {"levels", levels, METH_NOARGS, "Instruction-set levels of this processor, from narrow to wide."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_cpu", "What this processor can do.", 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cpu() {
    return PyModule_Create(&definition);
}
