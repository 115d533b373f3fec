// Drawn here: one stroke, sixteen units.

import type { ReactNode } from 'react';
import { ownLogo } from '../api.ts';

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

const drawn = (path: string) => () => <Icon><path d={path} /></Icon>;

export const Logo = drawn('M2 12h5l4-8h3M7 12h7');
/** The tenant's own logo, or ours. The name stands beside it. */
export const Mark = () => (ownLogo ? <img className="mark" src={ownLogo} alt="" /> : <Logo />);
export const Plus = drawn('M8 3v10M3 8h10');
export const Search = drawn('M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14');
export const Menu = drawn('M2.5 4.5h11M2.5 8h11M2.5 11.5h11');
export const Close = drawn('m4 4 8 8m0-8-8 8');
export const Send = drawn('M8 13V3M4 7l4-4 4 4');
export const Pen = drawn('m3 13 .600-3L11 2.600l2.400 2.400L6 12.400 3 13Z');
export const Up = Send;
export const Clip = drawn('M12.500 7.500 7.700 12.300a2.800 2.800 0 0 1-4-4l5.300-5.300a1.900 1.900 0 0 1 2.700 2.700L6.600 10.800a.9.9 0 0 1-1.300-1.300L9.700 5.100');
export const Stop = drawn('M4.5 4.5h7v7h-7z');
export const Copy = drawn('M6 6h7v7H6zM3 10V3h7');
export const Check = drawn('m3 8.5 3.2 3.2L13 5');
export const Again = drawn('M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3');
export const Arrow = drawn('M6 4l4 4-4 4');
export const Down = drawn('M8 3v10m-4-4 4 4 4-4');
export const Clock = drawn('M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-9v3l2 2');
export const Key = drawn('M10.5 9A3.5 3.5 0 1 0 7.2 6.7L2 12v2h2.5v-1.8h1.8v-1.8h1.5L8.700 9.200');
export const Question = drawn('M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.300 6.500C6.400 5.500 7.100 5 8 5c1 0 1.700.6 1.700 1.500C9.700 8 8 7.800 8 9.200M8 11.300v.1');
export const Cross = drawn('M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM5.800 5.800l4.400 4.400m0-4.400-4.400 4.400');
export const Slash = drawn('M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM3.800 12.200l8.400-8.400');
export const Done = drawn('M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM5.300 8.200l1.900 1.900 3.600-4');
export const Tasks = drawn('M6.500 4H14M6.500 8H14M6.500 12H14M2 4l.8.8L4.500 3M2 8l.8.8L4.500 7M2 12l.8.8L4.500 11');
export const Link = drawn('M7 9.500a2.500 2.500 0 0 0 3.600 0l2.200-2.200a2.500 2.500 0 0 0-3.600-3.600l-.9.9M9 6.500a2.500 2.500 0 0 0-3.600 0L3.200 8.700a2.500 2.500 0 0 0 3.600 3.600l.9-.9');
export const ThumbUp = drawn('M2.500 7.200h2.300v6H2.500zM4.800 7.200 7.600 2.200c1 0 1.700.8 1.500 1.800L8.700 6.200h3.500c.9 0 1.500.8 1.300 1.700l-.9 4.100c-.2.700-.7 1.200-1.400 1.200H4.800');
export const ThumbDown = drawn('M2.500 8.800h2.300v-6H2.500zM4.800 8.800l2.800 5c1 0 1.700-.8 1.500-1.800l-.4-2.200h3.500c.9 0 1.500-.8 1.300-1.700l-.9-4.100c-.2-.700-.7-1.200-1.400-1.200H4.800');
export const Dots = drawn('M3.500 8h.01M8 8h.01M12.500 8h.01');
export const Gauge = drawn('M2.500 12a6 6 0 1 1 11 0M8 11l2.500-4');
export const Bell = drawn('M4 11V7.500a4 4 0 0 1 8 0V11l1.200 1.500H2.800L4 11Zm2.700 3h2.600');
export const Bolt = drawn('M8.800 1.800 3.500 9H8l-.8 5.200L12.500 7H8l.8-5.200Z');
