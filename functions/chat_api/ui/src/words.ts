// Every text of the page, in one catalogue.

export const words = {
  newChat: 'New chat',
  yourChats: 'Your chats',
  noChats: 'Your chats will appear here.',
  search: 'Search chats',
  chat: 'Chat',
  change: 'Change',
  title: 'Title',
  rename: 'Rename',
  delete: 'Delete',
  deleteAsk: 'Deleting a chat cancels its running tasks and removes its messages for good.',
  goTo: 'Go to a chat, a task, an agent …',
  goToAnything: 'Go to …',
  action: 'Action',
  nothingFound: 'Nothing matches.',
  editing: 'Your message is sent anew in its place',
  noneFound: 'No chats match.',
  more: 'Show more',
  tasks: 'Tasks',
  accounts: 'Connected accounts',
  menu: 'Menu',
  close: 'Close',
  skip: 'Skip to the conversation',

  signIn: 'Sign in',
  signOut: 'Sign out',
  signInFirst: 'Sign in to continue. You will come back to this page.',
  signedInAs: 'Signed in as',
  guest: 'You are a guest.',
  takeOverAsk: (chats: number) => (chats === 1 ? 'Keep the chat from this browser?' : `Keep the ${chats} chats from this browser?`),
  takeOverWhy: 'Someone used this browser as a guest. If that was you, add the chats to your account; if not, leave them.',
  takeOverLast: 'Last used',
  takeOver: 'Add to my account',
  takeOverNot: 'Leave them',

  hello: 'What can I do for you?',
  pitch: 'I find the right agent, hand the work over and bring the answer back, even if it takes hours.',
  examples: 'Try one of these',
  allAgents: (agents: number) => `All agents (${agents})`,
  earlier: 'Earlier messages',
  conversation: 'Conversation',
  you: 'You',
  answer: 'Answer',
  message: 'Your message',
  ask: 'Ask for something',
  askMore: 'Write a message',
  send: 'Send',
  attach: 'Attach files',
  attached: 'Attached files',
  detach: (name: string) => `Remove ${name}`,
  dropHere: 'Drop files here',
  tooManyFiles: (most: number) => `A message takes at most ${most} files.`,
  filesTooLarge: (name: string, most: string) => `${name} does not fit: the files of a message may have ${most} together.`,
  typeNotTaken: (name: string, types: string) => `${name} is of a type that is not taken here. These are: ${types}.`,
  onlyFiles: 'See the attached files.',
  askWhom: 'Ask this agent',
  anyAgent: 'Any agent',
  forAgent: 'For',
  stop: 'Stop',
  copy: 'Copy',
  copied: 'Copied',
  again: 'Answer again',
  helped: 'This helped',
  helpedNot: 'This did not help',
  thinking: 'Thinking',
  ended: (name: string, state: string): string => (state === 'completed' ? `${name} finished` : `${name}: ${stateOf(state)}`),
  toEnd: 'Jump to the newest message',

  queued: 'Will be sent when this answer is done',
  waits: 'Not sent yet. It will be sent when the server can be reached.',
  offline: 'You are offline. Your messages are kept and sent later.',
  reconnecting: 'Connection lost. Reconnecting …',
  refused: 'Not sent',
  edit: 'Edit',
  discard: 'Discard',
  code: 'Code',
  showAll: 'Show all',

  task: 'Task',
  connect: 'Connect',
  start: 'Start',
  cancel: 'Cancel',
  retry: 'Try again',
  reply: 'Answer',
  form: 'Fill in',
  choose: 'Choose',
  yes: 'Yes',
  no: 'No',
  parts: 'What became of each part',
  fate: (fate: string): string =>
    ({ answered: 'Answered what was asked', done: 'Done', asked: 'You are asked first', refused: 'Not done' })[fate] ?? fate,
  answers: 'Your answer to',
  answersNot: 'Write something else',
  yourAnswer: 'Write your answer',
  plan: 'Plan',
  result: 'Result',
  timeline: 'Timeline',
  raw: 'Raw',
  asText: 'As text',
  asCurl: 'As A2A requests (curl)',
  generation: 'Version of A2A',
  readsTask: 'Read this task',
  asksAgain: 'Ask for the same again',
  tokenIsYours: 'Set TOKEN to an access token of yours for this host.',
  chart: 'Chart',
  map: 'Map',
  onMap: 'Number on the map',
  noResult: 'No result yet.',
  broughtNothing: 'The task ended without a result.',
  attempt: 'Attempt',
  failedAttempt: 'An attempt failed',
  foreignTitle: 'An agent asks you to sign in on another site',
  foreignText: 'this link comes from the agent, not from Switchyard. Open it only if you know the site.',
  openHost: 'Open',
  consentAsks: 'asks for your consent to:',
  linkUntil: 'The link works until',
  goesOn: 'continues below',
  consentTitle: 'Your consent is needed',
  consentText: 'Opens in a new tab. This card continues by itself.',
  connected: 'Connected',
  connectedTo: (agent: string) => `Connected. ${agent} can continue.`,
  sendIt: 'Send',
  dontSend: "Don't send",
  maySend: 'Send this to',
  holds: 'It may contain what these agents returned:',
  after: 'after step',
  optional: 'optional',
  retryStep: (number: number) => `Try step ${number} again`,
  goOnWithout: 'Continue without',
  share: 'Share',
  shareTitle: 'Share this answer',
  shareWhat: 'Anyone with the link can read your question and the answer as text, for 7 days and without signing in. Files are not shared. Stopping, or signing out everywhere, ends it.',
  shareMake: 'Create link',
  shareAgain: 'Create a new link',
  shareAnyway: 'Share anyway',
  shareAsks: 'This answer may contain things meant only for you, because these asked for your sign-in or are not open to everyone:',
  shareOthers: 'Your other tasks',
  shareLink: 'Link',
  shareOnce: 'Copy the link now. It is not shown again.',
  sharedUntil: 'Shared until',
  shareEnd: 'Stop sharing',
  shareSignIn: 'Sign in to share: a guest could not end a link from another device.',
  trace: 'Trace ID',
  revisionOf: (rev: number, latest: number) => `Revision ${rev} of ${latest}`,
  asOf: 'As of',
  travel: 'Show the task as it was at each change',
  earlierRev: 'Earlier',
  laterRev: 'Later',
  started: 'Started',
  lasted: 'Duration',
  prompt: 'Request',
  inChat: 'Open its chat',
  download: 'Download',
  unreadable: 'cannot be read',

  noTasks: 'No tasks yet. Ask for something in a chat, and its task will appear here.',
  searchTasks: 'Search tasks',
  cancelAll: 'Cancel all of these',
  cancelAsk: (tasks: number): string => `Cancel ${count(tasks)} tasks? What they have done stays done.`,
  noTaskInState: 'No tasks match this filter.',
  all: 'All',
  waiting: 'Waiting for you',
  running: 'Running',
  finished: 'Finished',
  waitsForYou: (count: number) => (count === 1 ? '1 thing waits for you' : `${count} things wait for you`),
  state: 'State',
  agent: 'Agent',

  survive: 'See it survive a crash',
  survivePrompt: 'Write a report about resilience',
  surviveWhy: 'Starts a report, kills the workers in the middle, and shows that it finishes once. Local system only.',
  surviveWaits: 'The report is starting. The workers will be killed in the middle of it.',
  surviveKilled: (count: number) => `${count === 1 ? '1 worker was' : `${count} workers were`} killed in the middle of the work. The task continues from its last stored step as soon as its lease ends.`,
  surviveDone: (seconds: string) => `It survived: one task, one result, completed once, ${seconds} after the kill.`,
  surviveOdd: 'The task did not complete once. Its timeline shows what happened.',
  surviveMissed: 'The report ended before the workers could be killed. Try again.',

  ops: 'Operations',
  agents: 'Agents',
  well: 'Healthy',
  unwell: 'Unhealthy',
  switchedOff: 'Disabled',
  switchOff: 'Disable',
  switchOn: 'Enable',
  lookAgain: 'Check now',
  cardChanged: 'Its card has changed: the one before serves until this one is approved',
  approve: 'Approve',
  card: 'Card',
  registered: 'Registered',
  lookedAt: 'checked',
  ownAgent: 'your tenant',
  platformsAgent: 'platform',
  unfinished: 'Unfinished tasks',
  unfinishedFirst: 'Unfinished tasks, stuck ones first, then the oldest',
  noneUnfinished: 'No task is unfinished, and none has failed.',
  since: 'In this state',
  created: 'Created',
  tries: 'Attempts',
  parked: 'Parked deliveries',
  noneParked: 'Every notification has been delivered, or is on its way.',
  toReceiver: 'to',
  attempts: (tried: number) => (tried === 1 ? '1 attempt' : `${tried} attempts`),
  replay: 'Deliver again',
  triedAgain: 'Being delivered again',
  usage: 'Language model usage by day (UTC)',
  budget: (used: number, most: number) => `${count(used)} of ${count(most)} tokens used today`,
  ownLimit: "This tenant's budget",
  noOwnLimit: "not set: the host's limit counts",
  hostLimit: "The host's own limit",
  noLimit: 'none',
  notInForce: "(the tenant's budget counts instead)",
  noUsage: 'No language model was used in the last two weeks.',
  day: 'Day',
  model: 'Model',
  calls: 'Calls',
  tokensIn: 'Input tokens',
  tokensCached: 'of which cached',
  tokensOut: 'Output tokens',

  opsSignIn: 'Sign in as an operator or an admin to see how the agents and their tasks are.',
  users: 'Users',
  name: 'Name',
  username: 'Username',
  operator: 'Operator',
  admin: 'Admin',
  addUser: 'Add user',
  endSignIns: 'Sign out everywhere',
  newPassword: 'New password',
  passwordOf: (username: string): string => `The password of ${username}, shown once:`,
  remove: 'Remove',
  removeSure: 'Remove for good',
  whoIsIn: 'Who is in',
  signedInAt: 'Signed in',
  open: 'Open',
  end: 'End',
  aSession: 'Signed in here since',
  aDevice: 'Notifications since',
  aShare: 'A shared task since',
  sessionsOpen: (count: number): string => (count === 1 ? '1 session' : `${count} sessions`),
  settings: 'Settings',
  setting: (name: string): string =>
    ({ locale: 'Language, such as en-GB', timeZone: 'Time zone, such as Europe/Oslo', brand: 'Name of the page', accent: 'Colour, such as #3153cf', accentDark: 'Colour in the dark', share: 'Sharing: on or off' })[name] ?? name,
  save: 'Save',

  keys: 'Keys',
  key: 'Key ID',
  purpose: 'Purpose',
  age: 'Age',
  signsNow: '(signs now)',
  unknownAge: 'Unknown: older than this record',

  tellMe: 'Tell me when a task finishes',
  tellMeMore: 'This browser shows a notification when a task ends or waits for you, also while no page is open. It says nothing of what the task is about.',
  tellMeUnsupported: 'This browser cannot be told anything while no page is open.',
  tellMeElsewhere: 'Add this page to the home screen first, and open it from there.',
  tellMeDenied: 'Notifications are blocked here. Allow them for this page in the browser’s settings, then come back.',
  tellMeFailed: 'The browser could not be registered for notifications. Try again later.',
  noAccounts: 'No connected accounts. An agent that needs one will ask for it in the chat.',
  ownAccount: (product: string) => `Your ${product} account`,
  disconnect: 'Disconnect',
  disconnectAsk: 'Disconnect this account? Agents that need it will ask again.',
  keep: 'Keep it',
  connectedSince: 'Connected',
  lastUsed: 'last used',
  unasked: 'This list may be incomplete. These agents did not answer:',
  usedBy: 'Used by',
  allows: 'Allows',

  loading: 'Loading',
  failed: 'This could not be loaded.',
  unreachable: 'The server cannot be reached.',
  unreadableAnswer: 'The answer of the server cannot be read.',
  tryAgain: 'Try again',
  goneTitle: 'Not found',
  gone: 'This does not exist, or it belongs to somebody else.',
  home: 'Start a new chat',
  broken: 'This could not be displayed. Here is its data.',
} as const;

export const states: Record<string, string> = {
  submitted: 'Submitted',
  working: 'Working',
  'input-required': 'Needs your answer',
  'auth-required': 'Needs your consent',
  completed: 'Completed',
  canceled: 'Canceled',
  failed: 'Failed',
  rejected: 'Rejected',
  unknown: 'No response',
  planned: 'Planned',
  skipped: 'Skipped',
  dropped: 'Dropped',
  connected: 'Connected',
};

/** Of a task of somebody else. */
const statesOfOthers: Record<string, string> = { 'input-required': 'Waits for an answer', 'auth-required': 'Waits for consent' };

const stuck: Record<string, string> = {
  overdue: 'Due, but nobody works on it',
  failing: 'Each attempt ends without an outcome',
  silent: 'Its agent did not answer in time',
};

/** Why a task is stuck. */
export const stuckFor = (why: string): string => (Object.hasOwn(stuck, why) && stuck[why]) || why;

const purposes: Record<string, string> = { session: 'Signs session tokens', sealing: 'Seals secrets and signs browser proofs' };

/** What a key is for. */
export const purposeOf = (purpose: string): string => (Object.hasOwn(purposes, purpose) && purposes[purpose]) || purpose;

const daysLong = new Intl.NumberFormat(undefined, { style: 'unit', unit: 'day', unitDisplay: 'long' });

/** How many whole days ago. */
export const daysSince = (at: string, now = Date.now()): string => daysLong.format(Math.max(0, Math.floor((now - new Date(at).getTime()) / 86_400_000)));

/** A state's name comes from elsewhere: `constructor` is none. */
export const stateOf = (state: string): string => (Object.hasOwn(states, state) && states[state]) || state;

/** The same for who only looks after it. */
export const stateOfOthers = (state: string): string => (Object.hasOwn(statesOfOthers, state) && statesOfOthers[state]) || stateOf(state);

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const precise = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });

export const wholeTime = (at: string): string => full.format(new Date(at));
export const timeOfDay = (at: string): string => precise.format(new Date(at));
const dayTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
/** The same in a sentence; what is no time is shown as it is. */
export const dayAndTime = (at: string): string => (Number.isNaN(Date.parse(at)) ? at : dayTime.format(new Date(at)));
/** A date without a time, such as `2026-11-23`. */
export const dateOnly = (date: string): string => weekday.format(new Date(`${date}T00:00:00Z`));

const weekdayOfYear = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
/** The same with its year. */
export const wholeDay = (date: string): string => weekdayOfYear.format(new Date(`${date}T00:00:00Z`));

/** How long ago: seconds and minutes as such, later the time of day, then the date. */
export function ago(at: string, now = Date.now()): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (seconds > -45) return relative.format(0, 'second');
  if (seconds > -3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86_400) return clock.format(new Date(at));
  return day.format(new Date(at));
}

const nearDay = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** The day of a time in a list: today and yesterday by that name. */
export function dayOf(at: string, now = Date.now()): string {
  const midnight = (time: number) => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(Date.parse(at))) / 86_400_000);
  const text = days < 2 ? nearDay.format(-days, 'day') : day.format(new Date(at));
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const whole = new Intl.NumberFormat();
export const count = (value: number): string => whole.format(value);

/** A number of bytes, such as `12 kB`. */
export function size(bytes: number): string {
  const unit = bytes < 1000 ? 'byte' : bytes < 1_000_000 ? 'kilobyte' : 'megabyte';
  // In short it is "70 byte".
  const unitDisplay = bytes < 1000 ? 'long' : 'short';
  const value = bytes < 1000 ? bytes : bytes < 1_000_000 ? bytes / 1000 : bytes / 1_000_000;
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay, maximumFractionDigits: value < 10 && bytes >= 1000 ? 1 : 0 }).format(value);
}

/** A span between two times, such as `3.2 s` or `4 min`. */
export function span(from: string, to: string): string {
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(undefined, {
      style: 'unit', unit: name, unitDisplay: 'short', maximumFractionDigits: value < 10 ? 1 : 0,
    }).format(value);
  if (seconds < 1) return unit(Math.max(0, Math.round(seconds * 1000)), 'millisecond');
  if (seconds < 90) return unit(seconds, 'second');
  if (seconds < 5400) return unit(seconds / 60, 'minute');
  return unit(seconds / 3600, 'hour');
}
