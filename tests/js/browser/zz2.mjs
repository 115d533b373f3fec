import { open, ask } from './zz.mjs';
const { browser, page, badge } = await open();
for (const text of process.argv.slice(2)) {
  await page.goto('http://127.0.0.1:7788/t/acme/');
  await ask(page, text);
  await page.waitForTimeout(4500);
  const tasks = await page.evaluate(async () => (await fetch(`/t/acme/api/tasks`)).json());
  const one = await page.evaluate(async (id) => (await fetch(`/t/acme/api/tasks/${id}`)).json(), tasks.tasks[0].id);
  console.log('=====', text); console.log(JSON.stringify(one, null, 1).slice(0, 9000));
}
await browser.close();
