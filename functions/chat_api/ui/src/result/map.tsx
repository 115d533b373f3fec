// Places on a map of meridians and parallels, with a scale: where they lie, seen from each other. It has no coasts: none are
// loaded from anywhere.

import { words } from '../words.ts';
import { useWidth } from './width.ts';
import { KILOMETRES, type Position, round, sectionOf } from './positions.ts';
import { scaleOf } from './scale.ts';

const LOWEST = 170;
const HIGHEST = 320;
/** A name needs so many pixels to its right. */
const NAME = 90;

const degree = (value: number, [plus, minus]: readonly [string, string]): string => {
  const turned = value > 180 ? value - 360 : value < -180 ? value + 360 : value;
  const text = Math.abs(Math.round(turned * 1000) / 1000);
  return turned === 0 ? '0°' : `${text}° ${turned > 0 ? plus : minus}`;
};

export function Places({ positions }: { positions: readonly Position[] }) {
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
            {positions.map(({ name, latitude, longitude }, number) => {
              const [left, top] = [x(turned(longitude)), y(latitude)];
              const isRight = left > width - NAME;
              return (
                <g key={number} className="map-place">
                  <circle cx={left} cy={top} r={5}><title>{`${name} ${degree(latitude, ['N', 'S'])}, ${degree(longitude, ['E', 'W'])}`}</title></circle>
                  <text x={left + (isRight ? -9 : 9)} y={top + 4} textAnchor={isRight ? 'end' : 'start'}>{name.length > 24 ? `${name.slice(0, 23)}…` : name}</text>
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
