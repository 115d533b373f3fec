// The chat page. Messages are the AI SDK's UI messages; answers arrive as its UI message stream, version 1.
// A task that outlives its turn is followed by its own event stream, so that nothing needs a reload.

const at = (id) => document.getElementById(id);
const log = at('log'), note = at('note'), prompt = at('prompt');
const words = {
  'submitted': 'Submitted', 'working': 'Working', 'input-required': 'Needs your answer',
  'auth-required': 'Needs your consent', 'completed': 'Completed', 'canceled': 'Canceled',
  'failed': 'Failed', 'rejected': 'Rejected', 'unknown': 'No news', 'planned': 'Planned', 'skipped': 'Skipped',
};
const over = (state) => ['completed', 'canceled', 'failed', 'rejected'].includes(state);
const api = (path) => new URL(`api/${path}`, document.baseURI);

let chat = { id: '', messages: [], progress: '', answering: null };
const followed = new Map(); // task id -> its event stream

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

async function call(path, options) {
  const response = await fetch(api(path), options);
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.message || `The server answered ${response.status}.`);
}

const post = (path, body, signal) => call(path, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal,
});

function say(problem) {
  note.textContent = problem ? String(problem.message ?? problem) : '';
  note.hidden = !problem;
}

// ---- The stream --------------------------------------------------------------------------------

async function* chunks(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop();
    for (const frame of frames) {
      if (frame.startsWith('data: ') && frame !== 'data: [DONE]') yield JSON.parse(frame.slice(6));
    }
  }
}

async function read(response, open) {
  let message;
  const texts = {};
  for await (const chunk of chunks(response)) {
    if (open !== chat) return;
    if (chunk.type === 'start') {
      open.messages = open.messages.filter((known) => known.id !== chunk.messageId);
      open.messages.push(message = { id: chunk.messageId, role: 'assistant', parts: [] });
    } else if (chunk.type === 'data-progress') {
      open.progress = chunk.data.text;
    } else if (chunk.type === 'data-task') {
      const known = message.parts.find((part) => part.type === chunk.type && part.id === chunk.id);
      if (known) known.data = chunk.data;
      else message.parts.push({ type: chunk.type, id: chunk.id, data: chunk.data });
    } else if (chunk.type === 'text-start') {
      // Words on the way give way to those of a later attempt, and to the answer.
      if (!chunk.id.startsWith('part-')) message.parts = message.parts.filter((part) => !part.draft);
      message.parts.push(texts[chunk.id] = { type: 'text', text: '', draft: chunk.id.startsWith('draft-') });
    } else if (chunk.type === 'text-delta') {
      texts[chunk.id].text += chunk.delta;
    } else if (chunk.type === 'error') {
      say(chunk.errorText);
    }
    draw();
  }
}

async function answering(start) {
  const open = chat;
  open.answering = new AbortController();
  say();
  draw();
  try {
    const response = await start(open.answering.signal);
    if (response.status !== 204) await read(response, open);
  } catch (problem) {
    if (problem.name !== 'AbortError') say(problem);
  } finally {
    open.answering = null;
    open.progress = '';
    if (open === chat) draw();
    list().catch(say);
    connected().catch(say);
  }
}

function ask(text, taskId) {
  const message = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
  chat.messages.push(message);
  location.hash = chat.id;
  draw();
  log.scrollTop = log.scrollHeight;
  const body = { id: chat.id, message, trigger: 'submit-message', messageId: null, taskId };
  return answering((signal) => post('chat', body, signal));
}

// ---- Following tasks that outlive their turn ------------------------------------------------------

function follow(task) {
  if (followed.has(task.taskId)) return;
  const events = new EventSource(api(`tasks/${task.taskId}/events`));
  followed.set(task.taskId, events);
  let newest = 0;
  events.onmessage = async ({ data, lastEventId }) => {
    const event = JSON.parse(data);
    if (event.type === 'draft') { speak(chat, task.taskId, event.text); return; }
    newest = Number(lastEventId);
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (newest === Number(lastEventId)) await reload(chat).catch(say); // the last of a burst
  };
}

// Words of an answer under way stand in its message until the stored answer takes their place.
function speak(open, taskId, text) {
  const isCard = (part) => part.type === 'data-task' && part.id === taskId;
  const message = open.messages.findLast(({ parts }) => parts.some(isCard));
  if (!message || open.answering) return;
  message.parts = [...message.parts.filter((part) => !part.draft), { type: 'text', text, draft: true }];
  draw();
}

function leave(id) {
  followed.get(id)?.close();
  followed.delete(id);
}

async function reload(open) {
  if (open.answering) return;
  const messages = await (await call(`chats/${encodeURIComponent(open.id)}/messages`)).json();
  if (open !== chat || open.answering) return;
  open.messages = messages;
  draw();
  await connected();
}

// ---- Drawing ------------------------------------------------------------------------------------

function draw() {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  const open = new Set([...log.querySelectorAll('details[open]')].map((details) => details.dataset.task));
  const wanted = chat.messages.map((message) => kept(JSON.stringify(message), () => drawn(message, open)));
  if (!wanted.length) wanted.push(kept('empty', welcome));
  if (chat.answering && chat.progress) {
    wanted.push(kept(chat.progress, () => make('p', { className: 'progress', textContent: chat.progress })));
  }
  // Only what changed is touched: a screen reader reads what appears here.
  wanted.forEach((element, place) => {
    if (log.children[place] !== element) log.insertBefore(element, log.children[place] ?? null);
  });
  while (log.children.length > wanted.length) log.lastChild.remove();
  for (const [key, element] of elements) if (!element.isConnected) elements.delete(key);
  at('send').hidden = Boolean(chat.answering);
  at('stop').hidden = !chat.answering;
  if (atEnd) log.scrollTop = log.scrollHeight;
  const running = new Set();
  for (const { parts } of chat.messages) {
    for (const part of parts) if (part.type === 'data-task' && !over(part.data.state)) running.add(part.data);
  }
  // A browser has few connections to one server: the newest tasks get them.
  const live = chat.answering ? [] : [...running].slice(-3);
  for (const id of [...followed.keys()]) if (!live.some((task) => task.taskId === id)) leave(id);
  live.forEach(follow);
}

const elements = new Map(); // what is drawn, by what it shows

function kept(key, build) {
  if (!elements.has(key)) elements.set(key, build());
  return elements.get(key);
}

function welcome() {
  return make('div', { className: 'empty' }, make('h1', { textContent: 'What can I do for you?' }),
    'I find the right agent, hand the work over, and bring the answer back.');
}

function drawn(message, open) {
  const article = make('article', { className: `message ${message.role}` });
  article.setAttribute('aria-label', message.role === 'user' ? 'You' : 'Answer');
  for (const part of message.parts) {
    if (part.type === 'text' && part.text) article.append(make('p', { className: 'text', textContent: part.text }));
    else if (part.type === 'data-task') article.append(card(part.data, open.has(part.data.taskId)));
    else if (part.type === 'file') article.append(make('p', { className: 'text', textContent: part.filename || 'File' }));
  }
  return article;
}

function card(task, open) {
  const badge = make('span', { className: 'badge', textContent: words[task.state] ?? task.state });
  badge.dataset.state = task.state;
  const top = make('div', { className: 'top' },
    make('span', { className: 'title', textContent: task.agentName || task.agentType || task.title || 'Task' }), badge);
  const row = make('div', { className: 'row' }, details(task, open));
  if (task.authUrl) {
    row.append(make('a', { className: 'connect', href: task.authUrl, target: '_blank', rel: 'noopener', textContent: 'Connect' }));
  }
  const { plan } = task;
  if (plan && !plan.isApproved && task.state === 'input-required') {
    row.append(make('button', { type: 'button', className: 'start', textContent: 'Start', onclick: () => act(task, 'start', { plan: plan.hash }) }));
  }
  for (const { label, say: text } of task.choices ?? []) {
    const choose = () => { if (!chat.answering) ask(text, task.taskId); };
    row.append(make('button', { type: 'button', textContent: label, onclick: choose }));
  }
  if (!over(task.state)) {
    row.append(make('button', { type: 'button', textContent: 'Cancel', onclick: () => act(task, 'cancel') }));
  }
  const section = make('section', { className: 'card' }, top);
  section.setAttribute('aria-label', `Task ${task.taskId}`);
  if (!over(task.state) && task.statusMessage) {
    section.append(make('p', { className: 'what', textContent: task.statusMessage }));
  }
  if (plan) section.append(steps(plan, task.jobs ?? []));
  section.append(row);
  return section;
}

// What is to be done, and how far each step is: once it has begun, its job says that.
function steps(plan, jobs) {
  const list = make('ol', { className: 'steps' });
  for (const step of plan.steps.filter(({ state }) => state !== 'dropped')) {
    const job = jobs.find(({ number }) => number === step.number);
    const state = step.state === 'planned' && job ? job.state : step.state;
    const badge = make('span', { className: 'badge', textContent: words[state] ?? state });
    badge.dataset.state = state;
    list.append(make('li', { value: step.number + 1, title: step.reason ?? '' },
      make('span', { textContent: `${step.agentName}: ${step.instruction}` }), badge));
  }
  return list;
}

function details(task, open) {
  const element = make('details', {}, make('summary', { textContent: 'Details' }));
  element.dataset.task = task.taskId;
  element.addEventListener('toggle', async () => {
    if (!element.open || element.querySelector('dl')) return;
    try {
      const whole = await (await call(`tasks/${task.taskId}`)).json();
      element.querySelector('dl')?.remove();
      element.append(facts(whole));
    } catch (problem) { say(problem); }
  });
  element.open = open;
  return element;
}

function facts(task) {
  const dl = make('dl');
  const add = (name, text) => text && dl.append(make('dt', { textContent: name }), make('dd', { textContent: text }));
  const when = (time) => new Date(time).toLocaleString();
  add('Task', task.id);
  for (const job of task.jobs) add(job.agentName || job.agentType, `${words[job.state] ?? job.state}: ${job.instruction}`);
  for (const entry of task.history ?? []) add(when(entry.at), [words[entry.state], entry.message].filter(Boolean).join(': '));
  for (const artifact of task.artifacts) {
    const text = artifact.parts.map((part) => part.text
      ?? ('data' in part ? JSON.stringify(part.data, null, 1) : part.url ?? part.filename ?? 'file'));
    add(artifact.name || 'Result', text.join('\n'));
  }
  return dl;
}

async function act(task, action, body = {}) {
  try {
    await post(`tasks/${task.taskId}/${action}`, body);
    say();
  } catch (problem) { say(problem); }
  await reload(chat).catch(say);
}

// ---- Connected accounts -------------------------------------------------------------------------

async function connected() {
  const { connections } = await (await call('connections')).json();
  at('connected').hidden = !connections.length;
  at('connections').replaceChildren(...connections.map(({ provider, account }) => {
    const name = account ? `${provider} · ${account}` : provider;
    const end = make('button', { type: 'button', textContent: 'Disconnect', onclick: () => disconnect(provider) });
    end.setAttribute('aria-label', `Disconnect ${name}`);
    return make('li', {}, make('span', { textContent: name, title: name }), end);
  }));
}

async function disconnect(provider) {
  try {
    await call(`connections/${encodeURIComponent(provider)}`, { method: 'DELETE' });
    say();
    await connected();
  } catch (problem) { say(problem); }
}

// ---- Chats --------------------------------------------------------------------------------------

async function list() {
  const { chats } = await (await call('chats')).json();
  at('chats').replaceChildren(...chats.map(({ id, title }) => {
    const link = make('a', { href: `${location.pathname}#${encodeURIComponent(id)}`, textContent: title || 'Chat', title });
    if (id === chat.id) link.setAttribute('aria-current', 'page');
    return make('li', {}, link);
  }));
}

async function show() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (id && id === chat.id) return;
  chat.answering?.abort();
  const open = chat = { id: id || crypto.randomUUID(), messages: [], progress: '', answering: null };
  say();
  draw();
  prompt.focus();
  await Promise.all([list(), connected()]);
  if (!id) return;
  try { await reload(open); } catch { return; }
  if (open === chat) log.scrollTop = log.scrollHeight;
  const last = open.messages.at(-1)?.parts.find((part) => part.type === 'data-task');
  if (last && ['submitted', 'working'].includes(last.data.state)) {
    await answering((signal) => call(`chat/${encodeURIComponent(id)}/stream`, { signal }));
  }
}

at('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = prompt.value.trim();
  if (!text || chat.answering) return;
  prompt.value = '';
  ask(text);
});
prompt.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    at('ask').requestSubmit();
  }
});
at('stop').addEventListener('click', async () => {
  try { await post(`chat/${encodeURIComponent(chat.id)}/stop`, {}); } catch (problem) { say(problem); }
});
at('new').addEventListener('click', () => {
  if (location.hash) location.hash = '';
  else { chat.id = ''; show().catch(say); }
});
addEventListener('hashchange', () => show().catch(say));
show().catch(say);
