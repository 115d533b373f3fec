// A forecast: for each place its days, with the range of temperatures on one scale and the rain beneath.

import { dateOnly } from '../words.ts';
import { Chart, Drawing, Places } from './drawing.tsx';
import { positionsOf } from './positions.ts';
import { SkyIcon } from './sky.tsx';
import type { Day, Forecast as Data, Place } from './shape.ts';

const WIDTH = 120;
/** Fewer days are seen at one glance. */
const DAYS = 3;

function scale(days: readonly Day[]): [number, number] {
  const all = days.flatMap(({ temperatureMin, temperatureMax }) => [temperatureMin, temperatureMax]).filter((one) => typeof one === 'number');
  return all.length > 0 ? [Math.min(...all), Math.max(...all)] : [0, 1];
}

function Range({ day, from, to, unit }: { day: Day; from: number; to: number; unit: string }) {
  const { temperatureMin: low, temperatureMax: high } = day;
  if (typeof low !== 'number' || typeof high !== 'number') return null;
  const at = (value: number) => ((value - from) / Math.max(1, to - from)) * (WIDTH - 8) + 4;
  const label = `${Math.round(low)} – ${Math.round(high)} ${unit}`;
  return (
    <svg className="range" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" role="img" aria-label={label}>
      <line className="range-all" x1="4" x2={WIDTH - 4} y1="6" y2="6" />
      <line className="range-own" x1={at(low)} x2={Math.max(at(high), at(low) + 0.5)} y1="6" y2="6" />
    </svg>
  );
}

const rounded = (value: number | null | undefined, unit: string): string => (typeof value === 'number' ? `${Math.round(value * 10) / 10} ${unit}` : '');
const degrees = (value: number | null | undefined): string => (typeof value === 'number' ? `${Math.round(value)}°` : '–');

function OnePlace({ place, units }: { place: Place; units: Data['units'] }) {
  const [from, to] = scale(place.days);
  const rain = units?.precipitation ?? '';
  const where = [place.admin1, place.country].filter((part) => part && part !== place.name).join(', ');
  return (
    <section className="place" aria-label={place.name}>
      <h4>{place.name} <span>{where}</span></h4>
      <ul>
        {place.days.map((day) => (
          <li key={day.date}>
            <span className="day">{dateOnly(day.date)}</span>
            <SkyIcon code={day.weatherCode ?? null} />
            <span className="summary">{day.summary}</span>
            <span className="low">{degrees(day.temperatureMin)}</span>
            <Range day={day} from={from} to={to} unit={units?.temperature ?? '°'} />
            <span className="high">{degrees(day.temperatureMax)}</span>
            <span className="rain">
              {typeof day.precipitation === 'number' ? <span>{rounded(day.precipitation, rain)}</span> : null}
              {typeof day.precipitationProbability === 'number' ? <span>{day.precipitationProbability} %</span> : null}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Forecast({ forecast, isBrief = false }: { forecast: Data; isBrief?: boolean | undefined }) {
  const positions = isBrief ? [] : positionsOf(forecast.places);
  return (
    <div className="forecast">
      {!isBrief && forecast.places.some(({ days }) => days.length >= DAYS) ? <Drawing><Chart forecast={forecast} /></Drawing> : null}
      {positions.length > 0 ? <Drawing><Places positions={positions} /></Drawing> : null}
      {forecast.places.filter(({ days }) => days.length > 0).map((place, number) => <OnePlace key={number} place={place} units={forecast.units} />)}
    </div>
  );
}
