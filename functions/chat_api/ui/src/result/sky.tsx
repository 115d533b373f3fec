// The sky of a day by its WMO code, as a small drawing.

const sun = <g className="sky-sun"><circle cx="12" cy="12" r="4.200" /><path d="M12 3.500v2M12 18.500v2M3.500 12h2M18.500 12h2M6 6l1.400 1.400M16.600 16.600 18 18M18 6l-1.400 1.400M7.400 16.600 6 18" /></g>;
const smallSun = <g className="sky-sun"><circle cx="8.500" cy="8.500" r="3" /><path d="M8.500 2.800v1.400M2.800 8.500h1.400M4.500 4.500l1 1M12.500 4.500l-1 1" /></g>;
const cloud = <path className="sky-cloud" d="M7.500 18.500a3.700 3.700 0 0 1-.3-7.400 5 5 0 0 1 9.700-.6 4 4 0 0 1-.4 8Z" />;
const highCloud = <path className="sky-cloud" d="M7.500 15.500a3.700 3.700 0 0 1-.3-7.400 5 5 0 0 1 9.700-.6 4 4 0 0 1-.4 8Z" />;
const drops = <path className="sky-rain" d="m8.500 18-.8 2.500M12.300 18l-.8 2.500M16 18l-.8 2.500" />;
const flakes = <path className="sky-snow" d="M8.500 18.500v.1M12 18.500v.1M15.500 18.500v.1M10.200 21v.1M13.800 21v.1" />;
const bolt = <path className="sky-sun" d="m12.500 15.500-2 3h2.500l-1.500 3" />;
const mist = <path className="sky-cloud" d="M4 9h13M6 12.500h14M4 16h12" />;

function sky(code: number) {
  if (code === 0) return sun;
  if (code <= 2) return <>{smallSun}{cloud}</>;
  if (code === 3) return cloud;
  if (code <= 48) return mist;
  if ((code >= 71 && code <= 77) || code === 85 || code === 86) return <>{highCloud}{flakes}</>;
  if (code >= 95) return <>{highCloud}{bolt}</>;
  return <>{highCloud}{drops}</>;
}

export function SkyIcon({ code }: { code: number | null }) {
  if (code === null) return <span className="sky" />;
  return <svg className="sky" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{sky(code)}</svg>;
}
