"""Says what OpenGL offers without a display, as JSON: `PYOPENGL_PLATFORM=egl python -m app.telemetry.opengl_probe`.

Runs as a child of `veotuner doctor`. PyOpenGL chooses its platform when it is imported, from the environment, which
the parent sets.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any, Final

PROBE_SCHEMA: Final = "veotuner-opengl-probe/1"
PROBE_ENVIRONMENT: Final = {"PYOPENGL_PLATFORM": "egl"}

_PLATFORM_SURFACELESS_MESA: Final = 0x31DD
_PLATFORM_DEVICE_EXT: Final = 0x313F
_PLATFORMS: Final = (("surfaceless", _PLATFORM_SURFACELESS_MESA), ("device", _PLATFORM_DEVICE_EXT))
"""EGL platforms that need no display: Mesa has the first, NVIDIA's own driver the second."""


def probe() -> dict[str, Any]:
    """Return `schema`, `fault` ("" when OpenGL works), `platform`, `renderer`, `version`, `vendor`."""
    answer = {"schema": PROBE_SCHEMA, "fault": "", "platform": "", "renderer": "", "version": "", "vendor": ""}
    try:
        # Importing it opens libEGL; a machine without one is an answer, not an accident.
        egl = importlib.import_module("OpenGL.EGL")
        gl = importlib.import_module("OpenGL.GL")
    except (ImportError, AttributeError, OSError) as error:
        return answer | {"fault": f"EGL is not installed ({error}); install libegl1 and libgl1-mesa-dri"}
    try:
        answer["platform"] = _make_current(egl)
    except Exception as error:  # noqa: BLE001  # process boundary: PyOpenGL raises classes of its own for each EGL error
        return answer | {
            "fault": f"no OpenGL context without a display ({_first_line(error)}); install libgl1-mesa-dri"
        }
    return answer | {
        "renderer": _text(gl.glGetString(gl.GL_RENDERER)),
        "version": _text(gl.glGetString(gl.GL_VERSION)),
        "vendor": _text(gl.glGetString(gl.GL_VENDOR)),
    }


def main() -> int:
    """Print the answer as one line of JSON."""
    sys.stdout.write(json.dumps(probe()) + "\n")
    return 0


def _make_current(egl: Any) -> str:
    """Make a context without a surface current; return the platform it came from.

    Raises:
        Exception: PyOpenGL's error of the last platform.
    """
    failure: Exception = RuntimeError("EGL has no platform without a display")
    for name, platform in _PLATFORMS:
        try:
            _open_context(egl, platform)
        except Exception as error:  # noqa: BLE001  # tried in turn; the last one's error is raised below
            failure = error
        else:
            return name
    raise failure


def _open_context(egl: Any, platform: int) -> None:
    display = egl.eglGetPlatformDisplay(platform, None, None)
    major, minor, count = egl.EGLint(), egl.EGLint(), egl.EGLint()
    egl.eglInitialize(display, major, minor)
    egl.eglBindAPI(egl.EGL_OPENGL_API)
    wanted = [egl.EGL_RENDERABLE_TYPE, egl.EGL_OPENGL_BIT, egl.EGL_SURFACE_TYPE, 0, egl.EGL_NONE]
    configs = (egl.EGLConfig * 1)()
    egl.eglChooseConfig(display, wanted, configs, 1, count)
    context = egl.eglCreateContext(display, configs[0], egl.EGL_NO_CONTEXT, [egl.EGL_NONE])
    egl.eglMakeCurrent(display, egl.EGL_NO_SURFACE, egl.EGL_NO_SURFACE, context)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


if __name__ == "__main__":
    sys.exit(main())
