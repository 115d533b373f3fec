// Places on a map of meridians and parallels, with a scale: where they lie, seen from each other. A name stands beside its mark
// where there is room; where there is a list of them, each mark has its number there. It has no coasts: none are loaded from anywhere.

import { words } from '../words.ts';
import { useWidth } from './width.ts';
import { KILOMETRES, labelsOf, type Position, round, sectionOf } from './positions.ts';
import { scaleOf } from './scale.ts';

const LOWEST = 170;
const HIGHEST = 320;

const degree = (value: number, [plus, minus]: readonly [string, string]): string => {
  const turned = value > 180 ? value - 360 : value < -180 ? value + 360 : value;
  const text = Math.abs(Math.round(turned * 1000) / 1000);
  return turned === 0 ? '0°' : `${text}° ${turned > 0 ? plus : minus}`;
};

/** Half of a mark, with a number in it and without. */
const [LARGE, SMALL] = [9, 5];

export function Places({ positions, isNumbered = false }: { positions: readonly Position[]; isNumbered?: boolean | undefined }) {
  const radius = isNumbered ? LARGE : SMALL;
  const { place: box, width } = useWidth();
  const section = sectionOf(positions);
  const middle = ((section.south + section.north) / 2) * (Math.PI / 180);
  // A degree of longitude is shorter the farther it is from the equator.
  const narrow = Math.max(0.15, Math.cos(middle));
  const wanted = (width * (section.north - section.south)) / ((section.east - section.west) * narrow);
  const height = Math.round(Math.min(HIGHEST, Math.max(LOWEST, wanted)));
  const pixels = Math.min(width / ((section.east - section.west) * narrow), height / (section.north - section.south));
  const x = (longitude: number) => width / 2 + (longitude - (section.west + section.east) / 2) * narrow * pixels;
  const y = (latitude: number) => height / 2 - (latitude - (section.south + section.north) / 2) * pixels;
  const turned = (longitude: number) => (longitude < section.west ? longitude + 360 : longitude);
  const meridians = scaleOf([section.west, section.east], [0, 1], 4).ticks.filter((one) => x(one) > 0 && x(one) < width);
  const parallels = scaleOf([section.south, section.north], [0, 1], 3).ticks.filter((one) => y(one) > 0 && y(one) < height && Math.abs(one) <= 90);
  const marks = positions.map((one) => ({ ...one, left: x(turned(one.longitude)), top: y(one.latitude) }));
  const labels = labelsOf(marks, width, radius);
  const kilometres = round((width / 4 / pixels) * KILOMETRES);
  const long = (kilometres / KILOMETRES) * pixels;
  return (
    <figure className="chart map">
      <div className="drawing" ref={box}>
        {width > 0 ? (
          <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${words.map}: ${positions.map(({ name }) => name).filter(Boolean).join(', ')}`}>
            <g className="chart-axis">
              {meridians.map((one) => <g key={one}><line x1={x(one)} x2={x(one)} y1={0} y2={height} /><text x={x(one) + 3} y={11}>{degree(one, ['E', 'W'])}</text></g>)}
              {parallels.map((one) => <g key={one}><line x1={0} x2={width} y1={y(one)} y2={y(one)} /><text x={3} y={y(one) - 3}>{degree(one, ['N', 'S'])}</text></g>)}
            </g>
            {marks.map(({ number, name, latitude, longitude, left, top }, place) => {
              const label = labels[place];
              return (
                <g key={number} className="map-place">
                  <circle cx={left} cy={top} r={radius} />
                  {isNumbered ? <text className="map-number" x={left} y={top + 4} textAnchor="middle">{number}</text> : null}
                  {label ? <text x={left + (label.isRight ? radius + 4 : -radius - 4)} y={top + 4} textAnchor={label.isRight ? 'start' : 'end'}>{label.text}</text> : null}
                  <title>{`${isNumbered ? `${number}. ` : ''}${name} ${degree(latitude, ['N', 'S'])}, ${degree(longitude, ['E', 'W'])}`}</title>
                </g>
              );
            })}
            <g className="map-scale"><path d={`M${width - 12 - long} ${height - 14}v5h${long}v-5`} /><text x={width - 12} y={height - 18} textAnchor="end">{kilometres >= 1 ? `${kilometres} km` : `${Math.round(kilometres * 1000)} m`}</text></g>
          </svg>
        ) : null}
      </div>
    </figure>
  );
}
