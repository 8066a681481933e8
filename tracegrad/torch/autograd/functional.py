"""torch.autograd.functional: `tracegrad.autograd.functional`."""

from __future__ import annotations

from ...autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
