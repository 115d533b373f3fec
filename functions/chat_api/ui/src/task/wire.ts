// What a program would send to the host for the same task, as curl. The token is whoever runs it's own.

export type Generation = '1.0' | '0.3';

export const generations: readonly Generation[] = ['1.0', '0.3'];

/** In single quotes, in which a shell reads nothing. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function curl(host: string, generation: Generation, body: unknown): string {
  const headers = [
    ...(generation === '1.0' ? [quoted('A2A-Version: 1.0')] : []),
    quoted('Content-Type: application/json'),
    '"Authorization: Bearer $TOKEN"',
  ];
  return [`curl -sS ${quoted(host)}`, ...headers.map((header) => `  -H ${header}`), `  -d ${quoted(JSON.stringify(body))}`].join(' \\\n');
}

/** Reads the task. */
export function reads(host: string, generation: Generation, id: string): string {
  const method = generation === '1.0' ? 'GetTask' : 'tasks/get';
  return curl(host, generation, { jsonrpc: '2.0', id: 1, method, params: { id } });
}

/** Asks for the same once more. */
export function asks(host: string, generation: Generation, prompt: string, messageId: string): string {
  const body = generation === '1.0'
    ? { method: 'SendMessage', params: { message: { messageId, role: 'ROLE_USER', parts: [{ text: prompt }] }, configuration: { returnImmediately: true } } }
    : { method: 'message/send', params: { message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text: prompt }] }, configuration: { blocking: false } } };
  return curl(host, generation, { jsonrpc: '2.0', id: 1, ...body });
}
