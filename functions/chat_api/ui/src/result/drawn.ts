// What is drawn of results, as one part of the page that is loaded when the first of it is wanted.

export { Chart } from './chart.tsx';
export { Places } from './map.tsx';
