import { open, ask } from './zz.mjs';
const [dir, scheme, width, ...texts] = process.argv.slice(2);
const { browser, page, check } = await open({ colorScheme: scheme, viewport: { width: Number(width), height: 900 } });
for (const [n, text] of texts.entries()) {
  await page.goto('http://127.0.0.1:7788/t/acme/');
  await ask(page, text);
  await page.waitForTimeout(4500);
  await page.screenshot({ path: `/tmp/wtc/${dir}${n}.png` });
}
try { check(); } catch (e) { console.log(e.message); }
await browser.close();
