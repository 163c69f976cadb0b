"""Whether FIFO waits for the display here: asked once by a probe, and watched while frames are presented."""

from __future__ import annotations

from collections import deque
from typing import Final

from app.core.clock import NS_PER_MS, NS_PER_S
from app.engine.sinks.sink import SinkRequest
from app.engine.vulkan import api
from app.engine.vulkan.negotiation import IN_ORDER_MODES, grant_mode
from app.engine.vulkan.pacing import FASTEST_REFRESH_NS, Pacing, PacingProbe, outruns_fifo
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.swapchain import SurfaceOffer, SurfaceReader, Swapchain

_RETURNS_KEPT: Final = 64
"""Present calls over which a FIFO that does not pace is found out while it runs."""


class FifoPacing:
    """What is known of the pacing of a surface. `note` and the probe belong to the present thread.

    Attributes:
        probed: the probe has run, or was not possible and is not tried again.
        finding: what the probe found, None before it and where it could not tell.
    """

    def __init__(self) -> None:
        self.probed = False
        self.finding: Pacing | None = None
        self._returns: deque[int] = deque(maxlen=_RETURNS_KEPT)
        self._outruns = False

    @property
    def paces(self) -> bool:
        """Tell whether FIFO is known to wait for the display."""
        return self.finding is not None and self.finding.paces and not self._outruns

    def wants_probe(self, request: SinkRequest, offer: SurfaceOffer) -> bool:
        """Tell whether a swapchain of this request is the first whose pacing matters."""
        mode = grant_mode(request.present_mode, offer.modes).mode
        clearable = offer.usage & api.vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
        return not self.probed and mode in IN_ORDER_MODES and bool(clearable)

    def probe(
        self,
        renderer: Renderer,
        reader: SurfaceReader,
        size: tuple[int, int],
        request: SinkRequest,
        swapchain: Swapchain | None,
    ) -> PacingProbe:
        """Return the probe to `run`; its `swapchain` is then the one to replace."""
        self.probed = True
        return PacingProbe(renderer, reader, size, request.min_image_count, swapchain)

    def restart(self) -> None:
        """Forget the presents of another swapchain or mode."""
        self._returns.clear()

    def note(self, return_ns: int) -> None:
        """Take when a present call returned, CLOCK_MONOTONIC ns."""
        self._returns.append(return_ns)

    def watch(self, swapchain: Swapchain, rate_hz: float | None) -> str:
        """Return the notice that running presents outrun this FIFO, "" while they do not or it has been said.

        Args:
            rate_hz: refresh rate, None when it is unknown.
        """
        if self._outruns or swapchain.mode not in IN_ORDER_MODES:
            return ""
        returns = list(self._returns)
        period_ns = NS_PER_S / rate_hz if rate_hz else float(FASTEST_REFRESH_NS)
        if not outruns_fifo(returns, len(swapchain.targets), period_ns):
            return ""
        self._outruns = True
        return (
            f"FIFO does not wait for the display here: {len(returns)} pictures were taken in "
            f"{(returns[-1] - returns[0]) / NS_PER_MS:.1f} ms, faster than they can be shown. Present in MAILBOX, or "
            "switch off what overrides vertical sync in the driver's settings."
        )
