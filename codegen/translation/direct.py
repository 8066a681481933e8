"""Numba's compiler with the one pass of `translate` in place of its front end, and Numba's own
pipeline behind it."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import llvmlite.binding as binding
from numba.core import (
    base,
    bytecode,
    callconv,
    cgutils,
    codegen,
    compiler,
    config,
    cpu,
    targetconfig,
    typed_passes,
    types,
)
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Environment
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.cpython import cmathimpl, mathimpl
from numba.np import npyimpl
from numba.np.npyfuncs import np_complex_div_impl

from ..disk.sources import complete, tree_of
from ..fallbacks import fell_back
from .arithmetic import arithmetic_of
from .operands import UntranslatableError
from .python_call import lends, python_call
from .unit import Unit


class Alone(codegen.JITCodeLibrary):  # type: ignore[misc]
    """A code library that keeps the functions it calls to itself.

    Numba numbers functions anew in each process, and of several functions of one name the linker
    takes the first for all: code from the disk would call what another process meant by the name.
    """

    def _optimize_final_module(self) -> None:
        self._optimize()
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.linkonce_odr:
                function.linkage = binding.Linkage.internal

    def _optimize(self) -> None:
        super()._optimize_final_module()


class WholeLibrary(Alone):
    """A code library that is optimized once, as a whole: what is translated here counts no
    references, and is lean from the start."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Nothing on the way: the whole is optimized at the end."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize(self) -> None:
        options = binding.create_pipeline_tuning_options(speed_level=config.OPT)
        options.loop_vectorization, options.slp_vectorization = (
            config.LOOP_VECTORIZE,
            config.SLP_VECTORIZE,
        )
        # Short static loops are unrolled by the schedule where that pays. LLVM's unrolling doubles
        # the code and the time it takes, and an inner loop that it unrolls first is no longer
        # vectorised across (k-means: 5.4 ms against 2.4).
        options.loop_unrolling = False
        builder = binding.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class CallConvention(callconv.CPUCallConv):  # type: ignore[misc]
    """Numba's, in a module in which the translated functions below the kernel return plain values
    and no error code.

    Of Numba's own they call only what raises nothing (`Context.call_internal`); memory is not
    allocated there.
    """

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        if builder.function.name not in self.context.plain:
            super().return_status_propagate(builder, status)

    def return_user_exc(self, builder: Any, *args: Any, **kwargs: Any) -> None:
        if builder.function.name in self.context.plain:
            raise UntranslatableError("an exception in a function that has none")
        self.context.raising.add(builder.function.name)
        super().return_user_exc(builder, *args, **kwargs)


QUOTIENTS = (operator.truediv, operator.itruediv)
RETURNING = ("int_power_impl.<locals>.int_power",)
"""What raises in the text alone: with NumPy's error model it returns."""


def load_few(context: Any) -> None:
    """Load Numba's functions of numbers and arrays, which is what generated code calls. All of them
    take 0.3 s, as long as all else in a first call."""
    rtsys.initialize(context)
    for module in ("cpython.builtins", "cpython.numbers", "cpython.tupleobj", "np.arrayobj"):
        importlib.import_module(f"numba.{module}")
    for implementations in (npyimpl, cmathimpl, mathimpl):
        context.install_registry(implementations.registry)


@contextmanager
def few() -> Iterator[None]:
    """Meanwhile Numba's own context loads few. Each compilation asks it to load what it has, and so
    does each template of a method that is new; what is made of it keeps to few."""
    whole = cpu_target.target_context
    if "load_additional_registries" in vars(whole):
        yield
        return
    whole.load_additional_registries = partial(load_few, whole)
    try:
        yield
    finally:
        del whole.load_additional_registries


class Context(cpu.CPUContext):  # type: ignore[misc]
    """Numba's context with that convention, and without reference counts: what Numba compiles for
    it is kept apart."""

    plain: set[str]
    entry: str
    internal: ClassVar[dict[Any, Any]] = {}
    sizes: ClassVar[dict[Any, int]] = {}
    raising: ClassVar[set[str]] = set()
    """What Numba has compiled for it that may raise."""

    @classmethod
    def over(cls, context: Any, **fields: Any) -> Self:
        """One that shares the tables of Numba's."""
        made = cls.__new__(cls)
        made.__dict__.update(vars(context), **fields)
        return made

    def get_abi_sizeof(self, ty: Any) -> int:
        """Bytes of an LLVM type. LLVM is told them by a module of its own for each question."""
        if ty not in self.sizes:
            self.sizes[ty] = super().get_abi_sizeof(ty)
        return self.sizes[ty]

    @property
    def call_conv(self) -> CallConvention:
        return CallConvention(self)

    def call_internal(self, builder: Any, fndesc: Any, sig: Any, args: Any) -> Any:
        """A call of what Numba compiled; of what may raise, only by what Numba compiled."""
        if fndesc.llvm_func_name in self.raising and fndesc.qualname not in RETURNING:
            if builder.function.name in (*self.plain, self.entry):
                raise UntranslatableError(f"{fndesc.qualname} may raise")
            self.raising.add(builder.function.name)
        return super().call_internal(builder, fndesc, sig, args)

    def _compile_subroutine_no_cache(
        self, builder: Any, impl: Any, sig: Any, locals: Any = None, flags: Any = None
    ) -> Any:
        """As Numba's, but that real quotients by zero are NumPy's, too: they raise otherwise."""
        if flags is None:
            flags = compiler.Flags()
            flags.error_model = "numpy"
            around = targetconfig.ConfigStack.top_or_none()
            if around is not None and around.is_set("nrt"):
                flags.nrt = around.nrt
        with few():
            return super()._compile_subroutine_no_cache(builder, impl, sig, locals, flags)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """As Numba's, but for complex quotients: its own raises where the divisor is 0."""
        if fn == "__array__":
            # Asked of every array, of which only those of other libraries have it. What is not
            # found makes Numba load all that it has.
            raise NotImplementedError(fn)
        named = getattr(fn, "typing_key", fn)
        if named in QUOTIENTS and isinstance(sig.return_type, types.Complex):
            return base._wrap_impl(np_complex_div_impl, self, sig)
        return super().get_function(fn, sig, _firstcall)


class Lowering:
    """What `BaseNativeLowering` asks of a lowering."""

    def __init__(
        self, context: Any, library: Any, descriptor: Any, function: Any, metadata: Any = None
    ) -> None:
        self.library, self.descriptor, self.function = library, descriptor, function.function
        self.typing = function.typing
        self.module = library.create_ir_module(descriptor.unique_name)
        self.env = Environment.from_fndesc(descriptor)
        self.context = Context.over(
            context,
            environment=self.env,
            fndesc=descriptor,
            plain=set(),
            enable_nrt=False,
            cached_internal_func=Context.internal,
        )
        self.outer = context

    def lower(self) -> None:
        llvm = self.context.declare_function(self.module, self.descriptor)
        self.context.declare_env_global(self.module, self.context.get_env_name(self.descriptor))
        self.context.entry = llvm.name
        builder = cgutils.ir.IRBuilder(llvm.append_basic_block("entry"))
        self.call_helper = self.context.call_conv.init_call_helper(builder)
        Unit(self.typing, self.context, self.module).entry(
            self.function, llvm, self.descriptor.argtypes
        )
        if lends(self.descriptor.argtypes):
            python_call(self.context, self.descriptor, llvm)
        self.library.add_ir_module(self.module)
        self._give_up()

    def _give_up(self) -> None:
        """Let go of the instructions, which LLVM has now: all of them refer to each other through
        their blocks, so they would wait for the collector of garbage, which takes longer."""
        for function in self.module.functions:
            for block in function.blocks:
                block.instructions.clear()
                block.terminator = None
            function.blocks.clear()

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        if lends(self.descriptor.argtypes):
            return
        self._wrapping().create_cpython_wrapper(
            self.library, self.descriptor, self.env, self.call_helper, release_gil=release_gil
        )

    def create_cfunc_wrapper(self) -> None:
        self._wrapping().create_cfunc_wrapper(
            self.library, self.descriptor, self.env, self.call_helper
        )

    def _wrapping(self) -> Any:
        context = self.outer.subtarget(environment=self.env, fndesc=self.descriptor)
        context.enable_nrt = any(isinstance(t, types.Array) for t in self.descriptor.argtypes)
        return context


@register_pass(mutates_CFG=True, analysis_only=False)
class DirectLowering(typed_passes.BaseNativeLowering):  # type: ignore[misc]
    """Syntax tree to native code."""

    _name = "tracegrad_direct_lowering"

    @property
    def lowering_class(self) -> Any:
        return Lowering

    def run_pass(self, state: Any) -> bool:
        function = state.func_id.func
        names = list(state.func_id.arg_names)
        state.func_ir = SimpleNamespace(
            func_id=state.func_id,
            arg_names=names,
            arg_count=len(names),
            function=function,
            typing=state.typingctx,
            is_generator=False,
        )
        state.typemap = {f"arg.{n}": t for n, t in zip(names, state.args, strict=True)}
        state.calltypes = {}
        state.return_type = types.none
        try:
            state.library = WholeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            super().run_pass(state)
        except Exception as error:
            state.func_ir = state.typemap = state.calltypes = state.library = state.return_type = (
                None
            )
            raise UntranslatableError(f"{function.__qualname__}: {error}") from error
        state.func_ir = None
        return True


class DirectCompiler(compiler.Compiler):  # type: ignore[misc]
    """The one pass, or Numba's own pipeline for what that does not cover."""

    direct = True

    def __init__(self, typing: Any, context: Any, *given: Any) -> None:
        with few():
            super().__init__(typing, context, *given)

    def define_pipelines(self) -> Any:
        if not self.direct:
            return super().define_pipelines()
        manager = PassManager("direct")
        manager.add_pass(DirectLowering, "syntax tree to native code")
        manager.add_pass(typed_passes.NoPythonBackend, "result")
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        self.state.func_id = bytecode.FunctionIdentity.from_function(func)
        self.state.lifted, self.state.lifted_from = (), None
        try:
            try:
                return self._compile_core()
            except UntranslatableError:
                # Perhaps of a function that was not loaded.
                self.state.status.fail_reason = None
                cpu_target.target_context.refresh()
                return self._compile_core()
        except UntranslatableError as error:
            fell_back(func.__qualname__, error)
            self.direct, self.state.status.fail_reason = False, None
            tree = tree_of(func.__code__)
            if tree is not None and arithmetic_of(tree).contract:
                self.state.flags.fastmath = cpu.FastMathOptions({"contract"})
            self.state.library = Alone(
                self.state.targetctx.codegen(), self.state.func_id.func_qualname
            )
            self.state.library.enable_object_caching()
            complete(func)
            return super().compile_extra(func)


class KernelCompiler(DirectCompiler):
    """For kernels: every array argument is declared free of overlap with what is written.

    Kernels write only to outputs and scratch, which their caller allocates. LLVM otherwise guards a
    loop over many arrays with pairwise overlap checks, and gives up vectorising beyond a number of
    them. `flags.noalias` is internal to Numba: this class is its one use.
    """

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = self.state.flags.no_cfunc_wrapper = True
        return super().define_pipelines()
