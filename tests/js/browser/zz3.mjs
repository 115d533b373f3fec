import { open, ask } from './zz.mjs';
const { browser, page, badge } = await open();
for (const text of process.argv.slice(2)) {
  await page.goto('http://127.0.0.1:7788/t/acme/');
  await ask(page, text);
  await page.waitForTimeout(4500);
  const id = page.url().split('/').at(-1);
  const m = await page.evaluate(async (id) => (await fetch(`/t/acme/api/chats/${id}/messages?limit=50`)).json(), id);
  console.log('=====', text); console.log(JSON.stringify(m.messages?.at(-1), null, 1).slice(0, 7000));
}
await browser.close();
