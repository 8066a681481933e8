"""Maps from photographs (bundle adjustment): cameras and points by where they are seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Ints, Workload
from .torch_text import same_text


def loss(cameras: Floats, points: Floats, camera: Ints, point: Ints, seen: Floats) -> Any:
    """cameras[c, 9]: axis times angle, place, focal length, two of distortion; points[p, 3];
    camera[m] and point[m] of what is seen[m, 2]."""
    each, x = cameras[camera], points[point]
    turn = each[:, :3]
    angle = np.sqrt(np.sum(turn * turn, axis=1))[:, None]
    axis, cosine = turn / angle, np.cos(angle)
    along = np.sum(axis * x, axis=1)[:, None]
    turned = x * cosine + np.cross(axis, x) * np.sin(angle) + axis * along * (1.0 - cosine)
    moved = turned + each[:, 3:6]
    flat = -moved[:, :2] / moved[:, 2:3]
    squared = np.sum(flat * flat, axis=1)
    factor = each[:, 6] * (1.0 + each[:, 7] * squared + each[:, 8] * squared**2)
    return np.sum((flat * factor[:, None] - seen) ** 2)


def data(cameras: int, points: int, seen: int) -> tuple[Any, ...]:
    """Cameras that look at a cloud from about the same side."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    head = np.concatenate(
        [
            0.1 * normal((cameras, 3)),
            normal((cameras, 3)) + np.array([0.0, 0.0, -8.0]),
            500.0 + 10.0 * normal((cameras, 1)),
            0.01 * normal((cameras, 2)),
        ],
        axis=1,
    )
    return (
        head,
        normal((points, 3)),
        rng.integers(0, cameras, seen),
        rng.integers(0, points, seen),
        100.0 * normal((seen, 2)),
    )


def loops(
    cameras: Floats, points: Floats, camera: Ints, point: Ints, seen: Floats
) -> tuple[float, Floats, Floats]:
    """A rotation is taken back by its reverse; its slopes in axis and angle by hand."""
    total, d_cameras, d_points = 0.0, np.zeros_like(cameras), np.zeros_like(points)
    for m in range(seen.shape[0]):
        c, p = camera[m], point[m]
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        ax, ay, az = cameras[c, 0], cameras[c, 1], cameras[c, 2]
        angle = math.sqrt(ax * ax + ay * ay + az * az)
        ax, ay, az = ax / angle, ay / angle, az / angle
        cosine, sine = math.cos(angle), math.sin(angle)
        rest, along = 1.0 - cosine, ax * x + ay * y + az * z
        wx, wy, wz = ay * z - az * y, az * x - ax * z, ax * y - ay * x
        u = x * cosine + wx * sine + ax * along * rest + cameras[c, 3]
        v = y * cosine + wy * sine + ay * along * rest + cameras[c, 4]
        w = z * cosine + wz * sine + az * along * rest + cameras[c, 5]
        fx, fy = -u / w, -v / w
        squared, focal = fx * fx + fy * fy, cameras[c, 6]
        bent = 1.0 + cameras[c, 7] * squared + cameras[c, 8] * squared * squared
        mx, my = fx * focal * bent - seen[m, 0], fy * focal * bent - seen[m, 1]
        total += mx * mx + my * my
        mx, my = 2.0 * mx, 2.0 * my
        by_factor = mx * fx + my * fy
        d_cameras[c, 6] += by_factor * bent
        d_cameras[c, 7] += by_factor * focal * squared
        d_cameras[c, 8] += by_factor * focal * squared * squared
        by_squared = by_factor * focal * (cameras[c, 7] + 2.0 * cameras[c, 8] * squared)
        gx = mx * focal * bent + 2.0 * by_squared * fx
        gy = my * focal * bent + 2.0 * by_squared * fy
        gu, gv, gw = -gx / w, -gy / w, -(gx * fx + gy * fy) / w
        d_cameras[c, 3] += gu
        d_cameras[c, 4] += gv
        d_cameras[c, 5] += gw
        inner = ax * gu + ay * gv + az * gw
        # The reverse rotation of the slopes.
        bx, by, bz = gv * az - gw * ay, gw * ax - gu * az, gu * ay - gv * ax
        d_points[p, 0] += gu * cosine + bx * sine + ax * inner * rest
        d_points[p, 1] += gv * cosine + by * sine + ay * inner * rest
        d_points[p, 2] += gw * cosine + bz * sine + az * inner * rest
        by_angle = -sine * (gu * x + gv * y + gw * z) + cosine * (gu * wx + gv * wy + gw * wz)
        by_angle += sine * along * inner
        kx = sine * (y * gw - z * gv) + rest * (along * gu + inner * x)
        ky = sine * (z * gu - x * gw) + rest * (along * gv + inner * y)
        kz = sine * (x * gv - y * gu) + rest * (along * gw + inner * z)
        radial = kx * ax + ky * ay + kz * az
        d_cameras[c, 0] += (kx - radial * ax) / angle + by_angle * ax
        d_cameras[c, 1] += (ky - radial * ay) / angle + by_angle * ay
        d_cameras[c, 2] += (kz - radial * az) / angle + by_angle * az
    return total, d_cameras, d_points


WORKLOADS = (
    Workload(
        name="bundle",
        derivative="value_and_grad",
        doc="bundle adjustment: gathers of cameras and points, rotations, sums back into both",
        function=loss,
        data=data,
        sizes={
            "small": {"cameras": 3, "points": 8, "seen": 20},
            "default": {"cameras": 50, "points": 5_000, "seen": 20_000},
            "large": {"cameras": 300, "points": 100_000, "seen": 500_000},
        },
        argnums=(0, 1),
        reference=loops,
        numba=loops,
        torch=same_text(loss),
    ),
)
