"""What workers need, loaded before they are forked."""

from .._codegen import loading
from . import worker

loading.imported("..codegen.native.compile", __package__)
loading.imported("..codegen.printer", __package__)
__all__ = ["worker"]
