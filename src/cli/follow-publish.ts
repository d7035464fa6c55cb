import type { IncomingMessage } from 'node:http';
import { limits } from '../limits.ts';
import { anything, either, number, object, parseAs, string, word } from '../values/json-shape.ts';
import { type Api, type ApiRequest, connectionLost, fitting } from './api.ts';
import { CliError, type Io } from './io.ts';
import { WorkProgress } from './work-progress.ts';

/** What a publish has come to: a status, and the text of the answer. */
export interface PublishAnswer {
  readonly status: number;
  readonly text: string;
}

const progressLine = object({
  event: word('progress'),
  table: string,
  done: number,
  total: number,
});
const errorLine = object({ event: word('error'), status: number, message: string });
const doneLine = object({ event: word('done'), Success: anything });
const planLine = object({ event: word('plan') });
const eventLine = either(either(progressLine, errorLine), either(doneLine, planLine));

const eventsType = 'application/x-ndjson';

/**
 * Sends a publish and shows how far it is. While it runs, the end of this process ends it on the
 * server, too, unless the new program is in force by then.
 */
export async function followPublish(
  api: Api,
  path: string,
  { method, ...request }: ApiRequest & { readonly method: string },
  io: Io,
): Promise<PublishAnswer> {
  const headers = { ...request.headers, accept: `${eventsType}, application/json` };
  const answer = await api.begun(method, path, { ...request, headers });
  const status = answer.statusCode ?? 0;
  const type = answer.headers['content-type'] ?? '';
  if (status !== 200 || !type.startsWith(eventsType))
    return { status, text: await api.read(answer) };
  const progress = new WorkProgress(io, false);
  try {
    for await (const line of linesOf(answer, api)) {
      const event = fitting(() => parseAs(line, eventLine));
      if (event.event === 'progress') {
        const { table, done, total } = event;
        progress.show({ phase: `Migrating ${table}`, done, total, unit: 'rows' });
      }
      if (event.event === 'error') return { status: event.status, text: event.message };
      if (event.event === 'done') {
        return { status: 200, text: JSON.stringify({ Success: event.Success }) };
      }
    }
  } finally {
    progress.end();
  }
  throw connectionLost(api.server, new Error('the response ended before the publish did'));
}

async function* linesOf(answer: IncomingMessage, api: Api): AsyncGenerator<string> {
  answer.setEncoding('utf8');
  let rest = '';
  try {
    for await (const piece of answer) {
      rest += piece;
      if (rest.length > limits.answerBytesMax) throw new CliError('the answer has too long a line');
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw connectionLost(api.server, cause);
  }
}
