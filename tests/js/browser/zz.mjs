// scratch
import { launch, visitor, ask, at, agree } from './harness.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
export const base = 'http://127.0.0.1:7788/t/acme';
export async function open(options) {
  const browser = await launch();
  const own = await visitor(browser, options);
  const page = await own.context.newPage();
  page.setDefaultTimeout(20000);
  await page.goto(base + '/');
  return { browser, ...own, page, ...at(page) };
}
export { ask, at, agree };
