// Every text of the page, in one catalogue.

export const words = {
  product: 'Switchyard',
  newChat: 'New chat',
  chats: 'Chats',
  yourChats: 'Your chats',
  noChats: 'Your chats will be listed here.',
  search: 'Search chats',
  chat: 'Chat',
  change: 'Change',
  title: 'Title',
  rename: 'Rename',
  delete: 'Delete',
  deleteAsk: 'Deleting ends what runs in it and removes its messages for good.',
  noneFound: 'No chat is called that.',
  more: 'More',
  tasks: 'Tasks',
  accounts: 'Connected accounts',
  menu: 'Menu',
  close: 'Close',
  back: 'Back',
  skip: 'Skip to the conversation',

  signIn: 'Sign in',
  signOut: 'Sign out',
  signInFirst: 'Sign in to go on. You will come back to this page.',
  signedInAs: 'Signed in as',
  guest: 'You are a guest.',
  takeOverAsk: (chats: number) => (chats === 1 ? 'Take over the chat of this browser?' : `Take over the ${chats} chats of this browser?`),
  takeOverWhy: 'Somebody chatted here without signing in. If that was you, the chats can become yours; if not, leave them.',
  takeOverLast: 'The last is from',
  takeOver: 'Take over',
  takeOverNot: 'Leave them',

  hello: 'What can I do for you?',
  pitch: 'I find the right agent, hand the work over, and bring the answer back, also if that takes hours.',
  examples: 'Try one of these',
  earlier: 'Earlier messages',
  conversation: 'Conversation',
  you: 'You',
  answer: 'Answer',
  message: 'Your message',
  ask: 'Ask for something',
  askMore: 'Write a message',
  send: 'Send',
  askWhom: 'Ask this agent',
  anyAgent: 'Whoever fits',
  forAgent: 'For',
  stop: 'Stop',
  copy: 'Copy',
  copied: 'Copied',
  again: 'Answer again',
  helped: 'This helped',
  helpedNot: 'This did not help',
  thinking: 'Thinking',
  toEnd: 'Jump to the newest message',

  queued: 'Goes out when this answer is done',
  waits: 'Not sent yet. It goes out as soon as the server can be reached.',
  offline: 'You are offline. What you write is kept and sent later.',
  reconnecting: 'The connection was lost. Trying again …',
  refused: 'Not sent',
  sending: 'Sending',
  edit: 'Edit',
  discard: 'Discard',
  tooLong: 'Shown in part: the text is long.',
  showAll: 'Show all of it',

  task: 'Task',
  open: 'Open',
  connect: 'Connect',
  start: 'Start',
  cancel: 'Cancel',
  retry: 'Try again',
  reply: 'Answer',
  plan: 'Plan',
  result: 'Result',
  timeline: 'Timeline',
  raw: 'Raw',
  asText: 'As text',
  chart: 'Chart',
  map: 'Map',
  noResult: 'No result so far.',
  broughtNothing: 'It ended without a result.',
  attempt: 'Attempt',
  failedAttempt: 'An attempt failed',
  refresh: 'Ask the agent how far it is',
  foreignTitle: 'An agent asks you to sign in elsewhere',
  foreignText: 'this link is the agent\'s own, not Switchyard\'s. Open it only if you know where it leads.',
  openHost: 'Open',
  consentAsks: 'asks for your consent to:',
  linkUntil: 'The link is good until',
  goesOn: 'goes on below',
  consentTitle: 'Your consent is needed',
  consentText: 'It opens a page of the provider in a new tab. This card goes on by itself.',
  sendIt: 'Send',
  dontSend: "Don't send",
  maySend: 'May this be sent to',
  holds: 'It may hold what these agents brought:',
  after: 'after',
  optional: 'optional',
  trace: 'Trace',
  revision: 'Revision',
  started: 'Started',
  lasted: 'Took',
  prompt: 'Asked',
  download: 'Download',
  unreadable: 'cannot be read',

  noTasks: 'No tasks yet. Ask for something in a chat, and its task is listed here.',
  noTaskInState: 'No task is in this state.',
  all: 'All',
  state: 'State',
  agent: 'Agent',
  changed: 'Changed',

  ops: 'Operations',
  agents: 'Agents',
  well: 'Well',
  unwell: 'Not well',
  switchedOff: 'Switched off',
  switchOff: 'Switch off',
  switchOn: 'Switch on',
  lookAgain: 'Look again',
  lookedAt: 'looked at',
  ownAgent: 'this tenant\'s',
  platformsAgent: 'the platform\'s',
  usage: 'Language models by day (UTC)',
  noUsage: 'No language model was asked in the last two weeks.',
  day: 'Day',
  model: 'Model',
  calls: 'Calls',
  tokensIn: 'Tokens in',
  tokensCached: 'of it cached',
  tokensOut: 'Tokens out',

  noAccounts: 'No accounts are connected. An agent that needs one asks for it in the chat.',
  disconnect: 'Disconnect',
  disconnectAsk: 'Disconnect it? Agents that need it will ask again.',
  keep: 'Keep it',
  connectedSince: 'Connected since',
  lastUsed: 'last used',
  unasked: 'Not everything is shown. No answer came from:',
  usedBy: 'Used by',
  allows: 'Allows',

  loading: 'Loading',
  failed: 'This could not be loaded.',
  tryAgain: 'Try again',
  goneTitle: 'Not here',
  gone: 'It does not exist, or belongs to somebody else.',
  home: 'To a new chat',
  broken: 'This could not be drawn. Here is what it holds.',
  address: 'goes to',
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
  unknown: 'No news',
  planned: 'Planned',
  skipped: 'Skipped',
  dropped: 'Dropped',
};

/** A state's name comes from elsewhere: `constructor` is none. */
export const stateOf = (state: string): string => (Object.hasOwn(states, state) && states[state]) || state;

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

/** How long ago: seconds and minutes as such, later the time of day, then the date. */
export function ago(at: string, now = Date.now()): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (seconds > -45) return relative.format(0, 'second');
  if (seconds > -3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86_400) return clock.format(new Date(at));
  return day.format(new Date(at));
}

const whole = new Intl.NumberFormat();
export const count = (value: number): string => whole.format(value);

/** A number of bytes, such as `12 kB`. */
export function size(bytes: number): string {
  const unit = bytes < 1000 ? 'byte' : bytes < 1_000_000 ? 'kilobyte' : 'megabyte';
  const value = bytes < 1000 ? bytes : bytes < 1_000_000 ? bytes / 1000 : bytes / 1_000_000;
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: value < 10 && bytes >= 1000 ? 1 : 0 }).format(value);
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
