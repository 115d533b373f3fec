// Days as a chart: of one place what the days are between, and their rain; of several how warm each gets.

import { dateOnly, words } from '../words.ts';
import { useWidth } from './width.ts';
import { lines, type Scale, scaleOf } from './scale.ts';
import type { Day, Forecast, Place } from './shape.ts';

const HEIGHT = 190;
const LEFT = 38;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24;
/** So much of the height has the rain at most. */
const RAIN = 0.3;
/** A date needs so many pixels. */
const DATE = 78;
/** Most places that lines can be told apart of. */
const PLACES = 6;

const known = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const degrees = (value: number): string => `${Math.round(value * 10) / 10}°`;

function told(place: Place, unit: string): string {
  const all = place.days.flatMap(({ temperatureMin, temperatureMax }) => [temperatureMin, temperatureMax]).filter(known);
  return all.length > 0 ? `${place.name}: ${Math.round(Math.min(...all))} – ${Math.round(Math.max(...all))} ${unit}` : place.name;
}

function dayTold(day: Day | undefined, unit: string, rain: string): string {
  if (!day) return '';
  const parts = [day.temperatureMin, day.temperatureMax].filter(known).map(degrees).join(' – ');
  return [parts && `${parts}${unit.replace('°', '')}`, known(day.precipitation) ? `${day.precipitation} ${rain}` : ''].filter(Boolean).join(', ');
}

interface Axes {
  dates: readonly string[];
  x: (place: number) => number;
  y: Scale;
  width: number;
}

function Axis({ dates, x, y, width }: Axes) {
  const every = Math.max(1, Math.ceil(dates.length / Math.max(1, Math.floor((width - LEFT - RIGHT) / DATE))));
  return (
    <g className="chart-axis">
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line x1={LEFT} x2={width - RIGHT} y1={y.at(tick)} y2={y.at(tick)} />
          <text x={LEFT - 6} y={y.at(tick) + 4} textAnchor="end">{degrees(tick)}</text>
        </g>
      ))}
      {dates.map((date, place) => (place % every === 0 ? <text key={date} x={x(place)} y={HEIGHT - 6} textAnchor="middle">{dateOnly(date)}</text> : null))}
    </g>
  );
}

function OnePlace({ days, x, y }: { days: readonly (Day | undefined)[]; x: (place: number) => number; y: Scale }) {
  const points = (of: 'temperatureMin' | 'temperatureMax') =>
    days.map((day, place) => { const value = day?.[of]; return known(value) ? ([x(place), y.at(value)] as const) : null; });
  const [high, low] = [points('temperatureMax'), points('temperatureMin')];
  const both = days.flatMap((_, place) => (high[place] && low[place] ? [place] : []));
  const band = both.length === days.length ? `${lines(high)}${lines(low.toReversed()).replace('M', 'L')}Z` : '';
  const wettest = Math.max(5, ...days.map((day) => day?.precipitation).filter(known));
  const room = (HEIGHT - TOP - BOTTOM) * RAIN;
  return (
    <>
      {band ? <path className="chart-band" d={band} /> : null}
      {days.map((day, place) => {
        const fell = day?.precipitation;
        if (!known(fell) || fell <= 0) return null;
        const height = Math.max(1, (fell / wettest) * room);
        return <rect key={place} className="chart-rain" x={x(place) - 7} width={14} y={HEIGHT - BOTTOM - height} height={height} rx={2} />;
      })}
      <path className="chart-line chart-line-0" d={lines(high)} />
      <path className="chart-line chart-low" d={lines(low)} />
    </>
  );
}

export function Chart({ forecast }: { forecast: Forecast }) {
  const { place: box, width } = useWidth();
  const places = forecast.places.filter(({ days }) => days.length > 0).slice(0, PLACES);
  const dates = [...new Set(places.flatMap(({ days }) => days.map(({ date }) => date)))].sort();
  const unit = forecast.units?.temperature ?? '°';
  const rain = forecast.units?.precipitation ?? '';
  const values = places.flatMap(({ days }) => days.flatMap((day) => [day.temperatureMax, places.length > 1 ? null : day.temperatureMin])).filter(known);
  const y = scaleOf(values, [HEIGHT - BOTTOM, TOP], 4);
  const step = (width - LEFT - RIGHT) / dates.length;
  const x = (place: number) => LEFT + step * (place + 0.5);
  const on = (place: Place) => dates.map((date) => place.days.find((day) => day.date === date));
  const [only] = places;
  return (
    <figure className="chart">
      <div className="drawing" ref={box}>
        {width > 0 && only ? (
          <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${words.chart}: ${places.map((place) => told(place, unit)).join('; ')}`}>
            <Axis dates={dates} x={x} y={y} width={width} />
            {places.length === 1 ? <OnePlace days={on(only)} x={x} y={y} /> : places.map((place, number) => (
              <path key={number} className={`chart-line chart-line-${number}`} d={lines(on(place).map((day, at) => (known(day?.temperatureMax) ? [x(at), y.at(day.temperatureMax)] : null)))} />
            ))}
            {dates.map((date, at) => (
              <rect key={date} className="chart-day" x={x(at) - step / 2} width={step} y={0} height={HEIGHT}>
                <title>{[dateOnly(date), ...places.map((place) => [places.length > 1 ? place.name : '', dayTold(on(place)[at], unit, rain)].filter(Boolean).join(' '))].join('\n')}</title>
              </rect>
            ))}
          </svg>
        ) : null}
      </div>
      {places.length > 1 ? (
        <figcaption>{places.map((place, number) => (
          <span key={number}><svg width="22" height="8" aria-hidden="true"><line className={`chart-line chart-line-${number}`} x1="1" x2="21" y1="4" y2="4" /></svg> {place.name}</span>
        ))}</figcaption>
      ) : null}
    </figure>
  );
}
