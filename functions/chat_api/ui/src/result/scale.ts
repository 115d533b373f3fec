// Scales of drawings: from values to places, with round steps between them.

const STEPS = [1, 2, 2.5, 5, 10];

export interface Scale {
  from: number;
  to: number;
  ticks: readonly number[];
  at: (value: number) => number;
}

/** A scale over all values with round ends, whose places go from `start` to `end`; at most so many steps. */
export function scaleOf(values: readonly number[], [start, end]: readonly [number, number], most: number): Scale {
  const known = values.filter(Number.isFinite);
  const low = known.length > 0 ? Math.min(...known) : 0;
  const high = known.length > 0 ? Math.max(...known) : 1;
  // Values that are all the same have a scale too.
  const wide = Math.max(high - low, Math.abs(high) * 1e-6, 1e-6);
  const raw = wide / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = (STEPS.find((one) => one * power >= raw) ?? 10) * power;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  const ticks = Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
  const from = ticks[0] ?? 0;
  const to = ticks.at(-1) ?? 1;
  return { from, to, ticks, at: (value) => start + ((value - from) / (to - from)) * (end - start) };
}

/** Lines through points, each as far as there is no gap. */
export function lines(points: readonly (readonly [number, number] | null)[]): string {
  let path = '';
  let isOn = false;
  for (const point of points) {
    if (point) path += `${isOn ? 'L' : 'M'}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    isOn = point !== null;
  }
  return path;
}
