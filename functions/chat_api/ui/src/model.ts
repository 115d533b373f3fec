// What the API answers, as far as the page reads it. Fields that are not named here pass through.

import { z } from 'zod';

const text = z.string().nullish();

export const Choice = z.object({ label: z.string(), say: z.string() });

export const Step = z.looseObject({
  number: z.number(),
  agentType: text,
  agentName: text,
  instruction: z.string(),
  after: z.array(z.number()).nullish(),
  /** The steps whose results it gets, which it then waits for too. */
  uses: z.array(z.number()).nullish(),
  optional: z.boolean().nullish(),
  state: z.string(),
  reason: text,
  guard: z.looseObject({ from: z.array(z.string()), isAsked: z.boolean() }).nullish(),
});

export const Plan = z.looseObject({
  goal: text,
  hash: z.string(),
  isApproved: z.boolean(),
  steps: z.array(Step),
});

/** What is agreed to behind a link of ours: scopes have our words, where there are some. */
export const ConsentInfo = z.looseObject({
  agentName: z.string(),
  provider: z.string(),
  scopes: z.array(z.object({ name: z.string(), words: text })),
  endsAt: text,
});

export const JobBrief = z.looseObject({ number: z.number(), agentName: text, agentType: text, state: z.string() });

const field = z.looseObject({
  type: text,
  format: text,
  description: text,
  enum: z.array(z.union([z.string(), z.number(), z.boolean()])).nullish(),
  oneOf: z.array(z.looseObject({ const: z.string(), description: text })).nullish(),
  minimum: z.number().nullish(),
  maximum: z.number().nullish(),
  minLength: z.number().nullish(),
  maxLength: z.number().nullish(),
});
export const FormField = field.extend({ items: field.nullish() });

/** What an agent asks for as data: a JSON Schema. */
export const Form = z.looseObject({ properties: z.record(z.string(), FormField), required: z.array(z.string()).nullish() });

/** A part of what was said, and what became of it. */
export const Clause = z.looseObject({
  said: z.string(),
  fate: z.string(),
  /** Who got it, and how far each is; null before it was begun. */
  agents: z.array(z.looseObject({ agentType: text, agentName: text, state: text })).nullish(),
});

/** What a card and a whole task say alike. */
const told = {
  agentType: text,
  agentName: text,
  statusMessage: text,
  outcome: text,
  authUrl: text,
  /** Whose link it is: our own way to a provider, or one that an agent wrote. */
  authUrlBy: text,
  authUrlHost: text,
  consent: ConsentInfo.nullish(),
  choices: z.array(Choice).nullish(),
  form: Form.nullish().catch(null),
  /** Addresses of its texts that may be links. */
  links: z.array(z.string()).nullish(),
  plan: Plan.nullish(),
  clauses: z.array(Clause).nullish(),
};

/** A task as a card in the chat. */
export const Card = z.looseObject({
  ...told,
  artifactType: z.literal('task'),
  taskId: z.string(),
  contextId: text,
  state: z.string(),
  updatedAt: text,
  title: text,
  /** The host's model may be writing the answer now. */
  writing: z.boolean().nullish(),
  jobs: z.array(JobBrief).nullish(),
});

/** A part as A2A 1.0 writes it. */
export const Part = z.looseObject({
  text,
  data: z.unknown().optional(),
  url: text,
  /** Of a file that lies here: how large it is. */
  bytes: z.number().nullish(),
  filename: text,
  mediaType: text,
});

export const Artifact = z.looseObject({
  artifactId: z.string(),
  name: text,
  description: text,
  parts: z.array(Part),
  bytes: z.number().nullish(),
  /** Of a job: the artifact of the task's answer that is the same. */
  sameAs: text,
});

const Entry = z.looseObject({ state: z.string(), at: z.string(), message: text });

export const Job = z.looseObject({
  number: z.number(),
  agentName: text,
  agentType: text,
  attempts: z.number().nullish(),
  instruction: text,
  state: z.string(),
  statusMessage: text,
  artifacts: z.array(Artifact).nullish(),
  history: z.array(Entry).nullish(),
  createdAt: text,
  updatedAt: text,
});

/** The whole task. */
export const Task = z.looseObject({
  ...told,
  id: z.string(),
  contextId: z.string(),
  status: z.string(),
  artifacts: z.array(Artifact),
  jobs: z.array(Job),
  prompt: text,
  createdAt: z.string(),
  updatedAt: z.string(),
  traceId: text,
  rev: z.number(),
  /** Only where an earlier revision was asked for. */
  latestRev: z.number().nullish(),
  history: z.array(Entry).nullish(),
  failedAttempts: z.array(z.looseObject({ attempt: z.number(), reason: text, at: z.string() })).nullish(),
});

export const Chat = z.looseObject({
  id: z.string(),
  title: z.string(),
  contextId: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
});

export const Connection = z.looseObject({
  id: z.string(),
  provider: z.string(),
  account: text,
  scopes: z.array(z.string()),
  /** The same with words of ours, where there are some. */
  allows: z.array(z.object({ name: z.string(), words: text })).nullish(),
  agent: text,
  agents: z.number(),
  connectedAt: text,
  lastUsedAt: text,
});

/** Somebody whom a message can be for: the host, or an agent by its type. */
export const Model = z.looseObject({ id: z.string(), name: z.string(), description: z.string(), examples: z.array(z.string()), inputTypes: z.array(z.string()).nullish() });

const Message = z.looseObject({ id: z.string(), role: z.enum(['user', 'assistant', 'system']), parts: z.array(z.looseObject({ type: z.string() })) });

/** Some of a chat's messages, oldest first, and where those before them begin. */
export const Messages = z.object({ messages: z.array(Message), next: text });

export const Models = z.object({
  models: z.array(Model),
  /** Where the host speaks A2A, for whoever has a token. */
  host: text,
});

/** Who is there. */
export const Session = z.looseObject({
  who: z.enum(['nobody', 'guest', 'person']),
  /** What they are known by in a browser; empty for nobody. */
  owner: z.string(),
  name: text,
  username: text,
  role: text,
  /** When the session ends. */
  until: text,
  signInRequired: z.boolean(),
  /** Whether who has signed in may share finished tasks. */
  sharing: z.boolean().nullish(),
  /** Chats that a guest had in this browser, which may be theirs. */
  takeOver: z.looseObject({ chats: z.number(), lastAt: text, suggested: z.boolean() }).nullish().catch(null),
});

export const Chats = z.object({ chats: z.array(Chat), next: text });
export const Tasks = z.object({ tasks: z.array(Task), next: text });
export const Connections = z.object({ connections: z.array(Connection), unasked: z.array(z.string()).nullish() });

export type Session = z.infer<typeof Session>;
export type Card = z.infer<typeof Card>;
export type Task = z.infer<typeof Task>;
export type Job = z.infer<typeof Job>;
export type Artifact = z.infer<typeof Artifact>;
export type Part = z.infer<typeof Part>;
export type Plan = z.infer<typeof Plan>;
export type Form = z.infer<typeof Form>;
export type FormField = z.infer<typeof FormField>;
export type Clause = z.infer<typeof Clause>;
export type Step = z.infer<typeof Step>;
export type Chat = z.infer<typeof Chat>;
export type ConsentInfo = z.infer<typeof ConsentInfo>;
export type Model = z.infer<typeof Model>;
export type Connection = z.infer<typeof Connection>;

const finals = new Set(['completed', 'canceled', 'failed', 'rejected']);

/** Nothing changes a task any more that is over. */
export const isOver = (state: string): boolean => finals.has(state);

/** Somebody works on it: news may come at any moment. */
export const isActive = (state: string): boolean => state === 'submitted' || state === 'working';

/** The user is asked for something. */
export const waitsForUser = (state: string): boolean => state === 'input-required' || state === 'auth-required';

/** The question that a card asks, where it asks one: its message then does not say it too. A plan says itself what it asks. */
export const questionOf = ({ state, statusMessage, plan }: Pick<Card, 'state' | 'statusMessage' | 'plan'>): string | null =>
  (state === 'input-required' && !plan && statusMessage?.trim()) || null;

/** A text without the question that it ends with. */
export const withoutQuestion = (text: string, question: string | null): string =>
  question !== null && text.trimEnd().endsWith(question) ? text.trimEnd().slice(0, -question.length).trimEnd() : text;

/** A finished task that brought nothing can be asked for once more; so can one of which nothing was heard. */
export const mayRetry = (state: string): boolean => ['failed', 'rejected', 'canceled', 'unknown'].includes(state);

/** The card of a whole task. */
export function cardOf(task: Task): Card {
  const { id, status, prompt, ...rest } = task;
  return {
    ...rest,
    artifactType: 'task',
    taskId: id,
    state: status,
    title: prompt,
    jobs: rest.jobs.length > 1 || rest.plan ? rest.jobs : null,
  };
}
