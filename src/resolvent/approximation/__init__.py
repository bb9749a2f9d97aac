"""Low-rank fits: what a model found in a subspace is worth for the original problem."""

from __future__ import annotations

from resolvent.approximation.certificate import OriginalCertificate, certify_original

__all__ = ["OriginalCertificate", "certify_original"]
