// Answers which instruction-set levels this processor has. Compiled for the plainest one, so that it loads everywhere.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {

PyObject* levels(PyObject*, PyObject*) {
#if defined(__x86_64__)
    const bool v2 =
        __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) {
        return Py_BuildValue("(sss)", "v2", "v3", "v4");
    }
    if (v3) {
        return Py_BuildValue("(ss)", "v2", "v3");
    }
    if (v2) {
        return Py_BuildValue("(s)", "v2");
    }
    return PyTuple_New(0);
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
